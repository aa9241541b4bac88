"""Queries of a parse graph: reachable nodes, ways, depth, edges that a push writes; its drawing."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...lang.text.frozen import Frozen
from .. import model
from . import guards
from .checksums import LAYER4, NETWORK
from .graph import remembered

#: Ways through a parser of which the verifier can follow each. Of more, those that meet at a node
#: are one from there on: what differs is kept in memory, where it does not look.
MANY_WAYS = 32


@remembered
def reachable(graph: model.Graph, role: str) -> frozenset[str]:
    """Nodes that a packet of that role can have."""
    if not graph.nodes:
        return frozenset()
    reached = {graph.entry(role).name}
    for node in graph.nodes:
        if node.name in reached:
            reached.update(e.target for e in graph.leaving(node.name, role))
    return frozenset(reached)


def onward(graph: model.Graph, role: str, way: Sequence[str]) -> tuple[model.Edge, ...]:
    """Edges that leave the last of these nodes on that role; of a chain until it has one header
    more than its bound."""
    full = {
        name
        for chain in graph.chains
        if sum(node in chain.members for node in way) > chain.most
        for name in chain.members
    }
    return tuple(e for e in graph.onward(way[-1], role) if e.target not in full)


@remembered
def ways(graph: model.Graph, role: str) -> frozenset[int]:
    """Every set of nodes that a packet of that role may have, as bits by position in `nodes`."""
    index = {n.name: i for i, n in enumerate(graph.nodes)}
    arriving: list[set[int]] = [set() for _ in graph.nodes]
    first = index[graph.entry(role).name]
    arriving[first].add(1 << first)
    for i, node in enumerate(graph.nodes):
        for target in {index[e.target] for e in graph.leaving(node.name, role)}:
            arriving[target].update(way | 1 << target for way in arriving[i])
    return frozenset(way for at in arriving for way in at)


def count_ways(
    graph: model.Graph, role: str, each: Callable[[model.Header], int] = lambda _: 1
) -> int:
    """The number of ways, counted without making them; `each` header counts as that many."""
    counts = dict.fromkeys((n.name for n in graph.nodes), 0)
    counts[graph.entry(role).name] = 1
    for node in graph.nodes:
        counts[node.name] *= each(node.header)
        for target in {e.target for e in graph.leaving(node.name, role)}:
            counts[target] += counts[node.name]
    return sum(counts.values())


@remembered
def surely_present(graph: model.Graph, role: str, node: str) -> frozenset[str]:
    """Nodes present on every way of that role that has `node` (itself too)."""
    names = [n.name for n in graph.nodes]
    bit = 1 << names.index(node)
    common = -1
    for way in ways(graph, role):
        if way & bit:
            common &= way
    return frozenset(n for i, n in enumerate(names) if common != -1 and common >> i & 1)


def deepest(graph: model.Graph) -> tuple[int, list[str]]:
    """The greatest offset at which a header may end, in bytes, and the way there."""
    best: dict[str, tuple[int, list[str]]] = {}
    for node in graph.nodes:
        before = [best[e.source] for e in graph.entering(node.name) if e.source in best]
        depth, way = max(before, key=lambda b: b[0], default=(0, []))
        chain = graph.chain(node.name)
        if chain is None:
            depth += node.header.maximum
        elif not set(way) & set(chain.members):  # the first counts for all of them
            depth += chain.most * max(graph.node(m).header.maximum for m in chain.members)
        best[node.name] = depth, [*way, node.name]
    return max(best.values(), key=lambda b: b[0])


def below(graph: model.Graph, role: str, node: str) -> list[str]:
    """Nodes that may stand behind a node on that role with no IP header between, in order."""
    found: list[str] = []
    for other in graph.nodes:
        sources = {e.source for e in graph.entering(other.name, role)}
        if node in sources or any(
            s in found and graph.node(s).header.protocol not in NETWORK for s in sources
        ):
            found.append(other.name)
    return [n for n in found if graph.node(n).header.protocol not in NETWORK]


def between(graph: model.Graph, role: str, front: str, node: str) -> list[str]:
    """IP headers that may stand between two nodes on that role, in order."""
    networks = (n.name for n in graph.nodes if n.header.protocol in NETWORK)
    later = _behind(graph, role, front)
    return [n for n in networks if n in later and node in _behind(graph, role, n)]


def _behind(graph: model.Graph, role: str, node: str) -> set[str]:
    """Nodes that may stand anywhere behind a node on that role."""
    found = {node}
    for other in graph.nodes:
        if found & {e.source for e in graph.entering(other.name, role)}:
            found.add(other.name)
    return found - {node}


@remembered
def tunnels(graph: model.Graph, role: str) -> frozenset[str]:
    """Nodes behind a TCP or UDP header from which an IP header can be reached on that role: the
    ports in front of them are a tunnel's."""
    ports = [node.name for node in graph.nodes if node.header.protocol in LAYER4]
    after = {edge.target for name in ports for edge in graph.leaving(name, role)}
    networks = {node.name for node in graph.nodes if node.header.protocol in NETWORK}
    return frozenset(name for name in after if networks & {name, *_behind(graph, role, name)})


