"""Timestamps: their formats, distances over the end of an era, error estimates."""

from __future__ import annotations

import time

import pytest
from helioc.runtime.stamp import times
from hypothesis import given
from hypothesis import strategies as st
from lab import until

SECOND = times.SECOND


def test_now_is_the_time_of_the_host() -> None:
    """RFC 5905 section 6; IEEE 1588 by TAI."""
    ntp, ptp = times.now("NTP"), times.now("PTP")
    assert abs((ntp >> 32) - times._NTP_BEGINS - time.time()) < 5
    assert abs((ptp >> 32) - time.clock_gettime(time.CLOCK_TAI)) < 5
    assert ptp & 0xFFFFFFFF < SECOND


@pytest.mark.parametrize("clock", times.CLOCKS)
def test_time_passes_at_one_pace(clock: times.Clock) -> None:
    began, first = time.monotonic_ns(), times.now(clock)
    until(lambda: time.monotonic_ns() > began + SECOND // 50 + 1000, "time passes")
    passed = times.distance(first, times.now(clock), clock)
    assert 0.02 * SECOND < passed <= time.monotonic_ns() - began + 1000


def ntp(ns: int) -> int:
    seconds, rest = divmod(ns, SECOND)
    return (seconds & 0xFFFFFFFF) << 32 | -(-(rest << 32) // SECOND)


def ptp(ns: int) -> int:
    seconds, rest = divmod(ns, SECOND)
    return (seconds & 0xFFFFFFFF) << 32 | rest


@given(st.integers(0, 2**33 * SECOND), st.integers(-(2**30) * SECOND, 2**30 * SECOND))
def test_a_distance_is_what_lies_between(first: int, between: int) -> None:
    """Also over the end of the era (2036, 2106), and backwards."""
    later = max(0, first + between)
    assert times.distance(ptp(first), ptp(later), "PTP") == later - first
    assert abs(times.distance(ntp(first), ntp(later), "NTP") - (later - first)) <= 1


@pytest.mark.parametrize(
    ("error", "said"), [(None, 0x3FFF), (0, 0x8001), (20_000, 0x8000 | 9 << 8 | 168 + 1)]
)
def test_an_error_estimate_is_at_least_the_error(error: int | None, said: int) -> None:
    """RFC 4656 section 4.1.2: multiplier times 2^scale, in units of 2^-32 s."""
    assert times.error_estimate(error, "NTP") == said
    assert times.error_estimate(error, "PTP") == said | 0x4000


@given(st.integers(0, 100 * SECOND))
def test_an_error_estimate_is_not_much_more(error: int) -> None:
    said = times.error_estimate(error, "NTP")
    estimated = (said & 0xFF) * 2 ** (said >> 8 & 0x3F) / 2**32 * SECOND
    assert said & 0xFF and error <= estimated <= error * 1.03 + 2
