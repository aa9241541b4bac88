"""Compiling for a Netronome NFP: what a pipeline may not ask for, found before anything is made."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ...lang.contract.manifest.manifest import LOCAL_ADDRESSES
from ...lang.text.diagnostics import Diagnostic, error
from ...lang.text.source import Span
from ..check.assign_limits import Change
from ..check.packet_edits import Place, walk_edits
from ..check.push_complete import groups_written
from ..headers.outline import popped_to
from ..lower.events import events_of
from ..lower.reads import asks_local, reads
from ..model import (
    NAME_KINDS,
    Append,
    Arrival,
    Assign,
    Bridge,
    Choose,
    ClampMss,
    ClockError,
    Derived,
    Emit,
    Forward,
    Header,
    IsLimited,
    Metered,
    Now,
    Pipeline,
    Pop,
    PopLink,
    Push,
    PushElement,
    Random,
    Recall,
    Register,
    Remember,
    Reply,
    RuleCount,
    RuleId,
    RuleKind,
    SetRegister,
)
from ..model.checksums import is_checksum
from ..model.parse_graph import writable
from ..model.show import expression
from ..model.walk import walk
from ..tables.layout import Table, tables
from ..tables.offloaded import maps_of, offloaded
from . import limits

#: Additional options of clang: no tables of its own, which would be global data; the card's
#: instructions, whatever is asked for elsewhere.
FLAGS = ("-fno-jump-tables", "-mcpu=v3")

_NOT_ON_A_CARD = Now | ClockError | Random | RuleId | RuleCount | Register


def refusals(pipeline: Pipeline) -> list[Diagnostic]:
    """All that the card cannot do, in the order of the file."""
    laid_out = offloaded(tables(pipeline, reads(pipeline)))
    found = [
        *(not_on_a_card(c.span, "walking a chain of headers") for c in pipeline.graph.chains),
        *(
            not_on_a_card(n.span, "walking the options of a header")
            for n in pipeline.graph.nodes
            if n.options
        ),
        *(not_on_a_card(span, "reading a domain name") for span in _names(pipeline)),
        *(
            not_on_a_card(r.span, "rules that raise events, as it has no ring buffer")
            for r in pipeline.rules
            if r.raises
        ),
        *([not_on_a_card(pipeline.span, "ports at tc")] if pipeline.at else []),
        *_statements(pipeline),
        *_edits(pipeline),
        *_kinds(pipeline),
        *_sizes(pipeline, laid_out),
        *_reach(pipeline),
    ]
    return sorted(found, key=lambda d: d.span.start if d.span else 0)


def _names(pipeline: Pipeline) -> list[Span]:
    """Where headers have them."""
    headers = dict.fromkeys(node.header for node in pipeline.graph.nodes)
    return [f.span for header in headers for f in header.fields if f.kind in NAME_KINDS]


def without_sizes(pipeline: Pipeline) -> Pipeline:
    """As a card counts: its maps' elements have no room for packets by size."""
    rules = (
        replace(rule, counts=tuple(what for what in rule.counts if what != "sizes"))
        for rule in pipeline.rules
    )
    return replace(pipeline, rules=tuple(rules))


# ---- stages ---------------------------------------------------------------------------------


def _statements(pipeline: Pipeline) -> Iterator[Diagnostic]:
    seen, where = set(), pipeline.span
    for part in walk(pipeline.stages):
        where = getattr(part, "span", where)
        found = _statement(part)
        if isinstance(part, _NOT_ON_A_CARD):  # reported at the statement that reads it
            found = not_on_a_card(where, f"`{expression(part)}`")
        if found is not None and found.span not in seen:
            seen.add(found.span)
            yield found


def _statement(part: object) -> Diagnostic | None:
    match part:
        case Forward(span=span):
            return _other_port(span, "forward")
        case Bridge(span=span):
            return _other_port(span, "bridge")
        case Reply(span=span):
            return not_on_a_card(span, "answering with an ICMP error")
        case ClampMss(span=span):
            return not_on_a_card(span, "it serves `forward`")
        case Append(span=span):
            return not_on_a_card(span, "making packets longer at their end")
        case Remember(state=state, span=span) | Recall(state=state, span=span):
            return _writes_state(span, state)
        case SetRegister(span=span):
            return not_on_a_card(span, "changing registers")
        case Emit(span=span):
            return not_on_a_card(span, "telling a controller of packets, as it has no ring buffer")
        case IsLimited(span=span):
            return not_on_a_card(span, "limiting errors")
        case Metered(span=span):
            return not_on_a_card(span, "metering")
        case Choose(group=group, span=span):
            return _spreads(span, group)
    return None


