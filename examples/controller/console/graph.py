"""A pipeline's graph as a drawing: boxes in layers from left to right, by its manifest.

The parser's nodes stand before the stages. Headers of a stack (`mpls`, `mpls[1]`) are one box, and
so are those of a chain, which may follow each other in any order.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from helioc.lang.contract.manifest.manifest import Manifest
from helioc.lang.contract.manifest.parse_graph import ParseGraph

#: Rounds in which boxes are moved to the middle of their neighbours.
_ROUNDS = 8


def graph_of(manifest: Manifest) -> dict[str, Any]:
    """`boxes`: id, kind ("header", "stage", "verdict"), title, members, place (layer, row), and the
    counters that are of it; `lines`: pairs of ids, and the counters, if there are any, whose sum
    goes that way (a leading "-": to be taken off it)."""
    boxes, lines = list[dict[str, Any]](), list[dict[str, Any]]()
    if manifest.anatomy is not None:
        _parser(manifest.anatomy, manifest, boxes, lines)
    depth = 1 + max((box["layer"] for box in boxes), default=-1)
    verdicts = [c.reason for c in manifest.counters if c.group == "verdict"]
    all_ = [f"verdict: {reason}" for reason in verdicts]
    malformed = [f"malformed: {c.reason}" for c in manifest.counters if c.group == "malformed"]
    stages = _stages(manifest)
    for number, (name, looks_up, counts) in enumerate(stages):
        boxes.append({
            "id": f"stage {name}", "kind": "stage", "title": name, "members": [],
            "layer": depth + number, "row": 0.0, "finds": list(looks_up),
            "counters": [f"miss: {each}" for each in looks_up] + [f"count: {c}" for c in counts],
        })  # fmt: skip
        before = f"stage {stages[number - 1][0]}" if number else "parser"
        sums = [] if number else [*all_, *(f"-{each}" for each in malformed)]
        lines.append({"source": before, "target": f"stage {name}", "counters": sums})
    for row, reason in enumerate(verdicts):
        box = {"id": f"verdict {reason}", "kind": "verdict", "title": reason, "members": [],
               "layer": depth + len(stages), "row": row - (len(verdicts) - 1) / 2,
               "finds": [], "counters": [f"verdict: {reason}"]}  # fmt: skip
        boxes.append(box)
        lines.append({"source": "stages", "target": box["id"], "counters": box["counters"]})
    return {"boxes": boxes, "lines": lines, "entries": all_}


def _stages(manifest: Manifest) -> list[tuple[str, tuple[str, ...], tuple[str, ...]]]:
    if manifest.anatomy is not None and manifest.anatomy.stages:
        return [(s.name, s.looks_up, s.counts) for s in manifest.anatomy.stages]
    return [(name, (), ()) for name in dict.fromkeys(p.stage for p in manifest.programs)]


def _parser(
    anatomy: ParseGraph, manifest: Manifest, boxes: list[dict[str, Any]],
    lines: list[dict[str, Any]],
) -> None:  # fmt: skip
    box_of = _boxes(anatomy)
    edges = {(box_of[s.source], box_of[s.target]) for s in anatomy.steps}
    edges = {(a, b) for a, b in edges if a != b}
    names = list(dict.fromkeys(box_of.values()))
    layers = _layers(names, edges)
    rows = _rows(layers, edges)
    for name in names:
        members = [node for node, box in box_of.items() if box == name]
        counters = [
            f"malformed: {c.reason}" for c in manifest.counters
            if c.group == "malformed" and c.reason.partition(": ")[0] in members
        ]  # fmt: skip
        title = f"{members[0]} …" if "…" in name else name
        boxes.append({"id": name, "kind": "header", "title": title, "layer": layers[name],
                      "members": members if len(members) > 1 else [], "row": rows[name],
                      "finds": [], "counters": counters})  # fmt: skip
    lines += [{"source": a, "target": b, "counters": []} for a, b in sorted(edges)]


def _boxes(anatomy: ParseGraph) -> dict[str, str]:
    """The box of each node. Headers of a chain are, in a manifest, three or more of which each
    leads to all behind it, and that come from, and lead to, the same nodes."""
    nodes = [layer.name for layer in anatomy.layers]
    edges = {(step.source, step.target) for step in anatomy.steps}
    box, start = {node: node.partition("[")[0] for node in nodes}, 0
    while start < len(nodes):
        end = len(nodes)
        while end > start + 2 and not _is_chain(nodes[start:end], edges):
            end -= 1
        if nodes[start] in anatomy.entries:
            end = start
        if end > start + 2:
            box |= dict.fromkeys(nodes[start:end], f"{nodes[start]} … {nodes[end - 1]}")
            start = end
        start += 1
    return box


def _is_chain(nodes: list[str], edges: set[tuple[str, str]]) -> bool:
    behind = all((a, b) in edges for n, a in enumerate(nodes) for b in nodes[n + 1 :])
    return behind and len({_outside(node, nodes, edges) for node in nodes}) == 1


def _outside(
    node: str, chain: list[str], edges: set[tuple[str, str]]
) -> tuple[frozenset[str], frozenset[str]]:
    """Where it comes from and leads to, but for a chain."""
    before = frozenset(a for a, b in edges if b == node and a not in chain)
    return before, frozenset(b for a, b in edges if a == node and b not in chain)


def _layers(names: list[str], edges: Iterable[tuple[str, str]]) -> dict[str, int]:
    """The longest way to each box. Boxes are in an order in which edges lead onward; one that leads
    back is left out."""
    place = {name: number for number, name in enumerate(names)}
    layers = dict.fromkeys(names, 0)
    for source, target in sorted(edges, key=lambda edge: place[edge[0]]):
        if place[source] < place[target]:
            layers[target] = max(layers[target], layers[source] + 1)
    return layers


def _rows(layers: Mapping[str, int], edges: set[tuple[str, str]]) -> dict[str, float]:
    """Within a layer boxes stand one apart, each as near to the middle of its neighbours as it
    can."""
    columns: dict[int, list[str]] = {}
    for name, layer in layers.items():
        columns.setdefault(layer, []).append(name)
    rows = dict[str, float]()
    for column in columns.values():
        rows |= {name: n - (len(column) - 1) / 2 for n, name in enumerate(column)}
    for turn in range(_ROUNDS):
        for layer in sorted(columns, reverse=turn % 2 == 1):
            column = columns[layer]
            middle = {name: _middle(name, edges, rows) for name in column}
            column.sort(key=lambda name: middle[name])
            rows |= {name: n - (len(column) - 1) / 2 for n, name in enumerate(column)}
    return rows


def _middle(name: str, edges: set[tuple[str, str]], rows: Mapping[str, float]) -> float:
    near = [rows[a] for a, b in edges if b == name] + [rows[b] for a, b in edges if a == name]
    return sum(near) / len(near) if near else rows[name]
