"""What differs at tc from XDP, where a pipeline asks for it: see docs/tc.md."""

from __future__ import annotations

from collections.abc import Iterator

from ..lang.text.diagnostics import Diagnostic, error
from ..lang.text.source import Span
from .check.packet_edits import Place, Walk, walk_edits
from .link_limits import refusals as link_refusals
from .lower.reads import answers
from .model import Copy, Pipeline, Push, Queue
from .model.checksums import zero_checksum
from .model.walk import walk
from .targets.tc import segmented


def refusals(pipeline: Pipeline) -> list[Diagnostic]:
    """All that a program at tc cannot do, in the order of the file."""
    spans = dict.fromkeys(s.span for s in walk(pipeline.stages) if isinstance(s, Queue))
    found = [_queue(span) for span in sorted(spans, key=lambda span: span.start)]
    answering = answers(pipeline) if "tc.egress" in pipeline.at else ()
    for role, at in zip(pipeline.roles, pipeline.at, strict=False):
        if at == "tc.egress" and role in answering:
            found.insert(0, _answers(pipeline.span, role))
    return found + (link_refusals(pipeline) if pipeline.bare else [])


def at_xdp(pipeline: Pipeline) -> list[Diagnostic]:
    """What only a program at tc does, asked of one at XDP."""
    spans = dict.fromkeys(s.span for s in walk(pipeline.stages) if isinstance(s, Copy))
    return [_copies(sorted(spans, key=lambda span: span.start))] if spans else []


def differences(pipeline: Pipeline) -> list[Diagnostic]:
    """A warning, if there are pushes that some packets do not get through."""
    edits = walk_edits(pipeline)
    spans = dict.fromkeys(span for place in edits.places for span in _whole(pipeline, edits, place))
    return [_no_segments(sorted(spans, key=lambda span: span.start))] if spans else []


def _whole(pipeline: Pipeline, edits: Walk, place: Place) -> Iterator[Span]:
    """Where the outermost header was pushed, if no kernel makes segments with all of them."""
    found = place.edits
    writers = (edits.writers[number] for number in dict.fromkeys(found.numbers))
    pushes = [writer for writer in writers if isinstance(writer, Push)]
    elements = [each for push in pushes for each in push.elements]
    headers = [pipeline.graph.node(each.node).header for each in elements]
    summed = any(
        each.computed or (header.protocol == "udp" and not zero_checksum(header, headers[:i]))
        for i, (each, header) in enumerate(zip(elements, headers, strict=True))
    )
    numbered = any(name == "sequence" for each in elements for name, _ in each.values)
    if pushes and (summed or numbered or not segmented(headers)):
        yield pushes[0].span


def _answers(span: Span, role: str) -> Diagnostic:
    return error(
        "H0561", f"`{role}` is at tc.egress, and packets there are sent back or answered",
        (span, "this pipeline"),
        help=f"`if port is {role}`: leave out `send back` and `reply icmp` there, also of the "
        "hooks that `forward` has; or attach the role elsewhere",
    )  # fmt: skip


def _queue(span: Span) -> Diagnostic:
    return error(
        "H0540", "`queue` means nothing at tc", (span, "the kernel has chosen the CPU by then"),
        help="leave it out; or compile for XDP, which runs before that: without `--target tc`",
    )  # fmt: skip


def _copies(spans: list[Span]) -> Diagnostic:
    why = "no program at XDP copies a packet"
    return error(
        "H0530", "copies are made at tc only", *((span, why) for span in spans),
        help="attach its roles there, `ports lan at tc.ingress`; or compile with `--target tc`",
    )  # fmt: skip


def _no_segments(spans: list[Span]) -> Diagnostic:
    why = "no kernel makes segments of a packet in these headers"
    return error(
        "H0541", "what stands for several segments is dropped", *((span, why) for span in spans),
        help="turn GRO off where packets come in, GSO and TSO of the other end of a veth; those "
        "that are dropped count as `hook: no_headroom`",
        severity="warning",
    )  # fmt: skip