# ---- pops, pushes and assignments -----------------------------------------------------------


def _edits(pipeline: Pipeline) -> Iterator[Diagnostic]:
    for place in walk_edits(pipeline).places:
        match place.statement:
            case PopLink(span=span):
                yield not_on_a_card(span, "popping a link header")
            case Pop(node, span):
                after = popped_to(place.edits, pipeline.graph, place.role, node)
                if after != place.edits and after.perhaps_gone(pipeline.graph, place.role):
                    what = "popping a link header that other packets have in front of all else"
                    yield not_on_a_card(span, what)
            case Push(span=span):
                yield from (not_on_a_card(span, what) for what in _push(pipeline, place))
            case Assign(span=span):
                if _follows_optional(pipeline, place):
                    yield not_on_a_card(span, "keeping a checksum that packets may lack")


def _push(pipeline: Pipeline, place: Place) -> Iterator[str]:
    push, graph = place.statement, pipeline.graph
    assert isinstance(push, Push)
    names = [e.node for e in push.elements]
    pushed = [*names, *place.edits.pushes]
    links = [graph.node(n).header.link for n in pushed]
    if any(link and False in links[:i] for i, link in enumerate(links)):
        yield "pushing a frame within a tunnel"
    for element, after in zip(push.elements, [*names[1:], push.before], strict=True):
        edges = writable(graph, element.node, after) if after else []
        writes = dict(edges[0].writes or ()) if edges else {}
        if _sums_payload(graph.node(element.node).header, element, writes):
            yield "a checksum over the payload of a packet"


def _sums_payload(header: Header, element: PushElement, writes: dict[str, int]) -> bool:
    """Whether a checksum is computed of more than the header's fixed part."""
    values = dict(element.values)
    written = groups_written(header, values, {*values, *element.computed}, writes)
    own = Derived("checksum", frozenset({"header"}))
    return any(
        is_checksum(f)
        and f.name not in values
        and (f.default != own or header.groups)
        and (f.group is None or f.group in written)
        for f in header.fields
    )


def _follows_optional(pipeline: Pipeline, place: Place) -> bool:
    assign = place.statement
    assert isinstance(assign, Assign)
    change = Change(pipeline.graph, place.role, place.edits, assign.span)
    return any(change.optional_sums(target.node, target.field) for target, _ in assign.fields)


# ---- rule kinds -----------------------------------------------------------------------------


def _kinds(pipeline: Pipeline) -> Iterator[Diagnostic]:
    chosen = {part.group for part in walk(pipeline.stages) if isinstance(part, Choose)}
    for rule in pipeline.rules:
        if rule.spread and rule.name not in chosen:  # else it is refused where it is chosen from
            yield _spreads(rule.span, rule.name)
        yield from _kind(rule)


def _kind(rule: RuleKind) -> Iterator[Diagnostic]:
    for match in rule.match:
        if match.kind not in ("exact", "optional"):
            yield _not_whole(match.span, match.element.name, match.kind)
    for match in rule.match:
        if isinstance(match.operand, Arrival):
            yield _arrival(match.span)
    if rule.priority is not None:
        yield _ranked(rule.span, rule.name, rule.priority[0])


def _sizes(pipeline: Pipeline, laid_out: tuple[Table, ...]) -> Iterator[Diagnostic]:
    maps = [m for m in maps_of(laid_out) if not m[0].rule.spread]
    for table, _, key, value, _ in maps:
        size = limits.element_bytes(key, value)
        if size > limits.ELEMENT or key > limits.KEY or value > limits.VALUE:
            yield _element(table.rule.span, table.rule.name, key, value)
    own = own_maps(pipeline)
    total = sum(entries for *_, entries in maps) + sum(own)
    if total > limits.ENTRIES:
        largest = max(maps, key=lambda m: m[4])[0].rule
        yield _entries(largest.span, largest.name, total)
    if len(maps) + len(own) > limits.MAPS:
        yield _maps(pipeline.span, len(maps) + len(own))


def own_maps(pipeline: Pipeline) -> list[int]:
    """Entries of the maps that hold no rules: control, events, the host's addresses."""
    local = [LOCAL_ADDRESSES for _ in asks_local(pipeline)]
    return [1, len(events_of(pipeline).counters), *local]


