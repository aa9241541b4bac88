"""Tuple space: under which masks the data path looks, and which keys lie under each.

A *tuple* is a mask and a number, which stands in the last two octets of its keys; equal keys of
several rules lie in tuples of the same mask. The data path reads the tuples from a *directory*, in
falling order of the best that each may hold. A directory is never written in place: the next
version takes a free slot of NAME_tuples, and cell 0 leads to it. Packets of any epoch may meet a
newer version: it has every tuple that holds a key, and bounds that no key exceeds.

Where a kind's masks are known beforehand (`RuleKind.fixed`), packets look under their tuples
without asking; those stay in every version. While there are others packets must ask (`cell`).
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple

from ..compiler.manifest import RuleKind
from .existence import Filter
from .matches import Bound, Pattern

_HEAD = struct.Struct("<II")
_BOUND = struct.Struct("<QQ")
MOST_NUMBERS = 0xFFFF


class DirectoryFull(Exception):
    """No room for another tuple, whatever is waited for."""


class NoVersion(Exception):
    """Every slot but the current one may still be read: a grace period frees them."""


@dataclass(slots=True, eq=False)
class Tuple:
    """`keys`: how many lie in the hash, or soon will; `best`: no key of it beats this; `told`: what
    the published directory says of it, None if it is not in there."""

    mask: int
    number: int
    keys: int = 0
    best: Bound = (0, 0)
    told: Bound | None = None


class Retired(NamedTuple):
    """What nobody reads any more after a grace period."""

    version: int
    numbers: tuple[int, ...]


class Directory:
    """The tuples of one rule kind. `versions` is the map's memory, `slot` the published version."""

    def __init__(
        self,
        kind: RuleKind,
        versions: memoryview,
        stride: int,
        slot: int,
        filter_: Filter | None = None,
    ) -> None:
        self.kind, self.filter = kind, filter_
        self._memory, self._stride = versions, stride
        self.words = (kind.key_size + 7) // 8
        self._size = kind.key_size
        self.slot = slot
        self.by_mask: dict[int, list[Tuple]] = {}
        self.taken: dict[bytes, int] = {}
        self.dirty = False
        self._free_slots = [i for i in range(kind.versions - 1, 0, -1) if i != slot]
        self._numbers: list[int] = []
        self._dropped: list[int] = []  # numbers that the next version leaves out
        self._next_number = 1
        self._by_number: dict[int, Tuple] = {}
        for mask in kind.fixed:
            self._new(int(mask, 16))
        self._read()
        self.dirty = False

    # ---- keys -------------------------------------------------------------------------------

    def place(self, pattern: Pattern, cell: int, bound: Bound) -> bytes:
        """Take a key for the pattern: its octets with the tuple's number. Raises DirectoryFull."""
        mask, key = pattern
        size, taken = self._size, self.taken
        for tuple_ in self.by_mask.get(mask, ()):
            octets = (key | tuple_.number).to_bytes(size, "big")
            if octets not in taken:
                break
        else:
            tuple_ = self._new(mask)
            octets = (key | tuple_.number).to_bytes(size, "big")
        if self.filter is not None:
            self.filter.add(octets)
        taken[octets] = cell
        tuple_.keys += 1
        if bound > tuple_.best:
            self.raise_bound(tuple_, bound)
        return octets

    def place_many(self, keys: list[bytes], cells: list[int]) -> None:
        """Take keys that are free, under the numbers in them. `raise_bound` for their tuples."""
        counts = Counter([key[-2:] for key in keys])
        found = [(self._by_number[int.from_bytes(n, "big")], count) for n, count in counts.items()]
        for tuple_, count in found:  # first, so that no tuple ever counts too few
            tuple_.keys += count
        if self.filter is not None:
            self.filter.add_many(b"".join(keys))
        self.taken.update(zip(keys, cells, strict=True))

    def raise_bound(self, tuple_: Tuple, bound: Bound) -> None:
        """A key of the tuple is this good."""
        if bound > tuple_.best:
            tuple_.best = bound
        if tuple_.told is None or bound > tuple_.told:
            self.dirty = True

    def keys_of(self, patterns: Iterable[Pattern], cell: int) -> list[bytes]:
        """The keys that `place` gave for these patterns of a cell."""
        found = []
        for mask, key in patterns:
            for tuple_ in self.by_mask.get(mask, ()):
                octets = (key | tuple_.number).to_bytes(self._size, "big")
                if self.taken.get(octets) == cell:
                    found.append(octets)
                    break
        return found

    def release(self, key: bytes) -> None:
        """Forget a key that is no longer in the hash."""
        if self.taken.pop(key, None) is None:
            return
        if self.filter is not None:
            self.filter.remove(key)
        self._give_back(self._by_number[int.from_bytes(key[-2:], "big")])

    def _give_back(self, tuple_: Tuple) -> None:
        tuple_.keys -= 1
        if not tuple_.keys:
            tuple_.best = (0, 0)

    @contextmanager
    def reserved(self, masks: Iterable[int]) -> Iterator[list[Tuple]]:
        """The first tuple of each mask, made if need be, for the keys that are taken in the block:
        in there each counts one more key than it has, or the next mask's tuple could take its
        place while it is empty. Raises DirectoryFull."""
        found: list[Tuple] = []
        try:
            for mask in masks:
                known = self.by_mask.get(mask)
                tuple_ = known[0] if known else self._new(mask)
                tuple_.keys += 1
                found.append(tuple_)
            yield found
        finally:
            for tuple_ in found:
                self._give_back(tuple_)

    def _new(self, mask: int) -> Tuple:
        if len(self._by_number) >= self.kind.tuples:
            self._drop_empty()
        if len(self._by_number) >= self.kind.tuples:
            raise DirectoryFull(self.kind.name)
        number = self._numbers.pop() if self._numbers else self._next_number
        if number == self._next_number:
            if number > MOST_NUMBERS:
                raise DirectoryFull(self.kind.name)
            self._next_number += 1
        made = Tuple(mask, number)
        self.by_mask.setdefault(mask, []).append(made)
        self._by_number[number] = made
        self.dirty = True
        return made

    # ---- versions ---------------------------------------------------------------------------

    @property
    def cell(self) -> int:
        """What cell 0 must say: the version, and in its upper bits whether packets must read it."""
        crowded = len(self._by_number) > len(self.kind.fixed)
        return self.slot << 24 | self.slot | crowded << 48

    @property
    def published(self) -> bytes:
        """The version in force."""
        at = self.slot * self._stride
        return bytes(self._memory[at : at + self._stride])

    def publish(self) -> Retired:
        """Write the tuples into a free slot, which becomes `slot`; the caller makes cell 0 lead to
        it, and gives what it retires back after a grace period. Raises NoVersion."""
        if not self._free_slots:
            raise NoVersion
        self._drop_empty()
        retired = Retired(self.slot, tuple(self._dropped))
        self._dropped = []
        self.slot = self._free_slots.pop()
        order = sorted(self._by_number.values(), key=lambda t: t.best, reverse=True)
        at = self.slot * self._stride
        self._memory[at : at + self._stride] = self._octets(order)
        for tuple_ in order:
            tuple_.told = tuple_.best
        self.dirty = False
        return retired

    def reclaim(self, retired: Retired) -> None:
        """After a grace period: the retired slot and numbers can be used again."""
        if retired.version:
            self._free_slots.append(retired.version)
        self._numbers.extend(retired.numbers)

    def _drop_empty(self) -> None:
        """Leave tuples without keys out of the next version. Their numbers wait for a grace period
        after that, since readers of the published one still look under them."""
        fixed = len(self.kind.fixed)
        for tuple_ in [t for t in self._by_number.values() if not t.keys and t.number > fixed]:
            del self._by_number[tuple_.number]
            same = self.by_mask[tuple_.mask]
            same.remove(tuple_)
            if not same:
                del self.by_mask[tuple_.mask]
            if tuple_.told is None:
                self._numbers.append(tuple_.number)
            else:
                self._dropped.append(tuple_.number)
                self.dirty = True

    def _octets(self, order: list[Tuple]) -> bytes:
        parts = [_HEAD.pack(len(order), 0)]
        pad = bytes(self.words * 8 - self._size)
        for tuple_ in order:
            parts.append(_BOUND.pack(*tuple_.best))
            parts.append(tuple_.mask.to_bytes(self._size, "big") + pad)
            parts.append((tuple_.number.to_bytes(self._size, "big") + pad)[-8:])
        octets = b"".join(parts)
        return octets + bytes(self._stride - len(octets))

    def _read(self) -> None:
        """The tuples of the published version, without keys yet."""
        if not self.slot:
            return
        at = self.slot * self._stride
        count, _ = _HEAD.unpack_from(self._memory, at)
        at += _HEAD.size
        for _ in range(count):
            bound = _BOUND.unpack_from(self._memory, at)
            at += _BOUND.size
            mask = int.from_bytes(self._memory[at : at + self._size], "big")
            at += self.words * 8
            # The number stands in the key's last two octets; what follows in the word is padding.
            end = at + 8 - (self.words * 8 - self._size)
            number = int.from_bytes(self._memory[end - 2 : end], "big")
            at += 8
            if number in self._by_number:  # a fixed one
                self._by_number[number].best = self._by_number[number].told = bound
                continue
            tuple_ = Tuple(mask, number, 0, bound, bound)
            self._by_number[number] = tuple_
            self.by_mask.setdefault(mask, []).append(tuple_)
            self._next_number = max(self._next_number, number + 1)
        used = set(self._by_number)
        self._numbers = [n for n in range(1, self._next_number) if n not in used]

    def adopt(self, key: bytes, cell: int, bound: Bound) -> bool:
        """Note a key found in the hash; False where its tuple is not in the directory."""
        tuple_ = self._by_number.get(int.from_bytes(key[-2:], "big"))
        if tuple_ is None:
            return False
        self.taken[key] = cell
        tuple_.keys += 1
        if bound > tuple_.best:
            tuple_.best = bound
        return True
