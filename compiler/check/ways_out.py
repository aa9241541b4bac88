"""Statements that send packets on: forward, bridge, queue, verdicts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

from ...lang import tree
from ...lang.text.diagnostics import Diagnostic, error, listed
from ...lang.text.source import Span
from .. import model
from ..model.checksums import NETWORK
from ..model.parse_graph import ethertypes
from . import errors
from .changes import Changed
from .errors import Labels
from .flow import Scope, State, World, roles_of
from .said import named_port
from .stage_names import StageNames
from .stage_program import Program
from .values import KINDS, fits

#: Hooks that a `forward` may run, with the packet's pops applied.
AT_FORWARD: tuple[model.Event, ...] = ("too_big", "ttl_expired", "no_headroom", "unresolved")
#: Packet classes, and how many of a packet's nodes the new link header replaces: see `_kept`.
Kept = list[tuple[World, int]]
#: What a next hop's address may be.
NEXT_HOPS = (model.Packet, model.Item, model.Attribute, model.Recalled, model.Listed, model.Local)


def forward(program: Program, statement: tree.Forward, state: State, scope: Scope) -> Changed:
    port = _port(program, statement.port, state, scope, "forward")
    value = StageNames(program, state, scope).name(statement.via)
    via = value.expr if value is not None else None
    known = isinstance(via, NEXT_HOPS)
    if value is not None and not (known and value.kind in ("ip4", "ip6")):
        kind = KINDS[value.kind] if value.kind not in ("ip4", "ip6") else "a computed address"
        help_ = (
            "name an element, a field, a slot or a `let` that is one: `forward P via R.next_hop`"
        )
        where = statement.via.span
        program.report(errors.wrong_kind(where, kind, "an IP address", help=help_))
        via = None
    _not_appended(program, statement.span, "`forward`", state)
    kept = _shapes(program, state)
    _no_tag_behind(program, statement.span, kept)
    named = _fronts(program, statement.span, state, "`forward`")
    _announced_on_link(program, statement.span, kept)
    # Hooks may pass it; and a frame to a link-layer group is passed whatever the hooks say.
    said = (h for e in AT_FORWARD if (h := program.hooks[e]) is not None)
    hooks = [(h.span, "passes it, with its own link header") for h in said if h.verdict == "pass"]
    _settle(program, state, statement.span, hooks, pops_only=True)
    if port is None or not isinstance(via, NEXT_HOPS):
        return Changed(None, frozenset())
    return Changed(model.Forward(port, via, statement.span, named), frozenset())


def _shapes(program: Program, state: State) -> Kept:
    """One class of all that have the same headers: there are far more that differ in what was
    found."""
    shapes = {(w.role, w.chain, w.pushed, w.appended): w for w in state}
    return [(w, _kept(program, w)) for w in shapes.values()]


def _fronts(program: Program, span: Span, state: State, what: str) -> tuple[tuple[str, str], ...]:
    """By role and in the graph's order, the headers by which `what` takes the packet."""
    fronts = [(w, _front(program, w, at)) for w, at in _shapes(program, state)]
    strange = [w for w, front in fronts if front is None and not w.appended]
    if strange and not program.unsure:
        program.report(_not_ip(span, what, roles_of(strange)))
    order = {node.name: i for i, node in enumerate(program.checked.graph.nodes)}
    found = {(w.role, front.name) for w, front in fronts if front is not None}
    return tuple(sorted(found, key=lambda f: (f[0], order[f[1]])))


def bridge(
    program: Program, statement: tree.Bridge | tree.Mirror, state: State, scope: Scope
) -> Changed:
    what = "mirror" if isinstance(statement, tree.Mirror) else "bridge"
    port = _port(program, statement.port, state, scope, what)
    _not_appended(program, statement.span, f"`{what}`", state)
    _settle(program, state, statement.span, [], pops_only=False)
    return Changed(model.Bridge(port, statement.span) if port else None, frozenset())


def queue(program: Program, statement: tree.Queue, state: State, scope: Scope) -> Changed:
    value = StageNames(program, state, scope).expressions.value(statement.number)
    if value is None or not fits(value, 8, "uint", "a queue's number", None, program.found):
        return Changed(None, state)
    return Changed(model.Queue(value.expr, statement.span), state)


def _not_appended(program: Program, span: Span, what: str, state: State) -> None:
    if any(w.appended for w in state):
        what += " of a packet that was appended to"
        help = "`send back` or `pass` it"
        program.report(errors.unsupported(span, what, help))


def _announced_on_link(program: Program, span: Span, kept: Kept) -> None:
    """The new link header must announce what stands first behind it."""
    graph = program.checked.graph
    for position in sorted({w.chain[at] for w, at in kept if at < len(w.chain)}):
        first = graph.nodes[position].name
        types = ethertypes(graph, first)
        if not types:
            what = "would stand behind the link header of the egress port"
            program.report(errors.no_edge(span, "ethernet", first, (), what))
            return
        if len(types) > 1:
            places = [(e.span, f"type {t:#06x}") for t, e in types.items() if e]
            program.report(errors.two_edges(span, "ethernet", first, places))
            return


def _kept(program: Program, world: World) -> int:
    """How many link nodes stand in front of the outermost header that was pushed, or of all else:
    those that the link header of the egress port replaces."""
    if world.appended:
        return program.leading(world)
    pushed = (at for at, i in enumerate(world.chain) if world.pushed >> i & 1)
    return next(pushed, program.leading(world))


