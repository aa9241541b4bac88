"""What a role of `link ip` cannot ask for: its packets begin with IPv4 or IPv6, and the Ethernet
header that the parse graph begins with is not there, but for its type. See docs/tc.md."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..lang.text.diagnostics import Diagnostic, error
from ..lang.text.frozen import Frozen
from ..lang.text.source import Span
from . import model as m
from .check.packet_edits import Place, Walk, decided, walk_edits
from .model.parse_graph import leading, reachable

ETHERTYPES = (0x0800, 0x86DD)


def refusals(pipeline: m.Pipeline) -> list[Diagnostic]:
    """All of it, in the order of the file."""
    edits = walk_edits(pipeline)
    found = dict[tuple[str, Span], Diagnostic]()
    for role, span, what, help_ in _needed(pipeline, edits):
        found.setdefault((what, span), _needs_a_link(role, span, what, help_))
    made = sorted(found.values(), key=lambda each: each.labels[0].span.start)
    return [*_edges(pipeline), *_forwards_at_xdp(pipeline, edits), *made]


Need = tuple[str, Span, str, str]
"""Of a role, where, what is asked for, and what helps."""


def _needed(pipeline: m.Pipeline, edits: Walk) -> Iterator[Need]:
    for place in edits.places:
        if place.role in pipeline.bare:
            yield from _by_statement(pipeline, place)


_WAY_OUT = "a way out by the frame's own Ethernet header"
_LEAVE = "`forward` or `bridge` a frame that came in a tunnel, or drop it"


def _by_statement(pipeline: m.Pipeline, place: Place) -> Iterator[Need]:
    role, s, own = place.role, place.statement, place.edits.own
    links = leading(pipeline.graph, role)
    keep = f"`if port is {role}` does something else there"
    if isinstance(s, m.Push) and pipeline.graph.node(s.elements[0].node).header.link:
        yield role, s.span, f"a `{s.elements[0].node}` in front", keep
        return
    for field in _fields(pipeline, place):
        yield role, s.span, f"`{field}`", keep
    match s:
        case m.Bridge() if not own:
            yield role, s.span, "`bridge`", "`forward`: it goes by the packet's address"
        case m.Verdict() if own and s.verdict != "drop":
            yield role, s.span, _WAY_OUT, _LEAVE
        case m.Push() if s.before in links and not own:
            yield role, s.span, "a frame to carry", "push in front of its IP header"


def _fields(pipeline: m.Pipeline, place: Place) -> Iterator[str]:
    """Fields of the Ethernet header that packets have elsewhere, as the statement asks for them."""
    s, entry = place.statement, pipeline.graph.entry(place.role).name
    parts = list[Any]()
    if isinstance(s, m.Find | m.Choose):
        kinds = [s.rule] if isinstance(s, m.Find) else [s.rule, s.group]
        parts += [_operands(pipeline.rule(kind), s) for kind in kinds]
    if not (isinstance(s, m.If) and _is_decided(pipeline, place, s)):
        parts.append(tuple(getattr(s, name) for name in s.__match_args__ if name != "span"))
    for part in _own(tuple(parts)):
        if isinstance(part, m.Packet | m.Item) and part.node == entry:
            yield f"{entry}.{part.field}"


def _operands(rule: m.RuleKind, s: m.Find | m.Choose) -> Any:
    """What a look-up reads of the packet."""
    given = {name for name, _ in s.given}
    matched = tuple(each for each in rule.match if each.element.name not in given)
    return matched if rule.spread is None else (*matched, rule.spread)


def _is_decided(pipeline: m.Pipeline, place: Place, s: m.If) -> bool:
    met = reachable(pipeline.graph, place.role)
    gone = place.edits.gone(pipeline.graph, place.role)
    return decided(s.condition, place.role, lambda n: n in met and n not in gone) is not None


def _own(part: Any) -> Iterator[Any]:
    """All nodes of the model below a statement, but for those of other statements."""
    if isinstance(part, tuple):
        for each in part:
            yield from _own(each)
    elif isinstance(part, Frozen) and not isinstance(part, m.Block):
        yield part
        for name in part.__match_args__:
            if name != "span":
                yield from _own(getattr(part, name))


def _edges(pipeline: m.Pipeline) -> Iterator[Diagnostic]:
    """Edges for nobody but such roles that nothing takes there; and roles that have none."""
    graph, bare = pipeline.graph, frozenset(pipeline.bare)
    for role in pipeline.bare:
        entry = graph.entry(role)
        leaving = graph.leaving(entry.name, role)
        lost = [edge for edge in leaving if not _is_ip(edge)]
        if len(lost) == len(leaving):
            yield _nothing_parsed(pipeline.span, role, entry.name)
        yield from (_never(e.span, role) for e in lost if e.roles <= bare)


def _is_ip(edge: m.Edge) -> bool:
    return any(all(_takes(test, kind) for test in edge.tests) for kind in ETHERTYPES)


def _takes(test: m.Test, kind: int) -> bool:
    if test.ahead or test.field != "type":
        return bool(test.ahead)
    value = kind if test.mask is None else kind & test.mask
    return any(low <= value <= high for low, high in test.ranges)


def _forwards_at_xdp(pipeline: m.Pipeline, edits: Walk) -> Iterator[Diagnostic]:
    at = dict(zip(pipeline.roles, pipeline.at, strict=True))
    sends = [place for place in edits.places if isinstance(place.statement, m.Forward | m.Bridge)]
    first = {place.role: place for place in reversed(sends) if at[place.role] == "xdp"}
    for role, place in first.items():
        yield _sends_from_xdp(role, pipeline.bare[0], place.statement.span)


# ---- errors ---------------------------------------------------------------------------------


def _needs_a_link(role: str, span: Span, what: str, help_: str) -> Diagnostic:
    return error(
        "H0550", f"`{role}` has no Ethernet headers, and {what} is asked for there",
        (span, "asked for here, also of packets without one"), help=help_,
    )  # fmt: skip


def _never(span: Span, role: str) -> Diagnostic:
    return error(
        "H0553", f"no packet on `{role}` comes this way",
        (span, "its packets begin with IPv4 (0x0800) or IPv6 (0x86dd)"),
        help=f"take `{role}` out of the edge's roles, or the edge away",
    )  # fmt: skip


def _nothing_parsed(span: Span, role: str, entry: str) -> Diagnostic:
    return error(
        "H0553", f"nothing is parsed on `{role}`, whose packets begin with IP",
        (span, f"no edge leads from `{entry}` to IPv4 or IPv6"),
        help=f"`{entry} -> ipv4 when type = 0x0800`, `{entry} -> ipv6 when type = 0x86dd`",
    )  # fmt: skip


def _sends_from_xdp(role: str, bare: str, span: Span) -> Diagnostic:
    return error(
        "H0554", f"`{role}` is at xdp, and cannot send to ports of `{bare}`",
        (span, "sends frames out of XDP, of which nothing takes the Ethernet header off"),
        help=f"`{role} at tc.ingress`, where a packet goes out by either",
    )  # fmt: skip
