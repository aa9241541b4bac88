"""Elements of a rule kind that lie on the same bits of a packet."""

from __future__ import annotations

from collections.abc import Iterable

from .ie_values import Fault
from .kind_fields import Field, Pair, matcher_bits
from .rules import Matcher


def overlapping(fields: list[Field]) -> Iterable[tuple[int, int]]:
    for i, first in enumerate(fields):
        for j in range(i + 1, len(fields)):
            one, two = first.match, fields[j].match
            assert one is not None and two is not None
            if one.position < two.position + two.width and two.position < one.position + one.width:
                yield i, j


def agree(one: Pair, two: Pair, first: Field, second: Field) -> None:
    """Two elements on the same bits of the packet must be able to hold together."""
    v1, m1 = _in_packet(one[1], first)
    v2, m2 = _in_packet(two[1], second)
    if (v1 ^ v2) & m1 & m2:
        title = f"`{one[0]}` and `{two[0]}` contradict each other: no packet has both"
        raise Fault("H0424", title, "rule", "these are the same bits of the packet",
                    "leave one of them out")  # fmt: skip


def differences(one: Pair | None, two: Pair | None, first: Field, second: Field) -> tuple[int, ...]:
    """By which the match images differ that two elements on the same bits can make."""
    now = one[1] if one else None, two[1] if two else None
    image = _bits(first, now[0]) + _bits(second, now[1])
    return tuple(
        _bits(first, each[0]) + _bits(second, each[1]) - image
        for each in _same_packets(*now, first, second)
        if each != now
    )


def _bits(field: Field, matcher: Matcher | None) -> int:
    return matcher_bits(field, matcher) if matcher is not None else 0


def _same_packets(
    one: Matcher | None, two: Matcher | None, first: Field, second: Field
) -> Iterable[tuple[Matcher | None, Matcher | None]]:
    """What either or both of two elements on the same bits can say to match what these match."""
    if any(matcher is not None and matcher.form == "range" for matcher in (one, two)):
        return ()
    (v1, m1), (v2, m2) = (_in_packet(matcher, field) if matcher is not None else (0, 0)
                          for matcher, field in ((one, first), (two, second)))  # fmt: skip
    value, mask = v1 | v2, m1 | m2
    a, b = _out_of_packet(value, mask, first), _out_of_packet(value, mask, second)
    covers = [(_in_packet(m, f)[1] if m is not None else 0) for m, f in ((a, first), (b, second))]
    found = {(a, None): covers[0], (None, b): covers[1], (a, b): covers[0] | covers[1]}
    return [each for each, covered in found.items() if covered == mask]


def _out_of_packet(value: int, mask: int, field: Field) -> Matcher | None:
    """What an element says of bits in a key, as far as it has them; None where it cannot."""
    assert field.match is not None
    at, full = field.match.position, field.codec.full
    value, mask = value >> at & full, mask >> at & full
    if mask == full:
        return Matcher("value", value)
    if mask and field.match.kind == "ternary":
        return Matcher("mask", value, mask)
    host = full ^ mask
    if mask and field.match.kind == "lpm" and not host & (host + 1):
        return Matcher("prefix", value, mask.bit_count())
    return None


def _in_packet(matcher: Matcher, field: Field) -> tuple[int, int]:
    """Value and mask of a matcher where they stand in a key; a range says nothing of single
    bits."""
    form, value, other = matcher
    assert field.match is not None
    at, full = field.match.position, field.codec.full
    if form == "value":
        return value << at, full << at
    if form == "prefix":
        return value << at, (full ^ full >> other) << at
    return (value << at, other << at) if form == "mask" else (0, 0)