# ---- depth ----------------------------------------------------------------------------------


def _reach(pipeline: Pipeline) -> Iterator[Diagnostic]:
    """The first node on the longest way that may end beyond what the card sees."""
    graph = pipeline.graph
    ends: dict[str, int] = {}
    for node in graph.nodes:  # in topological order
        before = [ends[e.source] for e in graph.entering(node.name) if e.source in ends]
        ends[node.name] = max(before, default=0) + node.header.maximum
        edge = next((e for e in graph.entering(node.name)), None)
        if ends[node.name] > limits.REACH and max(before, default=0) <= limits.REACH:
            span = edge.span if edge is not None else node.span
            yield _too_deep(span, node.name, ends[node.name])


# ---- errors ---------------------------------------------------------------------------------


_HOST = "or leave it to the host: compile without `--target nfp`"


def _other_port(span: Span, word: str) -> Diagnostic:
    return error(
        "H0350", "a card sends packets back or to its host, not out by other ports",
        (span, f"`{word}` leaves by another port"),
        help=f"`send back` it, or `pass` it to the host, whose programs forward it; {_HOST}",
    )  # fmt: skip


def _not_whole(span: Span, element: str, how: str) -> Diagnostic:
    return error(
        "H0351", f"a card finds rules by whole keys, and `{element}` matches by `{how}`",
        (span, "of many lengths, masks or values"),
        help=f"match it `exact` or `optional`, or several rules that do; {_HOST}",
    )  # fmt: skip


def _writes_state(span: Span, state: str) -> Diagnostic:
    return error(
        "H0352", f"a card's program cannot write its tables, and `{state}` is left by packets",
        (span, "learnt in the data path"),
        help=f"let a controller make rules of what it learns; {_HOST}",
    )  # fmt: skip


def _spreads(span: Span, group: str) -> Diagnostic:
    return error(
        "H0353", f"a card has no room for the 256 slots of a group such as `{group}`",
        (span, f"an element of a card's map has {limits.ELEMENT} bytes"),
        help="declare a rule kind with `match slot exact given`, of type u4 or u8, and find it by "
        f"`hash(…) & 15`; {_HOST}",
    )  # fmt: skip


def _ranked(span: Span, kind: str, word: str) -> Diagnostic:
    return error(
        "H0354", f"a card finds one rule for each key, so that `{word}` cannot choose in `{kind}`",
        (span, "rules of one key and several priorities"),
        help=f"leave the `{word}` out: the most specific rule wins; {_HOST}",
    )  # fmt: skip


def _arrival(span: Span) -> Diagnostic:
    return error(
        "H0355", "a card's program does not know the port of arrival",
        (span, "reads the port of arrival"),
        help=f"test the role: `if port is ROLE`, each role has a program; {_HOST}",
    )  # fmt: skip


def _element(span: Span, kind: str, key: int, value: int) -> Diagnostic:
    most = f"{limits.KEY} and {limits.VALUE}, {limits.ELEMENT} together"
    return error(
        "H0356", f"an element of `{kind}` is too large for a card's map",
        (span, f"a key of {key} bytes and a value of {value}; at most {most} in steps of 8"),
        help="match or give less, or use several rule kinds: one that refers to the other",
    )  # fmt: skip


def _entries(span: Span, kind: str, needed: int) -> Diagnostic:
    return error(
        "H0357", f"a card has room for {limits.ENTRIES:,} entries in all its maps",
        (span, f"`{kind}` takes most of {needed:,}"),
        help="lower the capacity",
    )  # fmt: skip


def _maps(span: Span, needed: int) -> Diagnostic:
    return error(
        "H0357", f"a card has {limits.MAPS} maps at most", (span, f"this pipeline needs {needed}"),
        help="declare fewer rule kinds",
    )  # fmt: skip


def _too_deep(span: Span, node: str, reach: int) -> Diagnostic:
    return error(
        "H0358", f"a card's program sees {limits.REACH:,} bytes of a packet",
        (span, f"`{node}` may end {reach:,} bytes into it"),
        help="parse less, or bound what is in front: `accept ihl = 5` in a header of your own",
    )  # fmt: skip


def not_on_a_card(span: Span, what: str) -> Diagnostic:
    return error("H0360", f"a card cannot do this: {what}", (span, "asked for here"),
                  help=_HOST.removeprefix("or "))  # fmt: skip
