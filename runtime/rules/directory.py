"""Tuple space: under which masks the data path looks, and which keys lie under each.

A *tuple* is a mask and a number, which stands in the last two bytes of its keys; equal keys of
several rules lie in tuples of the same mask. The data path reads the tuples from a *directory*, in
falling order of the best that each may hold. A directory is never written in place: the next
version takes a free slot of NAME_tuples, and cell 0 leads to it. Packets of any epoch may meet a
newer version: it has every tuple that holds a key, and bounds that no key exceeds.

Which keys are taken the entries say: between transactions there are just those of live rules, and
of rules that wait for a grace period to be taken out.

Where a kind's masks are known beforehand (`RuleKind.fixed`), packets look under their tuples
without asking; those stay in every version. While there are others packets must ask (`cell`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ...lang.contract.manifest.manifest import RuleKind
from .bloom import Filter
from .entries import Entries
from .key_hash import Hashes, KeyHash
from .matches import Bound, Pattern
from .pools import NoPlace, NoRoom
from .stored import ENTRIES
from .vectors import Vectors
from .versions import Tuple, packed, tuples_in

Array = npt.NDArray[Any]

MOST_NUMBERS = 0xFFFF


class DirectoryFull(Exception):
    """No room for another tuple, whatever is waited for."""


class NoVersion(Exception):
    """Every slot but the current one may still be read: a grace period frees them."""


class Retired(NamedTuple):
    """What nobody reads any more after a grace period."""

    version: int
    numbers: tuple[int, ...]


class Directory:
    """The tuples of one rule kind over its keys, `entries`. `versions` is the map's memory, `slot`
    the published version."""

    def __init__(
        self,
        kind: RuleKind,
        versions: memoryview,
        stride: int,
        slot: int,
        entries: Entries,
        filter_: Filter | None = None,
        vectors: Vectors | None = None,
    ) -> None:
        self.kind, self.entries, self.filter, self.vectors = kind, entries, filter_, vectors
        self._memory, self._stride = versions, stride
        self._hash = KeyHash(kind.key_size).of
        self._size = kind.key_size
        self._since = versions[:8].cast("Q")
        self.slot = slot
        self.by_mask: dict[int, list[Tuple]] = {}
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

    def close(self) -> None:
        self._since.release()

    # ---- keys -------------------------------------------------------------------------------

    def insert(self, pattern: Pattern, cell: int, bound: Bound, staged: list[bytes]) -> None:
        """A key for the pattern, with the number of a tuple in which it is free, among the entries.
        Appends it to `staged` before it is there, so that whoever undoes this misses none. Raises
        DirectoryFull, NoRoom, BpfError."""
        mask, key = pattern
        for tuple_ in self.by_mask.get(mask, ()):
            if self._put(tuple_, key, cell, bound, staged):
                break
        else:
            tuple_ = self._new(mask)
            if not self._put(tuple_, key, cell, bound, staged):
                raise NoRoom(self.kind.name, "keys")
        if bound > tuple_.best:
            self.raise_bound(tuple_, bound)

    def _put(self, tuple_: Tuple, key: int, cell: int, bound: Bound, staged: list[bytes]) -> bool:
        """Whether the key was free under the tuple and had a place, and is an entry now."""
        raw = (key | tuple_.number).to_bytes(self._size, "big")
        hash_ = self._hash(raw)
        if self.filter is not None:
            self.filter.add(hash_)
        tuple_.keys += 1
        staged.append(raw)
        try:
            if self.entries.add(raw, hash_, cell, bound):
                if self.vectors is not None:
                    self._add_bits(raw, tuple_.mask, cell, bound)
                return True
        except NoPlace:
            pass  # with another tuple's number it has another hash
        staged.pop()
        self.release(raw)
        return False

    def _add_bits(self, key: bytes, mask: int, cell: int, bound: Bound) -> None:
        assert self.vectors is not None
        row, under = (np.frombuffer(b, np.uint8)[None] for b in (key, self._bytes_of(mask)))
        self.vectors.add(row, under, np.array([(cell, *bound)], ENTRIES))

    def _bytes_of(self, mask: int) -> bytes:
        return mask.to_bytes(self._size, "big")

    def add_many(
        self, keys: Array, masks: Array, hashes: Hashes, entries: Array,
        beside: ThreadPoolExecutor | None,
    ) -> list[Future[int]]:  # fmt: skip
        """Keys that `place_many` noted, and their masks, [row, byte], as `Entries.add_many`."""
        found = self.entries.add_many(keys, hashes, entries, beside)
        if self.vectors is not None:
            self.vectors.add(keys, masks, entries)
        return found

    def remove(self, keys: list[bytes]) -> None:
        """Keys that are there; `release` them."""
        self.entries.remove(keys)
        if self.vectors is not None:
            self.vectors.remove(keys)

    def reclaim_keys(self) -> None:
        """After a grace period: what keys took that went before it can be used again."""
        self.entries.reclaim()
        if self.vectors is not None:
            self.vectors.reclaim()
            if not self.vectors.whole and self._key_count <= self.vectors.room // 2:
                self.fill_vectors()

    @property
    def _key_count(self) -> int:
        return sum(tuple_.keys for tuple_ in self._by_number.values())

    def fill_vectors(self) -> None:
        """With all keys, as far as there is room, after a grace period in which no packet asked
        them."""
        if self.vectors is None or self.vectors.whole or self._key_count > self.vectors.room:
            return
        keys, entries = self.entries.read_all()
        numbers = keys[:, -2].astype(np.int64) << 8 | keys[:, -1]
        masks = np.zeros((MOST_NUMBERS + 1, self._size), np.uint8)
        for number, tuple_ in self._by_number.items():
            masks[number] = np.frombuffer(self._bytes_of(tuple_.mask), np.uint8)
        self.vectors.fill(keys, masks[numbers], entries)
        self.vectors.compare(len(self._by_number))

    def are_free(self, keys: Array, hashes: Hashes) -> bool:
        """Whether none of these keys, [row, byte], is among the entries."""
        seen = slice(None) if self.filter is None else self.filter.has(hashes)
        return not self.entries.has_any(keys[seen], hashes[seen])

    def place_many(self, hashes: Hashes, counts: Iterable[tuple[Tuple, int]]) -> None:
        """Note keys that are free and about to be entries: `counts` of them under each tuple.
        `raise_bound` for their tuples."""
        for tuple_, count in counts:  # first, so that no tuple ever counts too few
            tuple_.keys += count
        if self.filter is not None:
            self.filter.add_many(hashes)

    def raise_bound(self, tuple_: Tuple, bound: Bound) -> None:
        """A key of the tuple is this good."""
        if bound > tuple_.best:
            tuple_.best = bound
        if tuple_.published is None or bound > tuple_.published:
            self.dirty = True

    def keys_of(self, patterns: Iterable[Pattern], cell: int) -> list[bytes]:
        """The keys that `insert` made for these patterns of a cell."""
        found = []
        for mask, key in patterns:
            same = self.by_mask.get(mask, ())
            for tuple_ in same:
                raw = (key | tuple_.number).to_bytes(self._size, "big")
                if len(same) == 1 or self.leads(raw, cell):
                    found.append(raw)
                    break
        return found

    def leads(self, key: bytes, cell: int) -> bool:
        """Whether the key is there, for that cell."""
        return self.entries.cell_of(key) == cell

    def release(self, key: bytes) -> None:
        """Forget a key that is no longer there."""
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
    def since(self) -> int:
        """The last epoch at which keys were added or removed, which invalidates older lines of the
        flow cache. It is stored before that epoch is committed."""
        return self._since[0]

    @since.setter
    def since(self, epoch: int) -> None:
        self._since[0] = epoch

    @property
    def cell(self) -> int:
        """What cell 0 must say: the version, whether packets must read it, where the keys are."""
        crowded = len(self._by_number) > len(self.kind.fixed)
        return self.slot << 24 | self.slot | crowded << 48 | self.entries.root

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
        self._memory[at : at + self._stride] = packed(self.kind, order, self._stride)
        for tuple_ in order:
            tuple_.published = tuple_.best
        if self.vectors is not None:
            self.vectors.compare(len(order))
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
            if tuple_.published is None:
                self._numbers.append(tuple_.number)
            else:
                self._dropped.append(tuple_.number)
                self.dirty = True

    def _read(self) -> None:
        """The tuples of the published version, without keys yet."""
        for tuple_ in tuples_in(self.kind, self.published) if self.slot else ():
            number = tuple_.number
            if number in self._by_number:  # a fixed one
                self._by_number[number].best = self._by_number[number].published = tuple_.best
                continue
            self._by_number[number] = tuple_
            self.by_mask.setdefault(tuple_.mask, []).append(tuple_)
            self._next_number = max(self._next_number, number + 1)
        used = set(self._by_number)
        self._numbers = [n for n in range(1, self._next_number) if n not in used]

    def known(self, numbers: Array) -> Array:
        """Of each tuple number whether the directory has it."""
        there = np.zeros(MOST_NUMBERS + 1, np.bool_)
        there[list(self._by_number)] = True
        return there[numbers]

    def adopt(self, numbers: Array, priorities: Array, ranks: Array) -> None:
        """Note keys that were found: their tuples, which are `known`, and bounds."""
        counts = np.bincount(numbers, minlength=MOST_NUMBERS + 1)
        best = bests(numbers, priorities, ranks, MOST_NUMBERS + 1)
        for number, tuple_ in self._by_number.items():
            tuple_.keys += int(counts[number])
            tuple_.best = max(tuple_.best, best(number))


def bests(group: Array, priorities: Array, ranks: Array, count: int) -> Callable[[int], Bound]:
    """The best bound in each of `count` groups; (0, 0) where there is none."""
    first, second = np.zeros(count, np.uint64), np.zeros(count, np.uint64)
    np.maximum.at(first, group, priorities.astype(np.uint64))
    top = first[group] == priorities
    np.maximum.at(second, group[top], ranks[top].astype(np.uint64))
    return lambda number: (int(first[number]), int(second[number]))


def unique(hashes: Hashes) -> bool:
    """Whether no two keys of these hashes are equal; once in a while only their hashes are."""
    ordered = np.sort(hashes)
    return not (ordered[1:] == ordered[:-1]).any()
