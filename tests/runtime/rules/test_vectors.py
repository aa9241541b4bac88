"""Bit vectors: against a list of the keys, looked at as packets do."""

from __future__ import annotations

import struct
from dataclasses import replace
from random import Random

import numpy as np
import pytest
from helioc.lang.contract.manifest.manifest import DE_BRUIJN, VECTOR_KEYS
from helioc.runtime.rules import vectors
from helioc.runtime.rules.stored import ENTRIES
from helioc.runtime.rules.vectors import Vectors
from linx_manifest import PDR

#: Two pairs of words, over the bytes that a PDR asks for.
KIND = replace(PDR, filter=128, vectors=2 * VECTOR_KEYS)
Bound = tuple[int, int]


class Memory:
    def __init__(self) -> None:
        self.bytes = bytearray(KIND.filter_size - KIND.filter // 8)

    def open(self) -> Vectors:
        return Vectors(KIND, memoryview(self.bytes))

    def look(self, key: bytes) -> list[tuple[Bound, int]]:
        """Priority and rank, and the cell, of each key that matches: by the manifest's words."""
        (pairs,) = struct.unpack_from("<Q", self.bytes)
        most = KIND.vectors // VECTOR_KEYS
        places_at = 16 + 16 * most
        vectors_at = places_at + 16 * KIND.vectors
        found = []
        for pair in range(pairs):
            rank, priority, _ = struct.unpack_from("<QII", self.bytes, 16 + 16 * pair)
            for half in (0, 1):
                word = (1 << 64) - 1
                for i, byte in enumerate(KIND.asked_bytes):
                    line = (pair * len(KIND.asked_bytes) + i) * 256 + key[byte]
                    (bits,) = struct.unpack_from(
                        "<Q", self.bytes, vectors_at + 16 * line + 8 * half
                    )
                    word &= bits
                for bit in range(64):
                    if word >> bit & 1:
                        place = 64 * (2 * pair + half) + ((DE_BRUIJN << bit) % (1 << 64) >> 58)
                        r, p, cell = struct.unpack_from("<QII", self.bytes, places_at + 16 * place)
                        assert (p, r) <= (priority, rank)
                        found.append(((p, r), cell))
        return found


def wild(random: Random) -> bytes:
    """Few values, so that keys meet."""
    return bytes(random.choice([0, 1, 255]) for _ in range(KIND.key_size))


def mask(random: Random) -> bytes:
    return bytes(random.choice([0, 0, 1, 254, 255]) for _ in range(KIND.key_size))


@pytest.fixture(autouse=True)
def wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors, "LOADS_OF_A_MASK", 1000)


class Keys:
    """What is there: a mask, bound and cell by key."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.there: dict[bytes, tuple[bytes, Bound, int]] = {}

    def some(self, count: int) -> dict[bytes, tuple[bytes, Bound, int]]:
        found: dict[bytes, tuple[bytes, Bound, int]] = {}
        while len(found) < count:
            under, number = mask(self.random), self.random.randrange(1 << 16)
            key = bytes(a & b for a, b in zip(wild(self.random), under, strict=True))
            key = key[:-2] + number.to_bytes(2, "big")
            if key not in self.there:
                bound = self.random.randrange(3), self.random.randrange(1, 1 << 60)
                found[key] = under, bound, self.random.randrange(1, 1 << 20)
        return found

    def near(self) -> bytes:
        """What one of the keys matches, if there is any; others may, too."""
        key = self.random.choice([*self.there, wild(self.random)])
        under = self.there[key][0] if key in self.there else bytes(KIND.key_size)
        free = zip(key, under, wild(self.random), strict=True)
        return bytes(one | rest & ~mask & 0xFF for one, mask, rest in free)

    def matching(self, key: bytes) -> list[tuple[Bound, int]]:
        return [
            (bound, cell)
            for one, (under, bound, cell) in self.there.items()
            if all(key[i] & under[i] == one[i] for i in KIND.asked_bytes)
        ]


def columns(found: dict[bytes, tuple[bytes, Bound, int]]) -> tuple[np.ndarray, ...]:
    keys, masks = (
        np.frombuffer(b"".join(each), np.uint8).reshape(-1, KIND.key_size)
        for each in (found, (under for under, _, _ in found.values()))
    )
    entries = [(cell, *bound) for _, bound, cell in found.values()]
    return keys, masks, np.array(entries, ENTRIES)


@pytest.mark.parametrize("seed", range(6))
def test_what_bits_say_is_what_keys_say(seed: int) -> None:
    random, memory = Random(seed), Memory()
    keys, tested = Keys(random), memory.open()
    tested.compare(1)
    hits = 0
    for _ in range(60):
        if random.random() < 0.6:
            found = keys.some(min(random.choice([1, 2, 70]), KIND.vectors - len(keys.there)))
            if found and len(keys.there) + len(tested._gone) + len(found) <= KIND.vectors:
                tested.add(*columns(found))
                keys.there |= found
        else:
            gone = random.sample(sorted(keys.there), random.randrange(len(keys.there) + 1))
            tested.remove([*gone, wild(random)])
            for key in gone:
                del keys.there[key]
        if random.random() < 0.5:
            tested.reclaim()
        assert tested.whole and (not keys.there or tested.used)
        for _ in range(8):
            key = keys.near()
            expected = keys.matching(key)
            hits += len(expected)
            assert sorted(memory.look(key)) == sorted(expected)
    assert hits > 300
    tested.close()


def test_too_many_keys() -> None:
    """Packets look elsewhere until they are filled with what is left."""
    memory, keys = Memory(), Keys(Random(1))
    tested = memory.open()
    tested.compare(1)
    few, one = keys.some(KIND.vectors), keys.some(1)
    tested.add(*columns(few))
    assert tested.used
    tested.add(*columns(one))
    assert not tested.used and not tested.whole
    tested.remove(few)
    tested.add(*columns(one))
    assert not tested.used
    tested.fill(*columns(one))
    assert tested.whole and tested.used
    keys.there = one
    key = keys.near()
    assert memory.look(key) == keys.matching(key) != []
    tested.close()


def test_a_bit_that_was_cleared_waits() -> None:
    """A packet may have loaded some of its vectors."""
    memory, keys = Memory(), Keys(Random(2))
    tested = memory.open()
    tested.compare(1)
    all_ = keys.some(KIND.vectors)
    tested.add(*columns(all_))
    tested.remove([next(iter(all_))])
    tested.add(*columns(keys.some(1)))
    assert not tested.whole
    tested.close()


def test_only_where_it_is_worth_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors, "LOADS_OF_A_MASK", len(KIND.asked_bytes))
    memory = Memory()
    tested = memory.open()
    tested.compare(2)
    tested.add(*columns(Keys(Random(3)).some(100)))
    assert tested.used
    tested.add(*columns(Keys(Random(4)).some(100)))  # in the second pair of words
    assert not tested.used
    tested.compare(3)
    assert tested.used and struct.unpack_from("<Q", memory.bytes) == (2,)
    tested.close()
