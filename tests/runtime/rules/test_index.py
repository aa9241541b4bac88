"""The index of keys: against a dictionary, looked at as packets do after each store, and killed."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import count
from random import Random
from typing import Any

import numpy as np
import pytest
from helioc.lang.contract.manifest.manifest import BUCKET_SIZE, MOST_BUCKETS, RuleKind
from helioc.runtime.rules.index import Index
from helioc.runtime.rules.key_hash import KeyHash, hashes_of
from helioc.runtime.rules.pools import NoRoom
from helioc.runtime.rules.stored import ENTRIES
from linx_manifest import FAR, PDR

EXACT = replace(FAR, key_size=12, cells=25, entries=25, buckets=4, match=PDR.match[:1])
RANGES = replace(PDR, cells=25, entries=45, buckets=8)
Bound = tuple[int, int]
Wanted = dict[bytes, tuple[int, Bound]]


class Killed(BaseException):
    pass


class Memory:
    """An index and its entries. After each store `check` looks at them; the `left`th kills."""

    def __init__(self, rule: RuleKind) -> None:
        self.kind = rule
        self.words = -(-rule.key_size // 8)
        self.index = bytearray(rule.buckets * BUCKET_SIZE)
        self.entries = bytearray(rule.entries * rule.entry_size)

    def open(self) -> Index:
        entries = memoryview(self.entries)
        return Index(self.kind, memoryview(self.index), entries, self.kind.entry_size)

    def look(self, key: bytes) -> int | None:
        """The number of a key's entry, as a packet finds it: by the manifest's words."""
        hash_ = KeyHash(self.kind.key_size).of(key)
        tag, first = hash_ >> 8 & 0xFF or 1, hash_ >> 65 - self.kind.buckets.bit_length()
        for i in range(min(MOST_BUCKETS, self.kind.buckets)):
            at = ((first + (i & ~1)) ^ (i & 1)) % self.kind.buckets * BUCKET_SIZE
            *tags, past = struct.unpack_from("<6BH", self.index, at)
            numbers = struct.unpack_from("<6I", self.index, at + 8)
            for found, number in zip(tags, numbers, strict=True):
                start = number * self.kind.entry_size
                if found == tag and self.entries[start : start + len(key)] == key:
                    return int(number)
            if not past:
                return None
        return None

    def cell(self, number: int) -> tuple[int, Bound]:
        at = number * self.kind.entry_size + 8 * self.words
        (rank,), priority, cell = struct.unpack_from("<Q", self.entries, at), 0, number
        if self.kind.entry_size > 8 * self.words + 8:
            priority, own = struct.unpack_from("<II", self.entries, at + 8)
            cell = own if number >= self.kind.cells else number
        return cell, (priority, rank)


def check(memory: Memory, wanted: Wanted, absent: set[bytes]) -> None:
    for key, meant in wanted.items():
        number = memory.look(key)
        assert number is not None and memory.cell(number) == meant
    assert not any(memory.look(key) for key in absent)


def key_of(rule: RuleKind, number: int) -> bytes:
    return Random(number).randbytes(rule.key_size)


@pytest.mark.parametrize("rule", [EXACT, RANGES], ids=["exact", "ranges"])
@pytest.mark.parametrize("seed", range(30))
def test_it_agrees_with_a_dictionary(rule: RuleKind, seed: int) -> None:
    """One by one and by the column, until it is full; opened again by others."""
    random, memory, wanted = Random(seed), Memory(rule), Wanted()
    index, known, ranged = memory.open(), [key_of(rule, n) for n in range(60)], rule.has_ranges
    for _ in range(60):
        free = [key for key in known if key not in wanted]
        used = {cell for cell, _ in wanted.values()}
        cells = [c for c in range(1, rule.cells) if ranged or c not in used]
        random.shuffle(cells)
        match random.randrange(5):
            case 0 | 1 if cells and free:
                add(index, wanted, random.choice(free), cells[0], random)
            case 2:
                some = random.sample(free, min(len(free), random.randint(1, 9), len(cells)))
                add_many(index, wanted, some, cells, random)
            case 3:
                gone = random.sample(sorted(wanted), random.randint(0, len(wanted)))
                index.remove([*gone, *free[:3]])
                wanted = {key: meant for key, meant in wanted.items() if key not in gone}
            case _:
                index = memory.open()
                index.adopt(died=random.random() < 0.5)
        check(memory, wanted, set(known) - set(wanted))
        agrees(index, wanted, known)


def add(index: Index, wanted: Wanted, key: bytes, cell: int, random: Random) -> None:
    bound = random.randrange(1 << 32) if index.kind.priority else 0, random.randrange(1 << 63)
    hash_ = KeyHash(len(key)).of(key)
    try:
        assert index.add(key, hash_, cell, bound)
    except NoRoom:  # of buckets, or of numbers for further keys
        assert len(wanted) == 6 * index.kind.buckets or index.kind.has_ranges
    else:
        assert not index.add(key, hash_, cell, bound)
        wanted[key] = cell, bound


def add_many(
    index: Index, wanted: Wanted, keys: list[bytes], cells: list[int], random: Random
) -> None:
    entries = np.zeros(len(keys), ENTRIES)
    entries["cell"] = cells[: len(keys)] if keys else []
    entries["rank"] = [random.randrange(1 << 63) for _ in keys]
    data = np.frombuffer(b"".join(keys), np.uint8).reshape(len(keys), index.kind.key_size)
    try:
        index.add_many(data, hashes_of(data), entries)
    except NoRoom:
        index.remove(keys)  # as its undo does
        assert len(wanted) + len(keys) > 6 * index.kind.buckets or index.kind.has_ranges
    else:
        meant = ((int(e["cell"]), (0, int(e["rank"]))) for e in entries)
        wanted |= dict(zip(keys, meant, strict=True))


def agrees(index: Index, wanted: Wanted, known: list[bytes]) -> None:
    keys, entries = index.read_all()
    found = {k.tobytes(): (int(e["cell"]), (int(e["priority"]), int(e["rank"])))
             for k, e in zip(keys, entries, strict=True)}  # fmt: skip
    assert found == wanted
    assert all(index.cell_of(key) == cell for key, (cell, _) in wanted.items())
    for key in known:
        data = np.frombuffer(key, np.uint8)[None]
        assert index.has_any(data, hashes_of(data)) == (key in wanted)


class Stores:
    """A memoryview that calls a function after every store."""

    def __init__(self, view: memoryview, after: Any) -> None:
        self._view, self._after = view, after

    def __getitem__(self, at: Any) -> Any:
        return self._view[at]

    def __setitem__(self, at: Any, value: Any) -> None:
        self._view[at] = value
        self._after()


def watched(index: Index, after: Any) -> None:
    for name in ("_index", "_entries", "_pasts", "_numbers"):
        setattr(index, name, Stores(getattr(index, name), after))


def changes(rule: RuleKind) -> Iterator[tuple[list[bytes], bytes, bytes]]:
    """Keys that are there from the beginning, one that comes, one that goes."""
    for seed in range(12):
        random = Random(seed)
        keys = [key_of(rule, 100 * seed + n) for n in range(6 * rule.buckets - 1)]
        keys = keys[: rule.cells - 1]
        yield keys[1:], keys[0], random.choice(keys[1:])


@pytest.mark.parametrize("rule", [EXACT, RANGES], ids=["exact", "ranges"])
def test_packets_find_all_others_at_every_moment(rule: RuleKind) -> None:
    for there, comes, goes in changes(rule):
        memory, wanted = Memory(rule), Wanted()
        index = memory.open()
        for cell, key in enumerate(there, start=1):
            add(index, wanted, key, cell, Random(cell))
        stores = count(1)

        def after_store() -> None:
            next(stores)  # noqa: B023
            check(memory, others, set())  # noqa: B023

        watched(index, after_store)
        others = wanted
        index.add(comes, KeyHash(len(comes)).of(comes), len(there) + 1, (0, 7))
        others = {key: meant for key, meant in wanted.items() if key != goes}
        index.remove([goes])
        assert next(stores) > 4 and memory.look(goes) is None and memory.look(comes)


@pytest.mark.parametrize("rule", [EXACT, RANGES], ids=["exact", "ranges"])
def test_killed_at_any_store_the_next_writer_repairs_it(rule: RuleKind) -> None:
    for there, comes, goes in changes(rule):
        for last in range(12):
            memory, wanted, left = Memory(rule), Wanted(), [last]
            index = memory.open()
            for cell, key in enumerate(there, start=1):
                add(index, wanted, key, cell, Random(cell))

            def after_store() -> None:
                left[0] -= 1  # noqa: B023
                if left[0] < 0:  # noqa: B023
                    raise Killed

            watched(index, after_store)
            with suppress(Killed):
                index.add(comes, KeyHash(len(comes)).of(comes), len(there) + 1, (0, 7))
                index.remove([goes])
            again = memory.open()
            again.adopt(died=True)
            again.remove([comes, goes])  # which lead to no rule
            wanted.pop(goes)
            check(memory, wanted, {comes, goes})
            agrees(again, wanted, [*there, comes])
            pasts = np.frombuffer(memory.index, "<u2").reshape(-1, 16)[:, 3].copy()
            again.adopt(died=True)
            assert (np.frombuffer(memory.index, "<u2").reshape(-1, 16)[:, 3] == pasts).all()
