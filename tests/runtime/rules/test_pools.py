"""Slots of which a cell has an even and an odd one by turns."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from helioc.runtime.rules.pools import Halves, NoRoom, Pool
from hypothesis import given
from hypothesis import strategies as st


def test_all_rules_can_change_and_be_replaced_at_once() -> None:
    """With 2n slots for n rules, whatever they have: those that change take theirs first."""
    for seed in range(300):
        random = Random(seed)
        n = random.randint(1, 12)
        pool = Halves("K", "records", 2 * n + 1)
        live = [pool.take() for _ in range(random.randint(0, n))]
        for _ in range(6):
            stay = random.sample(live, random.randint(0, len(live)))
            changed = [(slot, pool.take_beside(slot)) for slot in stay]
            new = [pool.take() for _ in range(n - len(stay))]
            assert all((old ^ slot) & 1 for old, slot in changed)
            taken = [*live, *(slot for _, slot in changed), *new]
            assert len(set(taken)) == len(taken) and min(taken) > 0 and max(taken) <= 2 * n
            pool.give_many(live)
            live = [*(slot for _, slot in changed), *new]


def test_many_are_taken_and_put_back() -> None:
    pool = Halves("K", "records", 9)
    used = np.array([2, 5], np.int64)
    pool.all_but(used)
    found = pool.take_many(6)
    assert sorted([*found.tolist(), *used.tolist()]) == list(range(1, 9)) and not len(pool)
    with pytest.raises(NoRoom):
        pool.take()
    pool.put_back(found)
    assert len(pool) == 6 and sorted(pool.take_many(6).tolist()) == sorted(found.tolist())


def test_numbers_like_those_of_others() -> None:
    """What is left out on the way is taken later; each number is given out once."""
    pool = Pool("K", "cells", 12)
    assert [pool.take_like(number) for number in (2, 4, 1, 4, 11, 7)] == [2, 4, 1, 3, 11, 7]
    assert pool.take_like(99) == 5 and len(pool) == 4
    assert sorted(pool.take_many(4).tolist()) == [6, 8, 9, 10]
    with pytest.raises(NoRoom):
        pool.take_like(3)


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ([3, 4, 6], [3, 4, 6]),
        ([3, 4, 4], [3, 4, 2]),  # two rules that give one
        ([1, 2, 3], [4, 2, 3]),  # of which one is taken
        ([0, 2, 3], [4, 2, 3]),  # of which one gives none
        ([3, 90], [3, 2]),  # of which one there is not
        ([8, 9, 10], [8, 9, 2]),
    ],
)
def test_many_numbers_like_those_of_others(wanted: list[int], found: list[int]) -> None:
    pool = Pool("K", "cells", 10)
    assert pool.take() == 1
    assert pool.take_all_like(np.array(wanted, np.uint32)).tolist() == found
    rest = [pool.take() for _ in range(len(pool))]
    assert sorted([1, *found, *rest]) == list(range(1, 10))


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("take"), st.integers(0, 14)),
        st.tuples(st.just("many"), st.lists(st.integers(0, 14), max_size=8)),
        st.tuples(st.just("give"), st.integers(0, 12)),
        st.tuples(st.sampled_from(["hold", "let go", "back"]), st.just(0)),
    ),
    max_size=40,
)


@given(STEPS)
def test_against_a_set(steps: list[tuple[str, int | list[int]]]) -> None:
    """Each number is with one taker at most; what is asked for is given where it is free; what came
    back while it was held waits, unless there is no other."""
    pool, free, held, holds = Pool("K", "cells", 12), set(range(1, 12)), set[int](), 0
    taken, last = list[int](), np.zeros(0, np.uint32)
    for what, about in steps:
        if what in ("take", "many"):
            wanted = about if isinstance(about, list) else [about]
            if len(wanted) > len(free):
                free, held = free | held, set()
            if len(wanted) > len(free):
                with pytest.raises(NoRoom):
                    pool.take_all_like(np.array(wanted, np.uint32))
                continue
            if isinstance(about, list):
                last = pool.take_all_like(np.array(wanted, np.uint32))
                found = last.tolist()
            else:
                found = [pool.take_like(about)]
            assert len(set(found)) == len(found) and free.issuperset(found)
            assert {n for n in wanted if n in free} <= set(found)
            free -= set(found)
            taken += found
        elif what == "give" and taken and isinstance(about, int):
            number = taken.pop(about % len(taken))
            last = last[last != number]
            pool.give(number)
            (held if holds else free).add(number)
        elif what == "back":
            pool.put_back(last)
            free |= set(last.tolist())
            taken = [n for n in taken if n not in free]
            last = last[:0]
        elif what == "hold":
            pool.hold()
            holds += 1
        elif what == "let go" and holds:
            pool.let_go()
            holds -= 1
            if not holds:
                free, held = free | held, set()
        assert len(pool) == len(free)
