"""What programs know of the time, in `struct control` (templates/helio.bpf.h)."""

from __future__ import annotations

from ...lang.contract.world.moment import UNKNOWN_ERROR, Moment
from ..kernel.clock import WallClock

# Words of struct control; bundles of earlier releases have none of them.
_FIXED_TIME, _FIXED_RANDOM, UTC_AHEAD, _TAI_AHEAD, _ERROR, _PUBLISHED = range(72, 78)
_ONES = (1 << 64) - 1


def publish(control: memoryview[int], clock: WallClock) -> None:
    """From here on packets read this wall clock."""
    if len(control) <= _PUBLISHED:
        return
    control[UTC_AHEAD], control[_TAI_AHEAD] = clock.utc_ahead & _ONES, clock.tai_ahead & _ONES
    control[_ERROR] = clock.error or 0
    control[_PUBLISHED] = 0 if clock.error is None else clock.read_at


def fix_moment(control: memoryview[int], moment: Moment) -> None:
    """All packets come at this moment, in place of what clock and chance say: for test runs."""
    if len(control) <= _PUBLISHED:
        return
    control[_FIXED_TIME], control[_FIXED_RANDOM] = moment.now, moment.random + 1
    control[UTC_AHEAD] = moment.utc - moment.now & _ONES
    control[_TAI_AHEAD] = moment.tai & _ONES
    control[_ERROR] = moment.error
    control[_PUBLISHED] = 0 if moment.error == UNKNOWN_ERROR else moment.now


def fix_time(control: memoryview[int], live: memoryview[int], now: int, random: int) -> None:
    """The next packet comes `now` (ns of CLOCK_MONOTONIC), by the wall clock of another pipeline's
    `live` control; chance gives it `random`."""
    if len(control) <= _PUBLISHED or len(live) <= _PUBLISHED:
        return
    control[_FIXED_TIME], control[_FIXED_RANDOM] = now, random + 1
    control[UTC_AHEAD : _PUBLISHED + 1] = live[UTC_AHEAD : _PUBLISHED + 1]
