"""Welford's mean and variance against numpy and statistics; IPDV against its definition."""

from __future__ import annotations

import statistics

import numpy as np
import pytest
from helioc.runtime.stamp.moments import REMEMBERED, Delays, Moments
from hypothesis import given
from hypothesis import strategies as st

DELAYS = st.lists(st.integers(0, 60_000_000_000), min_size=2, max_size=300)


@given(DELAYS)
def test_moments_are_those_of_numpy_and_statistics(values: list[int]) -> None:
    moments = Moments()
    for each in values:
        moments.add(each)
    assert (moments.count, moments.least, moments.most) == (len(values), min(values), max(values))
    assert moments.mean == pytest.approx(statistics.fmean(values), rel=1e-12, abs=1e-9)
    assert moments.variance == pytest.approx(statistics.variance(values), rel=1e-9, abs=1e-6)
    assert moments.deviation == pytest.approx(np.std(values, ddof=1), rel=1e-9, abs=1e-6)


def test_variance_of_large_delays_that_differ_little() -> None:
    """Of which the sum of squares has too few bits."""
    moments, base = Moments(), 60_000_000_000
    for number in range(100_000):
        moments.add(base + number % 2)
    assert moments.variance == pytest.approx(0.25 * 100_000 / 99_999, rel=1e-6)


def test_one_value_has_no_variance() -> None:
    moments = Moments()
    assert (moments.variance, moments.mean) == (0.0, 0.0)
    moments.add(-7)
    assert (moments.variance, moments.mean, moments.least, moments.most) == (0.0, -7.0, -7, -7)


@given(DELAYS, st.integers(1, 299))
def test_moments_go_on_where_they_were_left(values: list[int], at: int) -> None:
    whole, first, second = Moments(), Moments(), Moments()
    for each in values:
        whole.add(each)
    for each in values[:at]:
        first.add(each)
    packed = Moments.LAYOUT.pack(*first.values())
    second.take(Moments.LAYOUT.unpack(packed))
    for each in values[at:]:
        second.add(each)
    assert second.values() == whole.values()


@given(st.permutations(range(40)), st.sets(st.integers(0, 39)))
def test_ipdv_is_of_neighbours_that_arrived(order: list[int], lost: set[int]) -> None:
    """RFC 3393: of packets i and i + 1, in whichever order they came; without either undefined."""
    delay = {number: (number * 7919) % 1000 for number in order}
    delays = Delays()
    for number in order:
        if number not in lost:
            delays.add(number, delay[number])
    wanted = [abs(delay[n] - delay[n + 1]) for n in range(39) if not {n, n + 1} & lost]
    assert delays.variation.count == len(wanted)
    assert delays.variation.mean == pytest.approx(sum(wanted) / len(wanted) if wanted else 0.0)


def test_what_is_remembered_has_an_end() -> None:
    delays = Delays()
    for number in range(10_000):
        delays.add(number, number)
    assert len(delays._lately) == REMEMBERED