def _no_tag_behind(program: Program, span: Span, kept: Kept) -> None:
    for world, at in kept:
        behind = [i for i in world.chain[at:] if not world.pushed >> i & 1]
        node = program.checked.graph.nodes[behind[0]] if world.pushed and at and behind else None
        if node is not None and node.header.link:
            pushed = program.order(world)[at].name
            program.report(_tag_behind(span, node.name, pushed))
            return


def _front(program: Program, world: World, kept: int) -> model.Node | None:
    """The node by which the packet is forwarded: its IP header, or the link header of the frame
    that a tunnel carries."""
    behind = world.chain[kept:]
    first = next((i for i in behind if not world.pushed >> i & 1), None)
    node = None if first is None else program.checked.graph.nodes[first]
    ip = node is not None and node.header.protocol in NETWORK
    return node if node is not None and (ip or node.header.link) else None


def _port(
    program: Program, path: tree.Path, state: State, scope: Scope, what: str
) -> model.PortOf | None:
    """`what`: the statement that needs it."""
    names = StageNames(program, state, scope)
    if path.parts[0].text in program.states and len(path.parts) > 1:
        return _recalled_port(path, names, what)
    found = named_port(path, names)
    if isinstance(found, str):
        help = _PORTS
        if path.text == "port":
            help = f"the packet came by that one: `send back` returns it; or {_PORTS}"
        elif path.text in program.roles:
            help = f"many ports may have that role: {_PORTS}"
        program.report(_not_a_port(path.span, found, what, help))
        return None
    return found


def _recalled_port(path: tree.Path, names: StageNames, what: str) -> model.PortOf | None:
    value = names.recalled(path)
    if value is None:
        return None
    assert isinstance(value.expr, model.Recalled)
    if not value.expr.port:
        held = f"a {value.expr.rule}" if value.expr.rule else KINDS[value.kind]
        names.program.report(_not_a_port(path.span, held, what, _PORTS))
        return None
    return model.PortOf(value.expr)


def verdict(program: Program, statement: tree.Verdict, state: State) -> Changed:
    if statement.verdict != "drop":
        _settle(program, state, statement.span, [], pops_only=False)
    return Changed(model.Verdict(statement.verdict, statement.span), frozenset())


def reply(program: Program, statement: tree.Reply, state: State) -> Changed:
    names = get_args(model.Unreachable)
    error = next((name for name in names if name == statement.error.text), None)
    if error is None:
        help_ = f"a stage answers by {listed(names, 'or')}"
        program.report(errors.unknown("ICMP error", statement.error, names, help_))
    _not_appended(program, statement.span, "`reply icmp`", state)
    named = _fronts(program, statement.span, state, "`reply icmp`")
    return Changed(model.Reply(error, statement.span, named) if error else None, frozenset())


def _settle(
    program: Program, state: State, span: Span, hooks: list[tuple[Span, str]], pops_only: bool
) -> None:
    """The packet may leave with the link header it came with: that must announce what follows."""
    bare = [w for w in state if w.chain and w.pushed >> w.chain[0] & 1]
    if bare and not pops_only:
        push = next(c for c in reversed(bare[0].changes) if c.what == "push")
        program.report(_no_link(span, str(push)))
    debts = sorted(
        {d for w in state for d in w.owed if d.pop or not pops_only},
        key=lambda d: (d.change.start, d.source),
    )
    for debt in debts[:1]:
        program.report(_not_announced(span, debt.source, debt.target, debt.change, hooks))


# ---- errors ---------------------------------------------------------------------------------


def _no_link(span: Span, push: str) -> Diagnostic:
    return error(
        "H0321",
        "the packet has no link header of its own here",
        (span, f"behind `{push}`, its frame is what the tunnel carries"),
        help="send it on with `forward`, which gives it the link header of the egress port",
    )


def _tag_behind(span: Span, node: str, push: str) -> Diagnostic:
    return error(
        "H0331",
        f"`{node}` would stay behind what was pushed",
        (span, f"the egress port's link header replaces what stands in front of `{push}` only"),
        help=f"`pop {node}` before the push, or send the packet on with `bridge`",
    )


def _not_announced(span: Span, source: str, target: str, change: Span, hooks: Labels) -> Diagnostic:
    says = f"the packet leaves behind the `{source}` that it came with"
    else_ = ", or `forward` the packet"
    if span.text.startswith("forward"):
        says = f"a packet that cannot be forwarded is passed behind its own `{source}`"
        else_ = ""
    stack = source.partition("[")[0]
    return error(
        "H0289",
        f"`{source}` has no way to announce `{target}`",
        (span, says),
        (change, f"puts `{target}` behind `{source}`"),
        *hooks,
        help=f"add an edge `{stack} -> {target} when …` to the parser{else_}",
    )


_PORTS = "name a port bound by an arm (`port p => …`) or an element that refers to `port`"


def _not_a_port(span: Span, found: str, what: str, help: str) -> Diagnostic:
    return error("H0292", f"`{what}` needs a port", (span, f"this is {found}"), help=help)


def _not_ip(span: Span, what: str, roles: Sequence[str]) -> Diagnostic:
    return error(
        "H0293",
        f"{what} needs an IP packet",
        (span, f"some packets on {', '.join(roles)} have no IP header here"),
        help="narrow with `if NODE {…}`, where NODE is an `ipv4` or `ipv6` of the parse graph",
    )
