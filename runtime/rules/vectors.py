"""Bit vectors: which of a rule kind's keys take a value of each byte.

What the vectors of all bytes of a packet's key have in common are the keys that match, under
whatever masks they lie; see `RuleKind` for how they lie in memory. They are there beside the index
while the keys are few. A key's bits are set when it leads to a cell that is still empty, and
cleared when no packet finds a rule in it any more. A bit that was cleared is used again after a
grace period, or a packet might see half of either key.
"""

from __future__ import annotations

import heapq
import struct
from collections.abc import Iterable
from itertools import groupby
from typing import Any

import numpy as np
import numpy.typing as npt

from ...lang.contract.manifest.manifest import DE_BRUIJN, VECTOR_KEYS, VECTOR_PLACE, RuleKind
from .matches import Bound

Array = npt.NDArray[Any]

#: To look under a mask takes as long as to load the vectors of so many bytes, a pair of words each.
LOADS_OF_A_MASK = 12
#: Rank, priority, cell.
_PLACE = struct.Struct("<QII")
_PLACES = [(DE_BRUIJN << bit) % (1 << 64) >> 58 for bit in range(64)]
_VALUES = np.arange(256, dtype=np.uint8)
_HEAD = VECTOR_PLACE


class Vectors:
    """Of one kind, over the bytes behind its filter. A bit's number is 64 · word + bit of it."""

    def __init__(self, kind: RuleKind, memory: memoryview) -> None:
        self._memory, self._bytes = memory, list(kind.asked_bytes)
        self._pairs = kind.vectors // VECTOR_KEYS
        self._words = memory.cast("Q")
        self._places_at = _HEAD + VECTOR_PLACE * self._pairs
        self._begin()
        #: Whether every key is there.
        self.whole = True
        self._masks = 0

    def _begin(self) -> None:
        self._bits: dict[bytes, int] = {}
        self._free = list(range(self.room))  # a heap
        self._gone: list[int] = []  # bits that were cleared since the last grace period
        self._bounds: list[Bound] = [(0, 0)] * self._pairs

    def close(self) -> None:
        self._words.release()
        self._memory.release()

    @property
    def room(self) -> int:
        """Keys that there is room for, if it is empty."""
        return self._pairs * VECTOR_KEYS

    @property
    def used(self) -> bool:
        """Whether packets look here."""
        return self._words[0] > 0

    # ---- keys -------------------------------------------------------------------------------

    def fill(self, keys: Array, masks: Array, entries: Array) -> None:
        """These are all keys. No packet looked here for a grace period."""
        assert not self.used
        np.frombuffer(self._memory, np.uint8)[_HEAD:] = 0
        self._begin()
        self.whole = True
        self.add(keys, masks, entries)

    def add(self, keys: Array, masks: Array, entries: Array) -> None:
        """Keys and the masks that they lie under, [row, byte]; an array of ENTRIES."""
        if not self.whole:
            return
        if len(keys) > len(self._free):
            self.leave()
            return
        found = [
            ((priority, rank), cell, row)
            for row, (cell, priority, rank) in enumerate(entries.tolist())
        ]
        found.sort(reverse=True)  # the best ones first, so that packets stop early
        placed = []
        for bound, cell, row in found:
            bit = heapq.heappop(self._free)
            self._bits[keys[row].tobytes()] = bit
            self._place(bit, bound, cell)
            placed.append((bit, row))
        asked, under = keys[:, self._bytes], masks[:, self._bytes]
        for word, group in groupby(placed, lambda pair: pair[0] // 64):
            bits, rows = zip(*group, strict=True)
            takes = (_VALUES & under[rows, :, None]) == asked[rows, :, None]
            ones = np.array([1 << bit % 64 for bit in bits], np.uint64)
            mine = np.where(takes, ones[:, None, None], np.uint64(0))
            self._word(word)[...] |= np.bitwise_or.reduce(mine, axis=0)
        self._show()

    def remove(self, keys: Iterable[bytes]) -> None:
        """Those of the keys that are there."""
        gone = sorted(bit for key in keys if (bit := self._bits.pop(key, None)) is not None)
        for word, bits in groupby(gone, lambda bit: bit // 64):
            self._word(word)[...] &= np.uint64(~sum(1 << bit % 64 for bit in bits) % (1 << 64))
        self._gone += gone
        if gone:
            self._show()

    def reclaim(self) -> None:
        """After a grace period: bits that were cleared before it can be used again."""
        for bit in self._gone:
            heapq.heappush(self._free, bit)
        self._gone = []

    # ---- whether packets look here ----------------------------------------------------------

    def leave(self) -> bool:
        """Not all keys are there any more. It can be filled after a grace period if packets may be
        looking here, which this says."""
        self.whole, self._bits = False, {}
        self._show()
        bounds = self._words[_HEAD // 8 : self._places_at // 8]
        return any(bounds)

    def compare(self, masks: int) -> None:
        """There are keys under so many masks: packets look here where that is faster."""
        self._masks = masks
        self._show()

    def _show(self) -> None:
        pairs = 1 + max(self._bits.values(), default=0) // VECTOR_KEYS
        faster = pairs * len(self._bytes) < LOADS_OF_A_MASK * self._masks
        self._words[0] = pairs if self.whole and faster else 0

    # ---- memory -----------------------------------------------------------------------------

    def _word(self, word: int) -> Array:
        """Its vectors: [byte, value]."""
        at = self._places_at + VECTOR_PLACE * self.room
        vectors = np.frombuffer(self._memory, "<u8", -1, at)
        found: Array = vectors.reshape(self._pairs, -1, 256, 2)[word // 2, :, :, word % 2]
        return found

    def _place_of(self, bit: int) -> int:
        return self._places_at + VECTOR_PLACE * (bit & ~63 | _PLACES[bit & 63])

    def _place(self, bit: int, bound: Bound, cell: int) -> None:
        priority, rank = bound
        _PLACE.pack_into(self._memory, self._place_of(bit), rank, priority, cell)
        if bound > self._bounds[bit // VECTOR_KEYS]:
            self._bound(bit // VECTOR_KEYS, bound)

    def _bound(self, pair: int, bound: Bound) -> None:
        """Raise it: packets read the rank before the priority."""
        at = (_HEAD + VECTOR_PLACE * pair) // 8
        priority, rank = self._bounds[pair] = bound
        self._words[at + 1] = priority
        self._words[at] = rank
