"""The parse graph of a manifest: nodes, edges, and the fields that matches read."""

from __future__ import annotations

from ...lang.contract.manifest import parse_graph as m
from ..model import (
    Announced,
    Block,
    Chain,
    Choose,
    Counted,
    Expr,
    Find,
    First,
    Given,
    Graph,
    Layer4,
    Match,
    Node,
    Packet,
    Pipeline,
    Recall,
)
from ..model.walk import walk

_Fields = tuple[tuple[str, str], ...]


def anatomy_of(pipeline: Pipeline) -> m.ParseGraph:
    """Of a checked pipeline."""
    graph = pipeline.graph
    return m.ParseGraph(
        tuple(map(_layer, graph.nodes)),
        _steps(graph),
        tuple(_readings(pipeline)),
        tuple(dict.fromkeys(graph.entry(role).name for role in pipeline.roles)),
        tuple(_stage(stage.name, stage.body) for stage in pipeline.stages),
    )


def _layer(node: Node) -> m.Layer:
    header = node.header
    fields = {f.name: f.width for f in header.fields if f.width and not f.name.startswith("_")}
    return m.Layer(node.name, header.name, header.protocol, fields)


def _steps(graph: Graph) -> tuple[m.Step, ...]:
    """Edges that differ in nothing but the port roles they are read on are one."""
    steps = (
        m.Step(
            edge.source,
            edge.target,
            tuple((t.field, t.ranges) for t in edge.tests if t.mask is None and not t.ahead),
        )
        for edge in graph.edges
    )
    return tuple(dict.fromkeys(steps))


def _stage(name: str, body: Block) -> m.Stage:
    """What it looks up and counts, each once, in the order in which it is written."""
    looks_up, counts = list[str](), list[str]()
    for part in walk(body):
        match part:
            case Find(rule) | Choose(_, rule):
                looks_up.append(rule)
            case Recall(state):
                looks_up.append(state)
            case Counted(reason):
                counts.append(reason)
    return m.Stage(name, tuple(dict.fromkeys(looks_up)), tuple(dict.fromkeys(counts)))


def _readings(pipeline: Pipeline) -> list[m.Reading]:
    """An element whose value no field is, or another one at another place, has none."""
    said: dict[tuple[str, str], set[_Fields | None]] = {}
    chains = {chain.name: chain for chain in pipeline.graph.chains}
    for part in walk(tuple(stage.body for stage in pipeline.stages)):
        if isinstance(part, Find | Choose):
            rule = pipeline.rule(part.rule if isinstance(part, Find) else part.group)
            for match in rule.match:
                found = _read(match, dict(part.given), chains)
                said.setdefault((rule.name, match.element.name), set()).add(found)
    for rule in pipeline.rules:  # reached otherwise, as by a reference
        for match in rule.match:
            said.setdefault((rule.name, match.element.name), {_read(match, {}, chains)})
    return [
        m.Reading(*place, fields)
        for place, (fields, *others) in ((p, tuple(f)) for p, f in said.items())
        if fields and not others
    ]


def _read(match: Match, given: dict[str, Expr], chains: dict[str, Chain]) -> _Fields | None:
    if match.element.kind == "name":
        return None
    match given.get(match.element.name, match.operand):
        case Packet(node, field):
            return ((node, field),)
        case First(options):
            each = [_read(match, {match.element.name: o}, chains) for o in options]
            return tuple(f for fields in each if fields for f in fields) if all(each) else None
        case Announced(name, by):
            chain = chains[name]
            return tuple((node, by) for node in (*reversed(chain.members), *chain.fronts))
        case Layer4(which):
            return (("l4", which),)
        case Given() | _:
            return None
