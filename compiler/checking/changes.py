"""Statements that change packets or send them on: push, pop, forward, verdicts."""

from __future__ import annotations

from typing import NamedTuple

from ...lang import tree
from ...lang.source import Span
from .. import model
from ..graph import reachable, ways, writable
from . import faults_files, faults_headers
from . import faults_stages as faults
from .flow import Debt, Scope, State, World, roles_of
from .packets import PacketNames
from .stage_names import Program, StageNames
from .values import KINDS

#: Hooks that a `forward` may run, with the packet's pops applied.
AT_FORWARD: tuple[model.Event, ...] = ("too_big", "ttl_expired", "no_headroom", "unresolved")


class Changed(NamedTuple):
    """A statement (None if it is wrong) and the packets that go on behind it."""

    statement: model.Statement | None
    state: State


# ---- pop --------------------------------------------------------------------------------------


def pop(program: Program, statement: tree.Pop, state: State, scope: Scope) -> Changed:
    node = PacketNames(program.checked, program.found).node(statement.node)
    if node is None:
        program.unsure = True
        return Changed(None, state)
    if pushed_before(program, statement.span, "`pop` behind a `push`", state):
        return Changed(None, state)
    if not StageNames(program, state, scope).present(node.name, statement.node.span):
        program.unsure = True
        return Changed(None, state)
    if not _can_be_popped(program, node, state, statement):
        return Changed(None, state)
    worlds = frozenset(_popped(program, node, w, statement.span) for w in state)
    return Changed(model.Pop(node.name, statement.span), worlds)


def _can_be_popped(program: Program, node: model.Node, state: State, statement: tree.Pop) -> bool:
    """Generated code knows by the port role alone what a pop removes."""
    if node.header.link:
        what, help = "popping to a link header", "pop to a node behind the link headers"
    elif any(_ways_meet(program, node, role) for role in roles_of(state)):
        what = "popping where several ways lead to the node on one port role"
        help = "give the node another name on each way: `-> … as other`"
    else:
        return True
    program.report(faults_files.unsupported(statement.span, what, help))
    return False


def _ways_meet(program: Program, node: model.Node, role: str) -> bool:
    graph = program.checked.graph
    reached, at = reachable(graph, role), node.name
    while True:
        sources = {e.source for e in graph.entering(at, role) if e.source in reached}
        inner = [s for s in sources if not graph.node(s).header.link]
        if not inner or len(sources) > 1:
            return bool(inner)
        at = inner[0]


def _popped(program: Program, node: model.Node, world: World, span: Span) -> World:
    """The packet without what lies between its leading link nodes and `node`."""
    order = program.order(world.present)
    at = order.index(node)
    keep = 0
    while not node.header.link and order[keep].header.link:
        keep += 1
    gone = sum(program.bit(n.name) for n in order[keep:at])
    done = (*world.changes, f"pop to {node.name}") if gone else world.changes
    left = world._replace(present=world.present & ~gone, changes=done)
    if not gone or not keep:
        return left
    return announced(program, left, order[keep - 1].name, node.name, span, popped=True)


def announced(
    program: Program, world: World, source: str, target: str, span: Span, popped: bool
) -> World:
    """A link node in front of something new: it can announce it, or owes that."""
    edges = writable(program.checked.graph, source, target)
    if len(edges) > 1:
        program.report(
            faults.two_edges(span, source, target, [(e.span, "this one?") for e in edges])
        )
    if edges:
        return world
    return world._replace(owed=world.owed | {Debt(span, source, target, popped)})


def pushed_before(program: Program, span: Span, what: str, state: State) -> bool:
    if any(w.pushed for w in state):
        program.report(
            faults_files.unsupported(
                span, what, "pop first, then push everything by one path: `push a / b`"
            )
        )
        return True
    return False


# ---- ways out ---------------------------------------------------------------------------------


