"""An element as a rule kind uses it, and what is decoded of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ..manifest.manifest import Match
from ..request.request import IE
from .ie_values import Codec, Fault
from .rules import Form, Matcher

MATCH, ANY, VALUE, REFERENCE, PRIORITY, WEIGHT, POSITION, PARTIAL = range(8)

FORM_CODES: dict[Form, int] = {"value": 1, "prefix": 2, "mask": 3, "range": 4}

Pair = tuple[str, Matcher]


class Field(NamedTuple):
    """An element as a rule kind uses it. `wide`: the bits of one of its values in the match image;
    `shift`: where its bits begin there."""

    role: int
    nth: int
    codec: Codec
    match: Match | None = None
    wide: int = 0
    shift: int = 0
    references: tuple[str, ...] = ()


Hit = tuple[int, Any, Any, int, Field]
"""A decoded IE: its role, which of that role (a match element's number, a given one's name), what
it says, the bits that this adds to the match image, its field. It says (element, matcher), or
nothing where it matches ANY; a number; or an unresolved reference, a number or a name. PARTIAL is
MATCH or ANY that leaves bits of the value out of the comparison, of which a warning says."""

Pairs = Sequence[Pair | None]
"""What each of a rule's match elements matches; not so, where any."""

Reader = Callable[[IE], Hit]
"""Decodes IEs of one element, length and form."""


def reader_of(field: Field, form: Form) -> Reader:
    """What decodes values of that form."""
    role, nth, codec, match, wide, shift, _ = field
    if role == POSITION:
        return lambda ie: (POSITION, 0, None, 0, field)
    if role != MATCH:
        return lambda ie: _given(field, ie)
    assert match is not None
    matching, name = codec.matching(match.kind, form), codec.name

    def read(ie: IE) -> Hit:
        matcher = matching(ie[3], ie[4])
        if matcher is not None:
            form, value, other = matcher
            bits = ((FORM_CODES[form] << wide | value) << wide | other) << shift
            return MATCH, nth, (name, matcher), bits, field
        if match.kind == "exact":
            raise Fault("H0418", f"`{name}` must have a value", "values")
        return ANY, nth, None, 0, field

    def read_some(ie: IE) -> Hit:
        hit = read(ie)
        partial = codec.ignored(match.kind, *ie[2:5]) is not None
        return (PARTIAL, *hit[1:]) if partial else hit

    return read_some if codec.ignores(match.kind, form) else read


def _given(field: Field, ie: IE) -> Hit:
    """What an IE says that no packet is matched by."""
    role, codec = field.role, field.codec
    if ie.form != "value":
        title = f"`{codec.name}` takes one value"
        raise Fault("H0419", title, "values", "more than a value", "write the value alone")
    if role == REFERENCE and isinstance(ie.value, str) and not ie.value[:1].isdigit():
        return REFERENCE, codec.name, ie.value, 0, field
    number = codec.number(ie.value)
    if role == WEIGHT and number == 0:
        raise Fault("H0437", "a member of weight 0 gets no flows", "value", "",
                    "leave the member out, or delete it from the rule")  # fmt: skip
    return role, codec.name, number, 0, field


def matcher_bits(field: Field, matcher: Matcher) -> int:
    wide = field.wide
    form, value, other = matcher
    return ((FORM_CODES[form] << wide | value) << wide | other) << field.shift
