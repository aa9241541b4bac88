"""Bloom filters of one hash: a bit for every key in it, which packets ask before the hash itself.

Most look-ups under several masks miss, and a bit costs less than a hash's bucket. The bit of a key
is set before anybody may look for it, and cleared when the last key that has it has left the hash.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ...lang.contract.manifest.manifest import RuleKind
from .key_hash import Hashes, KeyHash, hashes_of


class Filter:
    """One rule kind's filter, over its map's memory: `words`. No key may be added twice."""

    def __init__(self, kind: RuleKind, memory: memoryview) -> None:
        self._size = kind.key_size
        self.words = memory[: kind.filter // 8].cast("Q")
        self._raw = self.words.cast("B")  # the same bits, since words are little-endian
        self._shift = 64 - (kind.filter.bit_length() - 1)
        self._others: dict[int, int] = {}  # how many keys have a bit besides the first, if any do
        self._hash = KeyHash(self._size).of

    def close(self) -> None:
        self._raw.release()
        self.words.release()

    def bit(self, key: bytes) -> int:
        """See `RuleKind` for what is calculated."""
        return self._hash(key) >> self._shift

    def _bits(self, hashes: Hashes) -> npt.NDArray[np.uint32]:
        return (hashes >> np.uint64(self._shift)).astype(np.uint32)

    def bits(self, keys: bytes) -> npt.NDArray[np.uint32]:
        """The bits of many keys, one behind the other."""
        return self._bits(hashes_of(np.frombuffer(keys, np.uint8).reshape(-1, self._size)))

    def has(self, hashes: Hashes) -> npt.NDArray[np.bool_]:
        """Of each key whether its bit is set."""
        bits = self._bits(hashes)
        words = np.frombuffer(self.words, np.uint64)
        there = words[bits >> 6] >> (bits & 63).astype(np.uint64) & np.uint64(1)
        found: npt.NDArray[np.bool_] = there.astype(np.bool_)
        return found

    def add(self, hash_: int) -> None:
        """A key by its hash."""
        bit = hash_ >> self._shift
        raw, at, one = self._raw, bit >> 3, 1 << (bit & 7)
        found = raw[at]
        if found & one:
            self._others[bit] = self._others.get(bit, 0) + 1
        else:
            raw[at] = found | one

    def remove(self, key: bytes) -> None:
        bit = self.bit(key)
        others = self._others.pop(bit, 0)
        if not others:
            self._raw[bit >> 3] &= ~(1 << (bit & 7))
        elif others > 1:
            self._others[bit] = others - 1

    def add_many(self, hashes: Hashes) -> None:
        """Keys by their hashes (`hashes_of`)."""
        self._add(np.frombuffer(self.words, np.uint64), hashes)

    def rebuild(self, hashes: Hashes) -> None:
        """From here on these keys are in the hash and no others; all of them were before."""
        words = np.zeros(len(self.words), np.uint64)
        self._others.clear()
        self._add(words, hashes)
        np.frombuffer(self.words, np.uint64)[:] = words

    def _add(self, words: npt.NDArray[np.uint64], hashes: Hashes) -> None:
        if not len(hashes):
            return
        bits, counts = _counted(self._bits(hashes))
        at, ones = bits >> 6, np.uint64(1) << (bits & 63).astype(np.uint64)
        others = counts - ((words[at] & ones) == 0)
        shared = others > 0
        more = dict(zip(bits[shared].tolist(), others[shared].tolist(), strict=True))
        for bit in more.keys() & self._others.keys():
            more[bit] += self._others[bit]
        self._others.update(more)
        first = _firsts(at)
        words[at[first]] |= np.bitwise_or.reduceat(ones, first)


def _firsts(ordered: npt.NDArray[Any]) -> npt.NDArray[np.intp]:
    """Where each distinct value stands first."""
    return np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))


def _counted(
    values: npt.NDArray[np.uint32],
) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.intp]]:
    """Distinct values in order, and how many of each: `np.unique`, several times as fast."""
    ordered = np.sort(values)
    first = _firsts(ordered)
    return ordered[first], np.diff(first, append=len(ordered))