@remembered
def behind_ports(graph: model.Graph, role: str) -> frozenset[str]:
    """TCP and UDP headers behind another one that is not a tunnel's: of one in a fragment the ports
    in front must not stay."""
    ports = {node.name for node in graph.nodes if node.header.protocol in LAYER4}
    left, found = list(ports), set[str]()
    while left:
        targets = {edge.target for edge in graph.leaving(left.pop(), role)}
        new = targets - tunnels(graph, role) - found
        found |= new
        left += new
    return frozenset(found & ports)


def leading(graph: model.Graph, role: str, first: str | None = None) -> list[str]:
    """The link nodes that may be at the front of a packet of that role, in order; with `first`, of
    one whose first header is that."""
    found = [first or graph.entry(role).name]
    for node in graph.nodes:
        sources = {e.source for e in graph.entering(node.name, role)}
        if node.header.link and sources & set(found) and node.name not in found:
            found.append(node.name)
    return found


@remembered
def sometimes_leading(graph: model.Graph, role: str) -> frozenset[str]:
    """The link nodes that are at the front of some packets of that role and behind other headers in
    others, as a VLAN tag of the frame and of the frame that a tunnel carries."""
    links, inside = leading(graph, role), reachable(graph, role)
    inside -= set(links)
    for node in graph.nodes:
        if node.name in links and inside & {e.source for e in graph.entering(node.name, role)}:
            inside |= {node.name}
    return inside & set(links)


def ethertypes(graph: model.Graph, node: str) -> dict[int, model.Edge]:
    """The types by which an Ethernet header announces a node, each with an edge that says so."""
    found: dict[int, model.Edge] = {}
    for edge in graph.entering(node) + graph.entering(node.partition("[")[0]):
        if graph.node(edge.source).header.protocol == "ethernet" and edge.writes is not None:
            found.setdefault(dict(edge.writes).get("type", 0), edge)
    return found


def writable(graph: model.Graph, source: str, target: str) -> list[model.Edge]:
    """Edges by which `source` can announce `target`: one for each different way of writing it. What
    announces the first of a stack announces any of it."""
    leaving = [e for e in graph.leaving(source) if e.writes is not None]
    found = [e for e in leaving if e.target == target]
    found = found or [e for e in leaving if e.target == target.partition("[")[0]]
    return list({tuple(sorted(e.writes or ())): e for e in reversed(found)}.values())


def selector_fields(graph: model.Graph, node: str) -> tuple[str, ...]:
    """The fields by which a node says what follows it, on any role."""
    tests = (t for e in graph.leaving(node) for t in e.tests if not t.ahead)
    return tuple(dict.fromkeys(t.field for t in tests))


def missing_selector(graph: model.Graph, front: str, node: str) -> str:
    """The first field by which `front` says what follows it and which `node` lacks, or has in
    another way; empty if there is none."""
    own, other = graph.node(front).header, graph.node(node).header
    for name in selector_fields(graph, front):
        field = own.field(name)
        same = (f for f in other.fields if f.name == name)
        alike = any((f.width, f.kind, f.group) == (field.width, field.kind, None) for f in same)
        if not alike or field.group is not None:
            return name
    return ""


# ---- drawing --------------------------------------------------------------------------------

_COLOURS = ("#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#8c564b", "#17becf", "#e377c2")


