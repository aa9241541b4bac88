"""The wall clock, set: what no test may do to the machine that it shares."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing

import pytest
from helioc.runtime.kernel.clock import ClockSteps, read_wall_clock

HOUR = 3600


@pytest.fixture
def steps() -> Iterator[ClockSteps]:
    with closing(ClockSteps()) as made:
        yield made


@pytest.mark.parametrize("seconds", [HOUR, -HOUR])
def test_it_is_noticed_when_the_clock_is_set(steps: ClockSteps, seconds: int) -> None:
    ahead = read_wall_clock().utc_ahead
    time.clock_settime(time.CLOCK_REALTIME, time.time() + seconds)
    assert steps.happened()
    assert not steps.happened()
    moved = read_wall_clock().utc_ahead - ahead
    assert abs(moved - seconds * 1_000_000_000) < 1_000_000_000
