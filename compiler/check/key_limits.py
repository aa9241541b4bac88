"""What look-ups cannot do: keys that are too long, and a `find` that gives half of what shares a
byte."""

from __future__ import annotations

from collections.abc import Iterator

from ...lang.text.diagnostics import Diagnostic, error, listed
from ...lang.text.source import Span
from .. import model
from ..tables.layout import key_of, span_of
from .packet_edits import Walk

#: Bytes of a key: five IPv6 addresses, say. A look-up has it, masked and not, on a stack of 512
#: bytes that all callers share.
LONGEST_KEY = 88


def key_limits(pipeline: model.Pipeline, edits: Walk) -> Iterator[Diagnostic]:
    for rule in pipeline.rules:
        key = key_of(pipeline, rule) if rule.match else None
        if key is not None and key.size > LONGEST_KEY:
            yield _long_key(rule, key.size)
    for find in dict.fromkeys(place.statement for place in edits.of(model.Find)):
        assert isinstance(find, model.Find)
        yield from _given_in_part(pipeline, find)


def _given_in_part(pipeline: model.Pipeline, find: model.Find) -> Iterator[Diagnostic]:
    """Bytes of the packet come from the look-up or from the packet, not from both."""
    given = {name for name, _ in find.given}
    shared: dict[tuple[str, str | None, int, int], list[model.Match]] = {}
    for match in pipeline.rule(find.rule).match if given else ():
        shared.setdefault(span_of(pipeline, match), []).append(match)
    for matches in shared.values():
        left = [match for match in matches if match.element.name not in given]
        if left and len(left) < len(matches):
            yield _half_given(find.span, [m.element.name for m in matches], left[0])


# ---- errors -----------------------------------------------------------------------------------


def _long_key(rule: model.RuleKind, size: int) -> Diagnostic:
    head = rule.span.text.partition("{")[0].rstrip()
    span = rule.span.source.span(rule.span.start, rule.span.start + len(head))
    return error(
        "H0318",
        f"`{rule.name}` matches too much: its key has {size} bytes",
        (span, f"at most {LONGEST_KEY}, with what fills it up to whole words"),
        help="match less, or in two rule kinds: one that gives a number which the other matches",
    )


def _half_given(span: Span, names: list[str], left: model.Match) -> Diagnostic:
    return error(
        "H0319",
        f"{listed(names)} share bytes of the packet, and are not all given here",
        (span, f"`{left.element.name}` is not given"),
        (left.span, "lies in a byte with the others"),
        help=f"give `{left.element.name}` as well",
    )