def forward(program: Program, statement: tree.Forward, state: State, scope: Scope) -> Changed:
    port = _port(program, statement.port, state, scope)
    value = StageNames(program, state, scope).name(statement.via)
    via = value.expr if value is not None else None
    if value is not None and (
        not isinstance(via, model.Packet | model.Attribute | model.Recalled) or value.kind != "ip4"
    ):
        program.report(
            faults_headers.wrong_kind(
                statement.via.span, KINDS[value.kind], "an IPv4 address", value.declared
            )
        )
        via = None
    strange = [w for w in state if not _has_ipv4(program, w)]
    if strange and not program.unsure:
        program.report(faults.not_ipv4(statement.span, roles_of(strange)))
    _announced_on_link(program, statement.span, state)
    passing = [e for e in AT_FORWARD if _hook(program, e) == "pass"]
    if passing:
        hooks = [
            (program.hook_spans[e], "passes it, with its own link header")
            for e in passing
            if e in program.hook_spans
        ]
        _settle(program, state, statement.span, hooks, pops_only=True)
    if port is None or not isinstance(via, model.Packet | model.Attribute | model.Recalled):
        return Changed(None, frozenset())
    return Changed(model.Forward(port, via, statement.span), frozenset())


def _announced_on_link(program: Program, span: Span, state: State) -> None:
    """The new link header must announce what stands first behind it, the same on each port role."""
    graph = program.checked.graph
    firsts: dict[str, set[str]] = {}
    for world in state:
        order = [n for n in program.order(world.present) if not n.header.link]
        if order and not writable(graph, graph.entry.name, order[0].name):
            what = "would stand behind the link header of the egress port"
            program.report(faults.no_edge(span, graph.entry.name, order[0].name, (), what))
            return
        if not world.changes:
            firsts.setdefault(world.role, set())
    for role, names in firsts.items():
        for way in ways(graph, role):
            came = [n for n in program.order(way) if not n.header.link]
            names.update(n.name for n in came[:1] if n.header.protocol == "ipv4")
        if len(names) > 1:
            what = (
                f"forwarding where {faults_files.listed(sorted(names), 'or')} comes first on {role}"
            )
            program.report(faults_files.unsupported(span, what, "lead both ways to one node"))
            return


def _has_ipv4(program: Program, world: World) -> bool:
    came = program.order(world.present & ~world.pushed)
    first = next((n for n in came if not n.header.link), None)
    return first is not None and first.header.protocol == "ipv4"


def _hook(program: Program, event: model.Event) -> str:
    said = program.hooks.get(event)
    return said.verdict if said is not None else ("pass" if event == "unresolved" else "drop")


def _port(program: Program, path: tree.Path, state: State, scope: Scope) -> model.PortOf | None:
    first = path.parts[0].text
    known = scope.names.get(first)
    if known is not None and known.kind == "port" and len(path.parts) == 1:
        return model.PortOf(known.name)
    if first in program.states and len(path.parts) > 1:
        return _recalled_port(program, path, state, scope)
    if (known is None and first not in program.rules.known) or len(path.parts) == 1:
        what = "a rule" if first in program.rules.known or known else "no rule and no port"
        program.report(faults.not_a_port(path.span, what))
        return None
    value = StageNames(program, state, scope, "port").attribute(path)
    if value is None:
        return None
    assert isinstance(value.expr, model.Attribute)
    element = program.elements.known[value.expr.element]
    if "port" not in element.references:
        what = (
            faults_files.listed(element.references) if element.references else KINDS[element.kind]
        )
        program.report(
            faults.not_a_port(path.span, f"a reference to {what}" if element.references else what)
        )
        return None
    return model.PortOf(value.expr)


def _recalled_port(
    program: Program, path: tree.Path, state: State, scope: Scope
) -> model.PortOf | None:
    value = StageNames(program, state, scope).recalled(path)
    if value is None:
        return None
    assert isinstance(value.expr, model.Recalled)
    if not value.expr.port:
        program.report(faults.not_a_port(path.span, KINDS[value.kind]))
        return None
    return model.PortOf(value.expr)


def verdict(program: Program, statement: tree.Verdict, state: State) -> Changed:
    if statement.verdict == "reply icmp":
        program.report(
            faults.verdict_misplaced(
                statement.span, "in a stage", ("pass", "drop", "default", "send back")
            )
        )
        return Changed(None, frozenset())
    if statement.verdict != "drop":
        _settle(program, state, statement.span, [], pops_only=False)
    return Changed(model.Verdict(statement.verdict, statement.span), frozenset())


def _settle(
    program: Program, state: State, span: Span, hooks: list[tuple[Span, str]], pops_only: bool
) -> None:
    """The packet may leave with the link header it came with: that must announce what follows."""
    debts = sorted(
        {d for w in state for d in w.owed if d.pop or not pops_only},
        key=lambda d: (d.change.start, d.source),
    )
    for debt in debts[:1]:
        program.report(faults.not_announced(span, debt.source, debt.target, debt.change, hooks))