def to_dot(pipeline: model.Pipeline) -> str:
    """The parse graph and the stages as one Graphviz drawing; a colour for each port role."""
    lines = [
        f'digraph "{pipeline.name}" {{',
        '  rankdir=LR; fontname="Helvetica";',
        '  node [shape=box, style=rounded, fontname="Helvetica", fontsize=11];',
        '  edge [fontname="Helvetica", fontsize=9];',
        *_parser_dot(pipeline),
        *_stages_dot(pipeline),
        "}",
    ]
    return "\n".join(lines) + "\n"


def _parser_dot(pipeline: model.Pipeline) -> list[str]:
    lines = ["  subgraph cluster_parser {", '    label="parser"; color=gray;']
    graph = pipeline.graph
    for node in graph.nodes:
        if graph.chain(node.name) is not None:
            continue
        header = "" if node.name == node.header.name else f"\\n{node.header.name}"
        style = ', style="rounded,filled", fillcolor="#eeeeee"' if node.header.link else ""
        lines.append(f'    "{node.name}" [label="{node.name}{header}"{style}];')
    for chain in graph.chains:
        lines += _chain_dot(graph, chain)
    for shown in edges_shown(graph):
        edge, tests = shown.edge, [f"{t.field} = {guards.shown(t)}" for t in shown.tests]
        if graph.node(edge.target).fits:
            tests.append("if it fits")
        roles = [r for r in pipeline.roles if r in edge.roles]
        colour = "black"
        if not roles:
            tests.append("on push")
        elif len(roles) < len(pipeline.roles):
            tests.append("on " + ", ".join(roles))
            colour = ":".join(_COLOURS[pipeline.roles.index(r) % len(_COLOURS)] for r in roles)
        label = "\\n".join(tests)
        left = f', ltail="cluster_chain_{shown.source}"' if shown.source != edge.source else ""
        led = f', lhead="cluster_chain_{shown.target}"' if shown.target != edge.target else ""
        look = f'[label="{label}", color="{colour}"{left}{led}]'
        lines.append(f'    "{edge.source}" -> "{edge.target}" {look};')
    return [*lines, "  }"]


class Shown(Frozen):
    """An edge as people see it: between nodes and chains, with these tests."""

    source: str
    target: str
    tests: tuple[model.Test, ...]
    edge: model.Edge


def edges_shown(graph: model.Graph) -> list[Shown]:
    """The edges, but for those within chains: to a chain, and from it, one for all its headers."""
    found: list[Shown] = []
    for edge in graph.edges:
        source, target = graph.chain(edge.source), graph.chain(edge.target)
        first = all(c is None or n == c.members[0] for c, n in (
            (source, edge.source), (target, edge.target)
        ))  # fmt: skip
        if first and (source is None or source is not target):
            names = source.name if source else edge.source, target.name if target else edge.target
            found.append(Shown(*names, edge.tests[:-1] if target else edge.tests, edge))
    return found


def announcing(graph: model.Graph, chain: model.Chain) -> dict[str, model.Test]:
    """By what each header of a chain is announced."""
    tests = {e.target: e.tests[-1] for e in graph.edges if e.source in chain.fronts}
    return {name: tests[name] for name in chain.members}


def _chain_dot(graph: model.Graph, chain: model.Chain) -> list[str]:
    """A box around the headers of a chain, with what announces each."""
    lines = [
        f'    subgraph "cluster_chain_{chain.name}" {{',
        f'      label="{chain.name}: up to {chain.most} in any order"; style=dashed;',
    ]
    announced = announcing(graph, chain)
    for name in chain.members:
        header = graph.node(name).header.name
        names = name if name == header else f"{name}\\n{header}"
        said = f"{chain.by} = {guards.shown(announced[name])}"
        lines.append(f'      "{name}" [label="{names}\\n{said}"];')
    return [*lines, "    }"]


def _stages_dot(pipeline: model.Pipeline) -> list[str]:
    lines = ["  subgraph cluster_stages {", '    label="stages"; color=gray;']
    for i, stage in enumerate(pipeline.stages):
        lines.append(f'    "stage {stage.name}" [label="{stage.name}", shape=component];')
        if i:
            before = pipeline.stages[i - 1].name
            lines.append(f'    "stage {before}" -> "stage {stage.name}";')
    entry = f'  "{pipeline.graph.nodes[0].name}" -> "stage {pipeline.stages[0].name}"'
    drawn = f"{entry} [ltail=cluster_parser, style=dashed];"
    return [*lines, "  }", "  compound=true;", drawn]
