"""Slots of which a cell has an even and an odd one by turns."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from helioc.runtime.rules.pools import Halves, NoRoom


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
