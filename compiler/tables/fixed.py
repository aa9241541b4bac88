"""Kinds whose elements are all exact or optional: under which masks their rules lie is known before
there are any, so that packets need no directory."""

from __future__ import annotations

import struct
from itertools import combinations

from ...lang.contract.manifest.manifest import Match, RuleKind
from ...lang.text.frozen import Frozen

#: More masks than this are better found in a directory, which has only those in use.
FIXED_MOST = 4


class FixedTuple(Frozen):
    """A tuple as C looks under it: `mask` and `tag` (its number) by the key's u64 words. `present`:
    words of the key that must have these bits, or no key of the tuple can match. `last` of those
    that are as specific."""

    mask: tuple[int, ...]
    tag: int
    present: tuple[tuple[int, int], ...]
    last: bool


def fixed_masks(matches: tuple[Match, ...], group: int | None, size: int) -> tuple[str, ...]:
    """The masks in hex, most specific first; none where there are too many, or where two sets of
    elements come to one mask, which then says nothing about how specific its rules are."""
    masks = [_mask(chosen, group) for chosen in _sets(matches)]
    if len(set(masks)) < len(masks):
        return ()
    return tuple(mask.to_bytes(size, "big").hex() for mask in masks)


def _sets(matches: tuple[Match, ...]) -> list[tuple[Match, ...]]:
    """The elements that a rule may have, all ways, in falling order of their bits."""
    exact = tuple(match for match in matches if match.kind == "exact")
    optional = [match for match in matches if match.kind == "optional"]
    if len(exact) + len(optional) < len(matches) or 1 << len(optional) > FIXED_MOST:
        return []
    found = [
        (*exact, *some)
        for count in range(len(optional), -1, -1)
        for some in combinations(optional, count)
    ]
    return sorted(found, key=_bits, reverse=True)


def _bits(chosen: tuple[Match, ...]) -> int:
    return sum(match.width for match in chosen)


def _mask(chosen: tuple[Match, ...], group: int | None) -> int:
    mask = 0 if group is None else 0xFFFFFFFF << group
    for match in chosen:
        mask |= ((1 << match.width) - 1) << match.position | _presence((match,))
    return mask


def _presence(chosen: tuple[Match, ...]) -> int:
    bits = 0
    for match in chosen:
        bits |= 0 if match.presence is None else 1 << match.presence
    return bits


def fixed_tuples(kind: RuleKind) -> list[FixedTuple]:
    """The tuples of a kind's fixed masks, as C needs them."""
    sets, found = _sets(kind.match) if kind.fixed else [], []
    for number, chosen in enumerate(sets, start=1):
        present = _words(_presence(chosen), kind.key_size)
        found.append(
            FixedTuple(
                _words(_mask(chosen, kind.group_position), kind.key_size),
                _words(number, kind.key_size)[-1],
                tuple((word, bits) for word, bits in enumerate(present) if bits),
                number == len(sets) or _bits(sets[number]) < _bits(chosen),
            )
        )
    return found


def _words(key: int, size: int) -> tuple[int, ...]:
    """A key's bytes as the little-endian u64 words that programs take it by."""
    data = key.to_bytes(size, "big") + bytes(-size % 8)
    return struct.unpack(f"<{len(data) // 8}Q", data)
