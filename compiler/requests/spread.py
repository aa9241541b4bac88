"""Linux's jhash, and the slots of a spread. Both planes compute them here, so they cannot differ.

jhash is Bob Jenkins' lookup3 as in `include/linux/jhash.h`, for little-endian machines.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from functools import lru_cache
from math import log
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

SLOTS = 256
_INITIAL = 0xDEADBEEF
_WORD = 0xFFFFFFFF


def jhash2(words: Sequence[int], initial: int = 0) -> int:
    """The kernel's `jhash2(words, len(words), initial)`: 32-bit words in, 32 bits out."""
    a = b = c = (_INITIAL + (len(words) << 2) + initial) & _WORD
    at, left = 0, len(words)
    while left > 3:
        a = (a + words[at]) & _WORD
        b = (b + words[at + 1]) & _WORD
        c = (c + words[at + 2]) & _WORD
        a, b, c = _mix(a, b, c)
        at, left = at + 3, left - 3
    if left == 0:
        return c
    tail = (*words[at:], 0, 0)
    return _final((a + tail[0]) & _WORD, (b + tail[1]) & _WORD, (c + tail[2]) & _WORD)


def jhash(octets: bytes, initial: int = 0) -> int:
    """jhash2 over the octets, padded with zeros to whole words, each read little-endian."""
    octets += bytes(-len(octets) % 4)
    return jhash2(struct.unpack(f"<{len(octets) // 4}I", octets), initial)


def slot(value: int) -> int:
    """The slot of a spread that a hash value picks."""
    return value >> 24


def spread_slots(members: Iterable[tuple[int, int]]) -> list[int]:
    """Fill the slots of a spread with the ids of its (id, weight) members: weighted rendezvous
    hashing, so that a change of members moves only the changed member's share. No members: []."""
    ordered = tuple(sorted(members))
    return [ordered[i][0] for i in winners(ordered).tolist()] if ordered else []


@lru_cache(maxsize=4096)
def winners(ordered: tuple[tuple[int, int], ...]) -> npt.NDArray[np.intp]:
    """For each slot, which of the members it goes to: at least one of them, lowest id first."""
    import numpy as np  # slow to import, and most who know this module spread nothing

    weights = np.array([[weight] for _, weight in ordered], np.float64)
    scores = weights / np.array([_negative_logarithms(id) for id, _ in ordered])
    found: npt.NDArray[np.intp] = scores.argmax(axis=0)  # of equals the first: the lower id
    return found


def _rotate(word: int, by: int) -> int:
    return ((word << by) | (word >> (32 - by))) & _WORD


def _mix(a: int, b: int, c: int) -> tuple[int, int, int]:
    a, c = ((a - c) & _WORD) ^ _rotate(c, 4), (c + b) & _WORD
    b, a = ((b - a) & _WORD) ^ _rotate(a, 6), (a + c) & _WORD
    c, b = ((c - b) & _WORD) ^ _rotate(b, 8), (b + a) & _WORD
    a, c = ((a - c) & _WORD) ^ _rotate(c, 16), (c + b) & _WORD
    b, a = ((b - a) & _WORD) ^ _rotate(a, 19), (a + c) & _WORD
    c, b = ((c - b) & _WORD) ^ _rotate(b, 4), (b + a) & _WORD
    return a, b, c


def _final(a: int, b: int, c: int) -> int:
    c = ((c ^ b) - _rotate(b, 14)) & _WORD
    a = ((a ^ c) - _rotate(c, 11)) & _WORD
    b = ((b ^ a) - _rotate(a, 25)) & _WORD
    c = ((c ^ b) - _rotate(b, 16)) & _WORD
    a = ((a ^ c) - _rotate(c, 4)) & _WORD
    b = ((b ^ a) - _rotate(a, 14)) & _WORD
    return ((c ^ b) - _rotate(b, 24)) & _WORD


# A spread of 16 members needs 4096 hashes. One integer holds 256 of them side by side, a 64-bit
# lane each, so that a step of `_final` is a step for all: 10 times faster than one after another.
_LANE_1 = sum(1 << (64 * i) for i in range(SLOTS))
_LANE_WORD = _LANE_1 * _WORD
_LANE_BORROW = _LANE_1 << 32
_LANE_SLOT = sum(i << (64 * i) for i in range(SLOTS))


def _lane_step(x: int, y: int, by: int) -> int:
    """(x ^ y) - rotate(y, by), in every lane."""
    rotated = ((y << by) | (y >> (32 - by))) & _LANE_WORD
    return (((x ^ y) | _LANE_BORROW) - rotated) & _LANE_WORD


@lru_cache(maxsize=4096)
def _negative_logarithms(id: int) -> npt.NDArray[np.float64]:
    """-ln((h + 0.5) / 2^32) for h = jhash2((id, slot)), for every slot. Always above zero."""
    import numpy as np

    start = _INITIAL + 8
    a = _LANE_1 * ((start + id) & _WORD)
    b = (_LANE_1 * start + _LANE_SLOT) & _LANE_WORD
    c = _LANE_1 * start
    c = _lane_step(c, b, 14)
    a = _lane_step(a, c, 11)
    b = _lane_step(b, a, 25)
    c = _lane_step(c, b, 16)
    a = _lane_step(a, c, 4)
    b = _lane_step(b, a, 14)
    c = _lane_step(c, b, 24)
    hashes = struct.unpack(f"<{SLOTS}Q", c.to_bytes(8 * SLOTS, "little"))
    return np.array([-log((h + 0.5) / 4294967296.0) for h in hashes])
