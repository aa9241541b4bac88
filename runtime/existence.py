"""Existence filters: a bit for every key in the hash, which packets ask before the hash itself.

Most look-ups under several masks miss, and a bit costs less than a hash's bucket. The bit of a key
is set before anybody may look for it, and cleared when the last key that has it has left the hash.
"""

from __future__ import annotations

import struct
from operator import mul

import numpy as np
import numpy.typing as npt

from ..compiler.manifest import FILTER_FACTOR, RuleKind

_MOST = (1 << 64) - 1
_HALF, _FACTOR = np.uint64(32), np.uint64(FILTER_FACTOR)

Bits = npt.NDArray[np.intp]


class Filter:
    """One rule kind's filter, over its map's memory: `words`. No key may be added twice."""

    def __init__(self, kind: RuleKind, memory: memoryview) -> None:
        self._size = kind.key_size
        self.words = memory[: kind.filter // 8].cast("Q")
        self._octets = self.words.cast("B")  # the same bits, since words are little-endian
        self._shift = 64 - (kind.filter.bit_length() - 1)
        self._others: dict[int, int] = {}  # how many keys have a bit besides the first, if any do
        whole, rest = divmod(self._size, 8)  # keys are made of u32s
        self._unpack = struct.Struct(f"<{whole}Q{'I' if rest else ''}").unpack
        count = whole + bool(rest)
        self._pad = bytes(count * 8 - self._size)
        self._factors = [pow(FILTER_FACTOR, i + 1, 1 << 64) for i in range(count)]

    def close(self) -> None:
        self._octets.release()
        self.words.release()

    def bit(self, key: bytes) -> int:
        """See `RuleKind` for what is calculated."""
        total: int = sum(map(mul, self._unpack(key), self._factors)) & _MOST
        return ((total ^ total >> 32) * FILTER_FACTOR & _MOST) >> self._shift

    def bits(self, keys: bytes) -> Bits:
        """The bits of many keys, one behind the other."""
        rows = np.frombuffer(keys, np.uint8).reshape(-1, self._size)
        padded = np.zeros((len(rows), self._size + len(self._pad)), np.uint8)
        padded[:, : self._size] = rows
        words, total = padded.view("<u8"), np.zeros(len(rows), np.uint64)
        for i, factor in enumerate(self._factors):
            total += words[:, i] * np.uint64(factor)
        mixed = (total ^ total >> _HALF) * _FACTOR
        return (mixed >> np.uint64(self._shift)).astype(np.intp)

    def add(self, key: bytes) -> None:
        # `bit`, without the call: this is a tenth of creating a rule.
        total = sum(map(mul, self._unpack(key), self._factors)) & _MOST
        bit = ((total ^ total >> 32) * FILTER_FACTOR & _MOST) >> self._shift
        octets, at, one = self._octets, bit >> 3, 1 << (bit & 7)
        found = octets[at]
        if found & one:
            self._others[bit] = self._others.get(bit, 0) + 1
        else:
            octets[at] = found | one

    def remove(self, key: bytes) -> None:
        bit = self.bit(key)
        others = self._others.pop(bit, 0)
        if not others:
            self._octets[bit >> 3] &= ~(1 << (bit & 7))
        elif others > 1:
            self._others[bit] = others - 1

    def add_many(self, keys: bytes) -> None:
        self._add(np.frombuffer(self.words, np.uint64), keys)

    def rebuild(self, keys: bytes) -> None:
        """From here on these keys are in the hash and no others; all of them were before."""
        words = np.zeros(len(self.words), np.uint64)
        self._others.clear()
        self._add(words, keys)
        np.frombuffer(self.words, np.uint64)[:] = words

    def _add(self, words: npt.NDArray[np.uint64], keys: bytes) -> None:
        bits, counts = np.unique(self.bits(keys), return_counts=True)
        at, ones = bits >> 6, np.uint64(1) << (bits & 63).astype(np.uint64)
        others = counts - ((words[at] & ones) == 0)
        shared = others > 0
        for bit, more in zip(bits[shared].tolist(), others[shared].tolist(), strict=True):
            self._others[bit] = self._others.get(bit, 0) + more
        np.bitwise_or.at(words, at, ones)
