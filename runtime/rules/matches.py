"""What a rule matches, as bytes: its patterns in the hash, and its part of the image.

All of it is calculated in one number, which has three parts: the bits of the key that must be 1,
those that must be 0, and the match elements of the image. A matcher but for its value, its *shape*,
is most often one that was met before; multiplied, the value stands in each part where it belongs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product
from typing import NamedTuple

from ...lang.contract.manifest import manifest as m
from ...lang.contract.rules.rules import Form, Rule
from .images import FORMS, ImageCodec

SEQUENCE_BITS = 48
_YOUNGEST = (1 << SEQUENCE_BITS) - 1
_new = tuple.__new__  # a third of what a named tuple's own takes
#: Shapes that are kept, for each kind.
_KEPT = 1 << 12

Pattern = tuple[int, int]
"""(mask, key) as big-endian integers of the key's bytes, the tuple's number left out."""

Bound = tuple[int, int]
"""What `struct entry` says of a key: (priority, rank). The higher wins: priority, then the more
specific (bits that a rule pins down), then the older."""


class Matches(NamedTuple):
    """What one rule comes to: `image`, the bytes of its match elements; the patterns, one or those
    of its ranges, none where its elements contradict each other (`tos` and `dscp` in the same
    byte); and what they are worth."""

    image: bytes
    patterns: list[Pattern]
    bound: Bound


NOTHING = Matches(b"", [], (0, 0))


class _Shape(NamedTuple):
    """A matcher of value v comes to `base ^ v * factor`, and pins down `bits` bits."""

    base: int
    factor: int
    bits: int


class MatchCodec:
    """The matches of one rule kind."""

    def __init__(self, kind: m.RuleKind, images: ImageCodec) -> None:
        self.kind, self._images = kind, images
        self._matches = {match.element: match for match in kind.match}
        self._width = 8 * kind.key_size
        self._ones = (1 << self._width) - 1
        self._image_at = 2 * self._width
        self._group_at, self._ranked = kind.group_position, kind.priority is not None
        self._size = images.match_end - images.match_at
        self._shapes: dict[tuple[str, Form, int], _Shape] = {}

    def of(self, rule: Rule) -> Matches:
        """What the rule matches."""
        if not self._width:
            return NOTHING
        all_, bits, ranges = 0, 0, []
        if self._group_at is not None:
            all_ = (rule.id | (rule.id ^ 0xFFFFFFFF) << self._width) << self._group_at
        shapes = self._shapes
        for name, (form, value, other) in rule.match:
            if form == "range":
                match = self._matches[name]
                ranges.append(_prefixed(value, other, match.width, match.position))
                bits += match.width - (other - value).bit_length()
            base, factor, pinned = shapes.get((name, form, other)) or self._shape(name, form, other)
            all_ |= base ^ value * factor
            bits += pinned
        ones, zeros = all_ & self._ones, all_ >> self._width & self._ones
        image = (all_ >> self._image_at).to_bytes(self._size, "little")
        priority = self.priority_of(rule.priority) if self._ranked else 0
        bound = priority, bits << SEQUENCE_BITS | _YOUNGEST - rule.sequence
        if ones & zeros:
            return Matches(image, [], bound)
        if ranges:
            return Matches(image, list(_joined(ones | zeros, ones, ranges)), bound)
        return _new(Matches, (image, [(ones | zeros, ones)], bound))

    def priority_of(self, value: int) -> int:
        """What `struct entry` calls priority, of an element's value: higher wins."""
        if self.kind.priority is None:
            return 0
        return 0xFFFFFFFF - value if self.kind.priority[0] == "precedence" else value

    def _shape(self, name: str, form: Form, other: int) -> _Shape:
        match = self._matches[name]
        at, _, size = self._images.matched[name]
        at = self._image_at + 8 * (at - self._images.match_at)
        base = (FORMS.index(form) + 1 | other << 8 + 8 * size) << at
        factor, bits = 1 << at + 8, 0
        if match.presence is not None:
            base |= 1 << match.presence
        if form != "range":
            ones = (1 << match.width) - 1
            mask = ones if form == "value" else other if form == "mask" else ones ^ ones >> other
            bits = mask.bit_count()
            base |= mask << self._width + match.position  # less the bits that the value has
            factor |= (1 << self._width | 1) << match.position
        if len(self._shapes) >= _KEPT:
            self._shapes.clear()
        shape = self._shapes[name, form, other] = _Shape(base, factor, bits)
        return shape


def _prefixed(low: int, high: int, width: int, position: int) -> list[Pattern]:
    """The patterns that a range at a place in the key comes to."""
    return [
        (((1 << length) - 1) << (position + width - length), value << position)
        for value, length in prefixes(low, high, width)
    ]


def _joined(mask: int, key: int, ranges: Iterable[list[Pattern]]) -> Iterator[Pattern]:
    for combination in product(*ranges):
        joined_mask, joined_key = mask, key
        for more, value in combination:
            if joined_mask & more and (joined_key ^ value) & joined_mask & more:
                break
            joined_mask |= more
            joined_key |= value
        else:
            yield joined_mask, joined_key


def prefixes(low: int, high: int, width: int) -> list[tuple[int, int]]:
    """The fewest (value, prefix length) that make up low..high, ends included."""
    found = []
    while low <= high:
        # As many low bits as are zero in `low` and as still fit below `high`.
        free = min(
            (low & -low).bit_length() - 1 if low else width, (high - low + 1).bit_length() - 1
        )
        found.append((low, width - free))
        low += 1 << free
    return found
