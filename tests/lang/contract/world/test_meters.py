"""Meters against RFC 2697 and RFC 2698, written from their texts with exact fractions: of bytes and
of packets, colour-blind and colour-aware."""

from __future__ import annotations

from fractions import Fraction

import pytest
from helioc.lang.contract.base.colours import Colour
from helioc.lang.contract.world.meters import BYTE, DEEPEST, PACKET, Metered
from helioc.lang.contract.world.moment import SECOND
from hypothesis import given
from hypothesis import strategies as st


class Bucket:
    """Of bytes, or packets. It begins full."""

    def __init__(self, rate: Fraction, size: int) -> None:
        """`rate` in bytes a second."""
        self.rate, self.size = rate, size if rate else 0
        self.tokens = Fraction(self.size)

    def fill(self, tokens: Fraction) -> Fraction:
        """What there is no room for."""
        over = max(Fraction(0), self.tokens + tokens - self.size)
        self.tokens += tokens - over
        return over


class TokenBucket:
    def __init__(self, rate: Fraction, burst: int) -> None:
        self.bucket = Bucket(rate, burst)

    def later(self, seconds: Fraction) -> None:
        self.bucket.fill(self.bucket.rate * seconds)

    def mark(self, size: int, given: Colour) -> str:
        if given != "green" or self.bucket.tokens - size < 0:
            return "red"
        self.bucket.tokens -= size
        return "green"


class SingleRate:
    """RFC 2697 section 3: colour-blind, all packets are green."""

    def __init__(self, cir: Fraction, cbs: int, ebs: int) -> None:
        self.c, self.e = Bucket(cir, cbs), Bucket(cir, ebs)

    def later(self, seconds: Fraction) -> None:
        self.e.fill(self.c.fill(self.c.rate * seconds))

    def mark(self, size: int, given: Colour) -> str:
        if given == "green" and self.c.tokens - size >= 0:
            self.c.tokens -= size
            return "green"
        if given in ("green", "yellow") and self.e.tokens - size >= 0:
            self.e.tokens -= size
            return "yellow"
        return "red"


class TwoRates:
    """RFC 2698 section 3: colour-blind, all packets are green."""

    def __init__(self, cir: Fraction, cbs: int, pir: Fraction, pbs: int) -> None:
        self.c, self.p = Bucket(cir, cbs), Bucket(pir, pbs)

    def later(self, seconds: Fraction) -> None:
        for bucket in (self.c, self.p):
            bucket.fill(bucket.rate * seconds)

    def mark(self, size: int, given: Colour) -> str:
        if given == "red" or self.p.tokens - size < 0:
            return "red"
        self.p.tokens -= size
        if given == "yellow" or self.c.tokens - size < 0:
            return "yellow"
        self.c.tokens -= size
        return "green"


def by_the_rfc(values: tuple[int, ...], bits: int) -> TokenBucket | SingleRate | TwoRates:
    """`bits` of what rates count, in what bursts count."""
    rate, burst = Fraction(values[0], bits), values[1]
    match values[2:]:
        case (excess,):
            return SingleRate(rate, burst, excess)
        case pir, pbs:
            return TwoRates(rate, burst, Fraction(pir, bits), pbs)
    return TokenBucket(rate, burst)


LENGTHS = st.sampled_from([14, 60, 64, 590, 1_400, 1_514, 9_014, 65_535]) | st.integers(1, 262_144)
RATES = st.sampled_from([0, 1, 8, 10**6, 10**10, (1 << 32) - 1, 1 << 32, (1 << 64) - 1])
BURSTS = st.sampled_from([0, 1, 1_513, 1_514, 15_000, 125_000, DEEPEST])
WAITS = st.sampled_from([0, 0, 1, 7, 1_000, 12_112, SECOND, 1 << 32, 10**15])


