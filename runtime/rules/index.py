"""The keys of a rule kind in memory that packets read: an index of tags, and the entries.

See `RuleKind` for how they lie there. Each change is one store that packets may see: of a key that
comes first its entry, then `past` of each bucket that it goes by, its number, its tag; of one that
goes first its tag. Nothing ever moves. What a packet finds that looks while keys come and go leads
to cells that are empty for it. A number whose key went is taken again after a grace period, or a
packet might compare a key of which half is another's.

The fewer buckets, the fewer cache lines and pages keys lie in: while they are few, they lie in one
of the small indexes. Before a key comes that is too much, all of them are put into a larger one,
to which cell 0 then leads. What packets still read in the one that was left leads to cells that
are theirs, or empty, until the grace period is over after which their numbers are taken again.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from math import inf
from typing import Any

import numpy as np
import numpy.typing as npt

from ...lang.contract.manifest.manifest import BUCKET_KEYS, BUCKET_SIZE, MOST_BUCKETS, RuleKind
from .key_hash import Hashes, KeyHash, hashes_of
from .matches import Bound
from .pools import NoPlace, Pool
from .stored import ENTRIES, INDEX_BITS, INDEX_FIRST, INDEX_SHIFT

Array = npt.NDArray[Any]

_PAST, _NUMBER = 6, 8  # bytes of a bucket in front of `past` and `number`
_FULL = 4  # keys a bucket, on average, up to which an index is used
_RANK, _TAIL = struct.Struct("<Q"), struct.Struct("<QII")


class Index:
    """Of one kind, over its maps' memory."""

    def __init__(
        self, kind: RuleKind, index: memoryview, entries: memoryview, stride: int, cells: memoryview
    ) -> None:
        """`index`, `entries` and `cells`: the maps' bytes; `stride`: of an entry."""
        self.kind, self._size = kind, kind.key_size
        self._whole, self._entries, self._stride = index, entries, stride
        self._root = cells[:8].cast("Q")
        self._count = 0
        shift = self._root[0] >> INDEX_SHIFT & INDEX_BITS
        self._use(64 - shift if shift else kind.index_logs[0])
        self._rank_at = -(-kind.key_size // 8) * 8
        self._pad = bytes(self._rank_at - kind.key_size)
        self._long = kind.entry_size > self._rank_at + 8
        #: Of kinds with ranges: which entries of the cells' own numbers are taken, and the others.
        self._first = bytearray(kind.cells) if kind.has_ranges else None
        self._hash = KeyHash(kind.key_size).of
        self._more = Pool(kind.name, "keys", kind.entries - kind.cells + 1)
        self._gone: list[int] = []  # of the others, since the last grace period

    def close(self) -> None:
        for view in (self._pasts, self._numbers, self._index, self._root):
            view.release()

    # ---- which index ------------------------------------------------------------------------

    def _use(self, log: int) -> None:
        """The index of 2^log buckets."""
        buckets, at = 1 << log, self.kind.index_at(log)
        first = (1 << at & ~1) * BUCKET_SIZE
        spare = self.kind.spare_buckets
        self._index = self._whole[first : first + (buckets + spare) * BUCKET_SIZE]
        self._pasts, self._numbers = self._index.cast("H"), self._index.cast("I")
        self._shift = 64 - log
        self._mask, self._most = (-1, spare) if spare else (buckets - 1, min(MOST_BUCKETS, buckets))
        self._log, self._at = log, at
        self._limit = _FULL * buckets if log < self.kind.index_logs[-1] else inf

    @property
    def root(self) -> int:
        if not self.kind.small_indexes:
            return 0
        return self._shift << INDEX_SHIFT | self._at << INDEX_FIRST

    def _make_room(self, more: int) -> None:
        """For so many keys more, in the smallest index that takes them."""
        count = self._count + more
        if count > self._limit and not self._grow(count):
            self._limit = inf
        self._count = count
        if self.root and not self._root[0] >> INDEX_SHIFT:
            self._show()

    def _grow(self, count: int) -> bool:
        """Whether a larger index has all keys now, and room for so many."""
        *_, largest = logs = self.kind.index_logs
        fits = (n for n in logs if n > self._log and (_FULL << n >= count or n == largest))
        return any(self._change(n) for n in fits)

    def _show(self) -> None:
        """Packets look in this index from here on."""
        self._root[0] = self._root[0] & (1 << INDEX_SHIFT) - 1 | self.root

    def _change(self, log: int) -> bool:
        """Put all keys into another index, which nobody reads. If they were chosen to meet there,
        they stay where they are."""
        tags, _, numbers = self._columns()
        numbers, before = numbers[tags > 0], self._log
        hashes = hashes_of(np.ascontiguousarray(self._rows()[numbers, : self._size]))
        try:
            self._use(log)
            np.frombuffer(self._index, np.uint8)[:] = 0  # of a writer that died here
            met = self._lead_to(numbers, hashes)
        except BaseException:
            self._use(before)
            raise
        if len(met):
            self._use(before)
            return False
        self._show()
        return True

    # ---- one key ----------------------------------------------------------------------------

    def _way(self, hash_: int) -> Iterator[int]:
        """The buckets that a key may be in, in their order."""
        first = hash_ >> self._shift
        for i in range(self._most):
            yield (first + (i & ~1) ^ i & 1) & self._mask

    def add(self, key: bytes, hash_: int, cell: int, bound: Bound) -> bool:
        self._make_room(1)
        added = False
        try:
            added = self._add(key, hash_, cell, bound)
        except NoPlace:
            if not self._grow(self._count):
                raise
            added = self._add(key, hash_, cell, bound)
        finally:
            self._count -= not added
        return added

    def _add(self, key: bytes, hash_: int, cell: int, bound: Bound) -> bool:
        tag, index, passed, free = _tag(hash_), self._index, [], None
        behind = True  # there may be keys further on
        for bucket in self._way(hash_):
            at = bucket * BUCKET_SIZE
            tags = bytes(index[at : at + BUCKET_KEYS])
            if behind:
                if self._leads_there(bucket, tags, tag, key) is not None:
                    return False
                behind = self._pasts[(at + _PAST) // 2] > 0
            if free is None:
                n = tags.find(0)
                if n >= 0:
                    free = bucket, n
                else:
                    passed.append(bucket)
            if free is not None and not behind:
                break
        if free is None:
            raise NoPlace(self.kind.name, "keys")
        bucket, n = free
        number = self._take(cell)
        self._write(number, key, cell, bound)
        for each in passed:
            self._pasts[(each * BUCKET_SIZE + _PAST) // 2] += 1
        self._numbers[(bucket * BUCKET_SIZE + _NUMBER) // 4 + n] = number
        index[bucket * BUCKET_SIZE + n] = tag
        return True

    def cell_of(self, key: bytes) -> int | None:
        found = self._find(key, self._hash(key))
        return None if found is None else self._cell(found[2])

    def remove(self, keys: Iterable[bytes]) -> None:
        for key in keys:
            hash_ = self._hash(key)
            found = self._find(key, hash_)
            if found is None:
                continue
            in_, n, number = found
            self._index[in_ * BUCKET_SIZE + n] = 0
            for bucket in self._way(hash_):
                if bucket == in_:
                    break
                self._pasts[(bucket * BUCKET_SIZE + _PAST) // 2] -= 1
            self._give(number)
            self._count -= 1

    def _find(self, key: bytes, hash_: int) -> tuple[int, int, int] | None:
        """The bucket that leads to the key, where in it, and the number of the entry."""
        tag = _tag(hash_)
        for bucket in self._way(hash_):
            at = bucket * BUCKET_SIZE
            n = self._leads_there(bucket, bytes(self._index[at : at + BUCKET_KEYS]), tag, key)
            if n is not None:
                return bucket, n, self._numbers[(at + _NUMBER) // 4 + n]
            if not self._pasts[(at + _PAST) // 2]:
                return None
        return None

    def _leads_there(self, bucket: int, tags: bytes, tag: int, key: bytes) -> int | None:
        """Where in a bucket the key is."""
        n = tags.find(tag)
        while n >= 0:
            at = self._numbers[(bucket * BUCKET_SIZE + _NUMBER) // 4 + n] * self._stride
            if self._entries[at : at + self._size] == key:
                return n
            n = tags.find(tag, n + 1)
        return None

    # ---- entries ----------------------------------------------------------------------------

    def _write(self, number: int, key: bytes, cell: int, bound: Bound) -> None:
        priority, rank = bound
        tail = _TAIL.pack(rank, priority, cell) if self._long else _RANK.pack(rank)
        at = number * self._stride
        self._entries[at : at + self._rank_at + len(tail)] = key + self._pad + tail

    def _cell(self, number: int) -> int:
        if number < self.kind.cells:
            return number
        found: int = _TAIL.unpack_from(self._entries, number * self._stride + self._rank_at)[2]
        return found

    def _take(self, cell: int) -> int:
        """A number for another key of the cell's rule. Raises NoRoom."""
        if self._first is None:
            return cell
        if not self._first[cell]:
            self._first[cell] = 1
            return cell
        return self.kind.cells - 1 + self._more.take()

    def _give(self, number: int) -> None:
        """A packet may be comparing its key: it is taken again after a grace period."""
        if self._first is not None and number < self.kind.cells:
            self._first[number] = 0
        elif number >= self.kind.cells:
            self._gone.append(number - self.kind.cells + 1)

    def reclaim(self) -> None:
        self._more.give_many(self._gone)
        self._gone = []

    # ---- many -------------------------------------------------------------------------------

    def _columns(self) -> tuple[Array, Array, Array]:
        """Tags, `past` and numbers: [bucket, …]."""
        tags = np.frombuffer(self._index, np.uint8).reshape(-1, BUCKET_SIZE)
        words = tags.view("<u4")
        return tags[:, :BUCKET_KEYS], tags.view("<u2")[:, _PAST // 2], words[:, _NUMBER // 4 :]

    def _rows(self) -> Array:
        return np.frombuffer(self._entries, np.uint8).reshape(-1, self._stride)

    def _bucket(self, hashes: Hashes, i: int) -> Array:
        first = (hashes >> np.uint64(self._shift)).astype(np.int64)
        return (first + (i & ~1) ^ i & 1) & self._mask

    def add_many(
        self, keys: Array, hashes: Hashes, entries: Array, beside: ThreadPoolExecutor | None = None
    ) -> list[Future[int]]:
        if not len(keys):
            return []
        number = self._take_many(entries["cell"].astype(np.int64))
        self._make_room(len(keys))
        self._write_many(number, keys, entries)
        left = self._lead_to(number, hashes)
        while len(left) and self._grow(self._count):
            left = left[self._lead_to(number[left], hashes[left])]
        for each in number[left].tolist():
            self._give(each)
        self._count -= len(left)
        if len(left):
            raise NoPlace(self.kind.name, "keys")
        return []

    def _lead_to(self, number: Array, hashes: Hashes) -> Array:
        """Let the keys of these hashes lead to the entries of these numbers. Returns the rows of
        those of which all buckets are full."""
        tags, pasts, numbers = self._columns()
        left = np.arange(len(number))
        for i in range(self._most):
            bucket = self._bucket(hashes[left], i)
            free = tags[bucket] == 0
            turn = _turns(bucket)
            fits = turn < free.sum(axis=1)
            there, places = bucket[fits], np.argsort(~free[fits], axis=1, kind="stable")
            n = places[np.arange(len(there)), turn[fits]]
            rows = left[fits]
            numbers[there, n] = number[rows]
            tags[there, n] = _tags(hashes[rows])
            left, on = left[~fits], bucket[~fits]
            if not len(left):
                break
            full, counts = np.unique(on, return_counts=True)
            pasts[full] += counts.astype(np.uint16)
        for i in range(self._most if len(left) else 0):  # as if these had never come
            full, counts = np.unique(self._bucket(hashes[left], i), return_counts=True)
            pasts[full] -= counts.astype(np.uint16)
        return left

    def _take_many(self, cells: Array) -> Array:
        """A number for each key of a cell's rule. Raises NoRoom."""
        if self._first is None:
            return cells
        first, further = np.frombuffer(self._first, np.uint8), np.ones(len(cells), np.bool_)
        further[np.unique(cells, return_index=True)[1]] = False
        further |= first[cells] > 0
        more = self._more.take_many(int(further.sum())).astype(np.int64)
        numbers = cells.copy()
        numbers[further] = self.kind.cells - 1 + more
        first[cells] = 1
        return numbers

    def _write_many(self, numbers: Array, keys: Array, entries: Array) -> None:
        rows = np.zeros((len(keys), self._stride), np.uint8)
        rows[:, : self._size] = keys
        rows[:, self._rank_at : self._rank_at + 8] = _bytes(entries["rank"])
        if self._long:
            rows[:, self._rank_at + 8 : self._rank_at + 12] = _bytes(entries["priority"])
            rows[:, self._rank_at + 12 : self._rank_at + 16] = _bytes(entries["cell"])
        self._rows()[numbers] = rows

    def has_any(self, keys: Array, hashes: Hashes) -> bool:
        tags, pasts, numbers = self._columns()
        rows, left = self._rows()[:, : self._size], np.arange(len(keys))
        for i in range(self._most):
            bucket = self._bucket(hashes[left], i)
            row, n = np.nonzero(tags[bucket] == _tags(hashes[left])[:, None])
            if (rows[numbers[bucket[row], n]] == keys[left[row]]).all(axis=1).any():
                return True
            left = left[pasts[bucket] > 0]
            if not len(left):
                return False
        return False

    def saved(self) -> dict[str, Array]:
        tags, pasts, numbers = self._columns()
        taken = numbers[tags > 0]
        rows = self._rows()[taken, : self.kind.entry_size]
        buckets = np.frombuffer(self._index, np.uint8).reshape(-1, BUCKET_SIZE)
        filled = np.flatnonzero(tags.any(axis=1) | (pasts > 0)).astype("<u4")
        return {"filled": filled, "buckets": buckets[filled], "numbers": taken, "taken": rows}

    def restore(self, found: Mapping[str, Array]) -> None:
        taken = found["taken"].reshape(-1, self.kind.entry_size)
        self._rows()[found["numbers"], : self.kind.entry_size] = taken
        buckets = np.frombuffer(self._index, np.uint8).reshape(-1, BUCKET_SIZE)
        buckets[found["filled"]] = found["buckets"].reshape(-1, BUCKET_SIZE)

    def read_all(self) -> tuple[Array, Array]:
        tags, _, numbers = self._columns()
        return self._read(numbers[tags > 0])

    def _read(self, numbers: Array) -> tuple[Array, Array]:
        rows = self._rows()[numbers]
        entries = np.zeros(len(rows), ENTRIES)
        entries["cell"] = numbers
        entries["rank"] = _column(rows, self._rank_at, "<u8")
        if self._long:
            entries["priority"] = _column(rows, self._rank_at + 8, "<u4")
            further = numbers >= self.kind.cells
            entries["cell"][further] = _column(rows, self._rank_at + 12, "<u4")[further]
        return np.ascontiguousarray(rows[:, : self._size]), entries

    # ---- what another writer left -----------------------------------------------------------

    def adopt(self, died: bool) -> tuple[Array, Array]:
        if died:
            self._repair()
        tags, _, numbers = self._columns()
        taken = numbers[tags > 0].astype(np.int64)
        self._count = len(taken)
        self._more.all_but(taken[taken >= self.kind.cells] - self.kind.cells + 1)
        if self._first is not None:
            np.frombuffer(self._first, np.uint8)[taken[taken < self.kind.cells]] = 1
        return self._read(taken)

    def _repair(self) -> None:
        """Let no tag lead to another key than its own, and `past` be as many as went past."""
        tags, pasts, numbers = self._columns()
        bucket, n = np.nonzero(tags)
        number = numbers[bucket, n]
        inside = number < self.kind.entries
        tags[bucket[~inside], n[~inside]] = 0
        bucket, n, number = bucket[inside], n[inside], number[inside]
        hashes = hashes_of(np.ascontiguousarray(self._rows()[number, : self._size]))
        left = np.flatnonzero(tags[bucket, n] == _tags(hashes))
        passed, found = np.zeros(len(pasts), np.int64), np.zeros(len(bucket), np.bool_)
        ways = list[tuple[Array, Array]]()
        for i in range(self._most):
            at = self._bucket(hashes[left], i)
            here = at == bucket[left]
            found[left[here]] = True
            left = left[~here]
            ways.append((left, at[~here]))
        for rows, at in ways:
            np.add.at(passed, at[found[rows]], 1)
        tags[bucket[~found], n[~found]] = 0
        pasts[:] = passed


def _tag(hash_: int) -> int:
    return hash_ >> 8 & 0xFF or 1


def _tags(hashes: Hashes) -> Array:
    tags = (hashes >> np.uint64(8)).astype(np.uint8)
    tags[tags == 0] = 1
    return tags


def _turns(groups: Array) -> Array:
    """Of each row how many before it are of its group."""
    order = np.argsort(groups, kind="stable")
    ordered = groups[order]
    starts = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
    sizes = np.diff(starts, append=len(groups))
    turns = np.empty(len(groups), np.int64)
    turns[order] = np.arange(len(groups)) - np.repeat(starts, sizes)
    return turns


def _bytes(column: Array) -> Array:
    return np.ascontiguousarray(column).view(np.uint8).reshape(len(column), column.itemsize)


def _column(rows: Array, at: int, type_: str) -> Array:
    size = np.dtype(type_).itemsize
    return np.ascontiguousarray(rows[:, at : at + size]).view(type_)[:, 0]
