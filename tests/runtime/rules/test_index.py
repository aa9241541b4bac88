"""The index of keys: against a dictionary, looked at as packets do after each store, and killed."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import count, islice
from random import Random
from typing import Any

import numpy as np
import pytest
from helioc.compiler.tables.layout import _small_indexes
from helioc.lang.contract.manifest.manifest import (
    BUCKET_SIZE,
    INDEX_STEP,
    MOST_BUCKETS,
    RuleKind,
)
from helioc.runtime.rules.index import Index
from helioc.runtime.rules.key_hash import KeyHash, hashes_of
from helioc.runtime.rules.pools import NoRoom
from helioc.runtime.rules.stored import ENTRIES
from linx_manifest import FAR, PDR

EXACT = replace(FAR, key_size=12, cells=25, entries=25, buckets=4, match=PDR.match[:1])
RANGES = replace(PDR, cells=25, entries=45, buckets=8)
#: With indexes of 64 and 256 buckets besides.
STEPS = replace(
    EXACT, cells=2200, entries=2200, buckets=1024, small_indexes=2, index_step=2,
    spare_buckets=MOST_BUCKETS,
)  # fmt: skip
#: Of layout 3, with indexes of 32 and 512 buckets besides, and of 32.
GROWING = replace(
    EXACT, cells=2200, entries=2200, buckets=8192, small_indexes=2, spare_buckets=MOST_BUCKETS
)
GROWING_RANGES = replace(
    RANGES, cells=130, entries=300, buckets=512, small_indexes=1, spare_buckets=MOST_BUCKETS
)
Bound = tuple[int, int]
Wanted = dict[bytes, tuple[int, Bound]]


class Killed(BaseException):
    pass


class Memory:
    """An index and its entries. After each store `check` looks at them; the `left`th kills."""

    def __init__(self, rule: RuleKind) -> None:
        self.kind = rule
        self.words = -(-rule.key_size // 8)
        self.index = bytearray(rule.index_size * BUCKET_SIZE)
        self.root = bytearray(8)
        self.entries = bytearray(rule.entries * rule.entry_size)

    def open(self) -> Index:
        entries = memoryview(self.entries)
        index, root = memoryview(self.index), memoryview(self.root)
        return Index(self.kind, index, entries, self.kind.entry_size, root)

    def look(self, key: bytes) -> int | None:
        """The number of a key's entry, as a packet finds it: by the manifest's words."""
        hash_ = KeyHash(self.kind.key_size).of(key)
        buckets, begin = self.kind.buckets, 0
        if self.kind.small_indexes:
            (root,) = struct.unpack("<Q", self.root)
            if not root >> 49:
                return None
            buckets, begin = 1 << 64 - (root >> 49 & 63), 1 << (root >> 55 & 63)
        tag, first = hash_ >> 8 & 0xFF or 1, hash_ >> 65 - buckets.bit_length()
        spare = self.kind.spare_buckets
        for i in range(spare or min(MOST_BUCKETS, buckets)):
            at = (begin + ((first + (i & ~1)) ^ (i & 1)) % (buckets + spare)) * BUCKET_SIZE
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


@pytest.mark.parametrize(
    "rule", [EXACT, RANGES, GROWING, STEPS, GROWING_RANGES],
    ids=["exact", "ranges", "growing", "step by step", "growing ranges"],
)  # fmt: skip
@pytest.mark.parametrize("seed", range(30))
def test_it_agrees_with_a_dictionary(rule: RuleKind, seed: int) -> None:
    """One by one and by the column, until it is full; opened again by others."""
    random, memory, wanted = Random(seed), Memory(rule), Wanted()
    index, known, ranged = (
        memory.open(),
        [key_of(rule, n) for n in range(2 * rule.cells)],
        rule.has_ranges,
    )
    for _ in range(60 if rule.cells < 100 else 16):
        free = [key for key in known if key not in wanted]
        used = {cell for cell, _ in wanted.values()}
        cells = [c for c in range(1, rule.cells) if ranged or c not in used]
        random.shuffle(cells)
        match random.randrange(5):
            case 0 | 1 if cells and free:
                add(index, wanted, random.choice(free), cells[0], random)
            case 2:
                some = random.sample(free, min(len(free), random.choice([1, 9, 90]), len(cells)))
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


def filled(memory: Memory, count: int) -> tuple[Index, Wanted]:
    index, wanted = memory.open(), Wanted()
    for cell in range(1, count + 1):
        add(index, wanted, key_of(memory.kind, cell), cell, Random(cell))
    return index, wanted


def log(index: Index) -> int:
    """log2 of the buckets of the index that is in use, as cell 0 says."""
    return 64 - (index.root >> 49 & 63)


def test_the_smallest_index_that_takes_all() -> None:
    """And only there packets look."""
    memory = Memory(GROWING)
    index, wanted = filled(memory, 127)
    assert log(index) == 5
    place = slice(32 * BUCKET_SIZE, (64 + MOST_BUCKETS) * BUCKET_SIZE)
    hidden = bytes(memory.index[place])
    memory.index[place] = bytes(len(hidden))
    assert not any(map(memory.look, wanted))
    memory.index[place] = hidden
    check(memory, wanted, set())
    for expected, more in (9, range(128, 130)), (13, range(130, 2100)):
        add_many(index, wanted, [key_of(GROWING, n) for n in more], [*more], Random(1))
        assert log(index) == expected
        check(memory, wanted, set())
    found, _ = memory.open().read_all()
    assert {key.tobytes() for key in found} == wanted.keys()


def test_it_grows_step_by_step() -> None:
    memory = Memory(STEPS)
    index, wanted = filled(memory, 255)
    assert log(index) == 6
    for expected, more in (8, range(256, 258)), (8, range(258, 1025)), (10, range(1025, 2100)):
        add_many(index, wanted, [key_of(STEPS, n) for n in more], [*more], Random(1))
        assert log(index) == expected
        check(memory, wanted, set())
    agrees(memory.open(), wanted, [])


@pytest.mark.parametrize("bits", range(1, 25))
def test_indexes_do_not_overlap(bits: int) -> None:
    """As the compiler chooses them, and as those of layout 3 were."""
    for step, small in (INDEX_STEP, _small_indexes(1 << bits)), (4, max(0, bits - 5) // 4):
        rule = replace(STEPS, buckets=1 << bits, small_indexes=small, index_step=step)
        end = 0
        for each in rule.index_logs:
            first = 1 << rule.index_at(each) & ~1
            assert first >= end
            end = first + (1 << each) + rule.spare_buckets
        assert end == rule.index_size


def at_the_end(rule: RuleKind, many: int) -> list[bytes]:
    """Keys of the last bucket of the smallest index: some lie in the spare ones behind it."""
    hash_, last = KeyHash(rule.key_size).of, (1 << rule.index_logs[0]) - 1
    found = (key_of(rule, n) for n in count())
    return list(islice((k for k in found if hash_(k) >> 64 - rule.index_logs[0] == last), many))


@pytest.mark.parametrize("failed", [False, True])
def test_the_index_that_is_left_stays_as_it_was(
    monkeypatch: pytest.MonkeyPatch, failed: bool
) -> None:
    """Until cell 0 leads to the other: packets find every key, also if that is never."""
    rule = replace(GROWING, buckets=512, small_indexes=1)
    memory, wanted = Memory(rule), Wanted()
    index, keys = memory.open(), at_the_end(rule, 40)
    add_many(index, wanted, keys, [*range(1, 41)], Random(1))
    lead_to, seen = Index._lead_to, list[int]()

    def looked(self: Index, *given: Any) -> Any:
        check(memory, wanted, set())
        seen.append(1)
        left = lead_to(self, *given)
        check(memory, wanted, set())
        return given[0][:1] if failed else left

    with monkeypatch.context() as patched:
        patched.setattr(Index, "_lead_to", looked)
        assert index._grow(200) is not failed
    assert seen and log(index) == (5 if failed else 9)
    check(memory, wanted, set())
    agrees(index, wanted, keys)


def test_keys_that_meet_go_into_a_larger_index() -> None:
    """Rather than under another number of their mask; one by one and by the column."""
    for alone in (True, False):
        memory, wanted = Memory(replace(GROWING, buckets=512, small_indexes=1)), Wanted()
        index, keys = memory.open(), at_the_end(memory.kind, 193)
        index._limit = 1000  # as if they were fewer
        if alone:
            for cell, key in enumerate(keys, start=1):
                add(index, wanted, key, cell, Random(cell))
        else:
            add_many(index, wanted, keys, [*range(1, len(keys) + 1)], Random(1))
        assert log(index) == 9 and len(wanted) == len(keys)
        check(memory, wanted, set())


@pytest.mark.parametrize("moved", [100, 127])
def test_killed_while_it_grows(monkeypatch: pytest.MonkeyPatch, moved: int) -> None:
    memory = Memory(GROWING)
    index, wanted = filled(memory, 127)
    lead_to = Index._lead_to

    def killed(self: Index, number: Any, hashes: Any) -> None:
        lead_to(self, number[:moved], hashes[:moved])
        raise Killed

    late = [key_of(GROWING, n) for n in (128, 129)]
    with monkeypatch.context() as patched, pytest.raises(Killed):
        patched.setattr(Index, "_lead_to", killed)
        add_many(index, {}, late, [128, 129], Random(9))
    check(memory, wanted, set())
    agrees(index, wanted, [*wanted, *late])  # it may also go on itself
    again = memory.open()
    again.adopt(died=True)
    agrees(again, wanted, [*wanted, *late])
    more = range(130, 140)
    add_many(again, wanted, [key_of(GROWING, n) for n in more], [*more], Random(10))
    assert log(again) == 9
    check(memory, wanted, set(late))


def test_keys_that_were_chosen_to_meet_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    memory = Memory(GROWING)
    index, wanted = filled(memory, 127)
    with monkeypatch.context() as patched:
        patched.setattr(Index, "_lead_to", lambda self, number, hashes: number[:1])
        add(index, wanted, key_of(GROWING, 128), 128, Random(8))
    add(index, wanted, key_of(GROWING, 129), 129, Random(9))
    assert log(index) == 5
    check(memory, wanted, set())


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