@st.composite
def meters(draw: st.DrawFn) -> tuple[int, ...]:
    form = draw(st.sampled_from(["rb", "rbb", "rbrb"]))
    rates, bursts = RATES | st.integers(0, 10**11), BURSTS | st.integers(0, DEEPEST)
    return tuple(draw(rates if what == "r" else bursts) for what in form)


COLOURS = st.sampled_from(["green", "green", "yellow", "red"])
PACKETS = st.tuples(WAITS | st.integers(0, 10**7), LENGTHS, COLOURS)


@given(meters(), st.lists(PACKETS, min_size=1, max_size=40), st.sampled_from([BYTE, PACKET]))
def test_every_colour_is_the_rfcs(
    values: tuple[int, ...], packets: list[tuple[int, int, Colour]], unit: int
) -> None:
    expected, meter, now = by_the_rfc(values, unit // SECOND), Metered(), 5 * SECOND
    for wait, length, before in packets:
        now += wait
        expected.later(Fraction(wait, SECOND))
        colour, meter = meter.takes(values, length, now, unit, before)
        assert colour == expected.mark(length, before)
        assert all(0 <= lacks < 1 << 63 for lacks in meter.lacks)


@pytest.mark.parametrize("rate", [10**6, 10**7, 10**8, 10**9, 25 * 10**8, 10**10])
@pytest.mark.parametrize("length", [64, 1_400])
def test_what_passes_is_the_rate(rate: int, length: int) -> None:
    """Within 2 %, beside the first burst. What is offered is one and a half times as much."""
    burst, passed, now, meter = 100 * length, 0, 0, Metered()
    gap = Fraction(8 * length * SECOND * 2, rate * 3)
    for i in range(15_000):
        now = int(i * gap)
        colour, meter = meter.takes((rate, burst), length, now)
        passed += length * (colour == "green")
    expected = Fraction(rate * now, 8 * SECOND)
    assert abs(passed - burst - expected) <= expected * 2 / 100


def test_time_that_stands_still_or_goes_back_brings_nothing() -> None:
    values, meter = (8 * SECOND, 3_000), Metered()  # a byte a ns
    colours = []
    for now in (9_000, 9_000, 8_999, 500, 9_000, 10_500):
        colour, meter = meter.takes(values, 1_500, now)
        colours.append(colour)
    assert colours == ["green", "green", "red", "red", "red", "green"]
    assert meter.at == 10_500


def test_a_frame_that_is_larger_than_the_burst_is_never_green() -> None:
    colour, meter = Metered().takes((10**10, 1_513), 1_514, SECOND)
    assert (colour, meter.lacks) == ("red", (0, 0))
    colour, _ = meter.takes((10**10, 1_513), 1_513, SECOND)
    assert colour == "green"


def test_a_rate_of_nothing_lets_nothing_pass() -> None:
    for values in ((0, 9_000), (0, 9_000, 9_000), (0, 9_000, 0, 9_000)):
        assert Metered().takes(values, 64, SECOND)[0] == "red"
    assert Metered().takes((0, 9_000, 10**6, 9_000), 64, SECOND)[0] == "yellow"


def test_what_is_missing_stays_missing_when_the_burst_changes() -> None:
    _, meter = Metered().takes((8, 3_000), 2_000, SECOND)
    assert meter.takes((8, 2_500), 501, SECOND)[0] == "red"  # 500 bytes are there
    assert meter.takes((8, 2_500), 500, SECOND)[0] == "green"
    assert meter.takes((8, 9_000), 7_000, SECOND)[0] == "green"
    _, meter = meter.takes((8, 1_000), 1, SECOND)  # nothing is there, and no debt is kept
    assert meter.takes((8, 1_000), 2, 3 * SECOND)[0] == "green"


def test_a_burst_is_as_deep_as_the_deepest() -> None:
    colour, meter = Metered().takes((1, (1 << 32) - 1), DEEPEST, SECOND)
    assert colour == "green"
    assert meter.takes((1, (1 << 32) - 1), 1, SECOND)[0] == "red"
