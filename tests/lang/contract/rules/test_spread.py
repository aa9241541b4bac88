"""jhash against the kernel's, and the slots of a spread."""

from __future__ import annotations

import struct
from collections import Counter
from math import log
from time import perf_counter

import pytest
from helioc.lang.contract.rules.spread import jhash, jhash2, slot, spread_slots
from hypothesis import given
from hypothesis import strategies as st

# (n, jhash2(w, n, 0), jhash2(w, n, 0x9e3779b9)) for w[i] = 0x01234567 * (i + 1): printed by a C
# program with the macros of include/linux/jhash.h.
KERNELS = [
    (0, 0xDEADBEEF, 0x7CE538A8),
    (1, 0x57A99FAD, 0x0B5B3527),
    (2, 0xC7F0A70F, 0x540E0972),
    (3, 0xF8BF7C22, 0x5B6C920E),
    (4, 0x68252E4C, 0xF8235A16),
    (5, 0x80FD2A34, 0x6F6449EA),
    (6, 0x46DE1D23, 0x08C9B569),
    (7, 0x4B9B6166, 0x74EC4B43),
    (8, 0x14341340, 0x5CEDAD0A),
    (12, 0x43F44E63, 0x387E421D),
    (13, 0x0A37E9F6, 0x5B8A58E1),
]

ids = st.integers(0, 2**32 - 1)
members = st.dictionaries(ids, st.integers(1, 65535), min_size=1, max_size=16)


@pytest.mark.parametrize(("count", "plain", "seeded"), KERNELS)
def test_jhash2_is_the_kernels(count: int, plain: int, seeded: int) -> None:
    words = [0x01234567 * (i + 1) & 0xFFFFFFFF for i in range(count)]
    assert jhash2(words) == plain
    assert jhash2(words, 0x9E3779B9) == seeded
    assert jhash(struct.pack(f"<{count}I", *words)) == plain


def test_bytes_are_padded_with_zeros() -> None:
    assert jhash(b"abcde") == jhash(b"abcde\0\0\0") != jhash(b"abcdef")


@given(members)
def test_slots_are_those_of_the_definition(weights: dict[int, int]) -> None:
    def score(id: int, at: int) -> float:
        return -weights[id] / log((jhash2((id, at)) + 0.5) / 2**32)

    slots = spread_slots(weights.items())
    assert len(slots) == 256
    for at in range(0, 256, 37):
        scores = {id: score(id, at) for id in sorted(weights)}
        assert slots[at] == max(scores, key=scores.__getitem__)


@given(members, st.data())
def test_a_member_that_leaves_moves_only_its_own_slots(
    weights: dict[int, int], data: st.DataObject
) -> None:
    gone = data.draw(st.sampled_from(sorted(weights)))
    before = spread_slots(weights.items())
    after = spread_slots((id, w) for id, w in weights.items() if id != gone)
    assert all(b in (gone, a) for b, a in zip(before, after, strict=False))


def test_members_have_slots_by_weight() -> None:
    found = Counter(spread_slots([(1, 3), (2, 1)]))
    assert found[1] + found[2] == 256
    assert 170 < found[1] < 214


def test_nobody_shares_nothing() -> None:
    assert spread_slots([]) == []


def test_the_slot_is_the_hashs_upper_byte() -> None:
    assert slot(0xAB123456) == 0xAB


def test_a_full_spread_is_quick() -> None:
    def once(first: int) -> float:
        start = perf_counter()
        spread_slots((first + i, i + 1) for i in range(16))
        return perf_counter() - start

    assert min(once(1000 * n) for n in range(20)) < 0.003
