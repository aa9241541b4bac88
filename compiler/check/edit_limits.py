"""What the compiler cannot do with pops, pushes and appends that are each right: found by following
them through the stages of a checked pipeline."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

from ...lang.text.diagnostics import Diagnostic, error
from ...lang.text.source import Span
from .. import model
from ..headers.outline import ways_to
from ..model.checksums import NETWORK
from ..model.header_sizes import computed_from
from ..model.parse_graph import writable
from ..model.walk import walk
from . import errors
from .assign_limits import assign_limits
from .key_limits import key_limits
from .packet_edits import Crossing, Edits, Meeting, Place, Walk, in_front, walk_edits

#: Bits of the longest field that an answer sends back.
LONGEST_SENT_BACK = 128


def limits(pipeline: model.Pipeline) -> Iterator[Diagnostic]:
    """All of them, each place as often as packets come to it."""
    edits = walk_edits(pipeline)
    yield from key_limits(pipeline, edits)
    for meeting in edits.meetings:
        yield _meeting(edits, meeting)
    for crossing in edits.crossings:
        if crossing.edits.cut:
            yield _sent_later(edits, crossing)
    for place in edits.places:
        yield from _at(pipeline, place)


def _at(pipeline: model.Pipeline, place: Place) -> Iterator[Diagnostic]:
    match place.statement:
        case model.Pop(node, span):
            own = place.edits.own
            if own and own != node and not pipeline.graph.node(node).header.link:
                yield from _popped_again(pipeline, place, own, node, span)
        case model.Append(_, behind, span):
            for front in in_front(pipeline.graph, place.role, behind):
                yield from _appended_behind(pipeline.graph.node(front), span)
        case model.Forward():
            yield from _forwarded(pipeline, place, place.statement)
        case model.Reply(_, span, fronts):
            for front in (node for role, node in fronts if role == place.role):
                yield from _answered(pipeline, place.edits, front, span)
        case model.Assign() | model.PopLink():
            yield from assign_limits(pipeline, place)


# ---- branches and stages ----------------------------------------------------------------------


def _meeting(edits: Walk, meeting: Meeting) -> Diagnostic:
    span, ways = meeting.statement.span, meeting.ways
    if len({way.clamp for way in ways}) > 1:
        return _clamped_on_some(span, _first_clamp(meeting.statement))
    if len({replace(way, numbers=()) for way in ways}) > 1:
        return errors.changed_unlike(span, meeting.role, map(_shown, ways))
    written = (edits.writers[number].span for way in ways for number in way.numbers[:1])
    return _pushed_unlike(span, list(dict.fromkeys(written)))


def _first_clamp(statement: model.Statement) -> Span:
    return next(p.span for p in walk(statement) if isinstance(p, model.ClampMss))


def _shown(way: Edits) -> str:
    first = way.own or " / ".join(way.fronts)
    changes = [f"pop to {first}"] if way.popped or way.own else []
    changes += [f"pop {node}" for node in way.untagged]
    changes += [f"push {' / '.join(way.pushes)}"] if way.pushes else []
    return ", ".join(changes) or "unchanged"


def _sent_later(edits: Walk, crossing: Crossing) -> Diagnostic:
    span, stage = edits.writers[crossing.edits.numbers[0]].span, crossing.stage
    return error(
        "H0337",
        "a packet that was appended to goes on to another stage",
        (span, "appended here"),
        (_head(stage.span), f"`{stage.name}` may end without a verdict"),
        help="give a verdict behind the `append`, in the same stage: `send back` or `pass`",
    )


def _head(span: Span) -> Span:
    """What is declared, without its body."""
    return span.source.span(span.start, span.start + len(span.text.partition("{")[0].rstrip()))


# ---- pops and appends -------------------------------------------------------------------------


def _popped_again(
    pipeline: model.Pipeline, place: Place, own: str, node: str, span: Span
) -> Iterator[Diagnostic]:
    """Behind a link header that was popped to, other headers than link headers cannot go."""
    graph, edits = pipeline.graph, place.edits
    there = edits.popped and edits.fronts == (node,)
    if not there and ways_to(graph, place.role, own, node) != ((),):
        yield _pop_behind(span, node, own, graph.node(node).span)


def _appended_behind(front: model.Node, span: Span) -> Iterator[Diagnostic]:
    """Whether the lengths of a header in front can follow."""
    header = front.header
    lengths = [f for f in header.fields if _is_length(f)]
    if header.extent is not None and not lengths:
        yield _no_length(span, front.name, header.span)
    for each in lengths:
        if each.group is not None:
            yield _optional_length(span, front.name, each.name, each.span)


def _is_length(field: model.Field) -> bool:
    return isinstance(field.default, model.Derived) and field.default.what == "length"


# ---- forward ----------------------------------------------------------------------------------


def _forwarded(
    pipeline: model.Pipeline, place: Place, statement: model.Forward
) -> Iterator[Diagnostic]:
    fronts = [node for role, node in statement.fronts if role == place.role]
    for front in fronts:
        header = pipeline.graph.node(front).header
        if header.protocol in NETWORK:
            if pipeline.hooks_reply:
                yield from _answered(pipeline, place.edits, front, statement.span)
        elif place.edits.clamp:
            yield _clamped_frame(statement.span, front, pipeline.graph.node(front).span)


def _answered(
    pipeline: model.Pipeline, edits: Edits, front: str, span: Span
) -> Iterator[Diagnostic]:
    """What `reply icmp` takes from the headers that were popped, to send it back."""
    if edits.own or edits.untagged:
        return
    for way in edits.popped:
        headers = [pipeline.graph.node(n).header for n in way]
        edges = [writable(pipeline.graph, *pair) for pair in pairwise((*way, front))]
        if all(edges) and not any(header.arrays for header in headers):
            for node, header, (edge, *_) in zip(way, headers, edges, strict=True):
                for each in _sent_back(header, {name for name, _ in edge.writes or ()}):
                    if each.width > LONGEST_SENT_BACK:
                        yield _too_long_to_send(span, node, each)


def _sent_back(header: model.Header, written: set[str]) -> Iterator[model.Field]:
    """Fields that an answer takes from the packet."""
    follows = header.flags | computed_from(header) | written
    for each in header.fields:
        named = each.width and each.part_of is None and not each.name.startswith("_")
        if named and each.default is None and each.name not in follows:
            yield each


# ---- errors -----------------------------------------------------------------------------------


def _clamped_on_some(span: Span, clamp: Span) -> Diagnostic:
    return error(
        "H0341",
        "packets with and without `clamp mss` meet behind this",
        (clamp, "only on some of the ways"),
        (span, "they meet behind this"),
        help="write `clamp mss` in front of the branch, or on every way through it",
    )


def _pushed_unlike(span: Span, written: list[Span]) -> Diagnostic:
    return error(
        "H0342",
        "packets that were pushed upon in several places meet behind this",
        (span, "they have the same headers, with other values"),
        *((each, "one of the places") for each in written),
        help="send the packet on in the branch, or push behind it",
    )


def _pop_behind(span: Span, node: str, own: str, where: Span) -> Diagnostic:
    return error(
        "H0343",
        f"`{node}` cannot be popped to behind a pop to `{own}`",
        (span, f"`{own}` is the packet's link header by now"),
        (where, f"other headers may stand between `{own}` and this"),
        help=f"pop to `{node}` alone: the packet keeps its first link header",
    )


def _clamped_frame(span: Span, front: str, where: Span) -> Diagnostic:
    return error(
        "H0344",
        "`clamp mss` is for packets that are forwarded by their IP header",
        (span, f"this carries the whole frame, from `{front}` on"),
        (where, "this node"),
        help="leave `clamp mss` out on this way, or pop to the IP header first",
    )


def _too_long_to_send(span: Span, node: str, field: model.Field) -> Diagnostic:
    most = LONGEST_SENT_BACK // 8
    return error(
        "H0345",
        f"`reply icmp` cannot send `{node}.{field.name}` back",
        (span, f"answers of this go back with the `{node}` that was popped"),
        (field.span, f"{field.width // 8} bytes long, at most {most} are sent back"),
        help=f"give the field a default, or divide it into fields of {most} bytes at most",
    )


def _no_length(span: Span, node: str, where: Span) -> Diagnostic:
    return error(
        "H0338",
        f"nothing can be appended behind `{node}`: its length would not follow",
        (span, f"the packet ends where `{node}` says"),
        (where, "says its `extent`, and has no field that is `length(…)`"),
        help="give the field that says it the default `length(…)`",
    )


def _optional_length(span: Span, node: str, field: str, where: Span) -> Diagnostic:
    return error(
        "H0339",
        f"nothing can be appended behind `{node}`, which may lack its length",
        (span, f"`{node}.{field}` would have to follow"),
        (where, "only in some packets"),
        help="append to packets without this header, or declare the field outside of its group",
    )
