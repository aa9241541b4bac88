"""The kernel's clocks: how far that of the wall is ahead, how wrong it is, and when it is set.

CLOCK_REALTIME and CLOCK_MONOTONIC run at one pace, also while NTP disciplines them: how far one is
ahead of the other changes only where somebody sets the clock, or a leap second is inserted.
"""

from __future__ import annotations

import os
import time
from errno import ECANCELED
from pathlib import Path
from typing import NamedTuple

from .system import adjtimex, arm_step_timer, step_timer

_SECOND = 1_000_000_000
_SAMPLES = 5
_STA_UNSYNC = 0x40  # linux/timex.h


class WallClock(NamedTuple):
    """In ns. `utc_ahead`: how far CLOCK_REALTIME is ahead of the CLOCK_MONOTONIC that programs
    read; `tai_ahead`: CLOCK_TAI of CLOCK_REALTIME; `error`: how wrong the kernel takes them to be
    at most, None where nothing synchronises it; `read_at`: by CLOCK_MONOTONIC."""

    utc_ahead: int
    tai_ahead: int
    error: int | None
    read_at: int


def read_wall_clock() -> WallClock:
    """Between two looks at one clock, the other is read: what was quickest is nearest."""
    samples = []
    for _ in range(_SAMPLES):
        before, wall = time.monotonic_ns(), time.time_ns()
        after = time.monotonic_ns()
        samples.append((after - before, wall - (before + after) // 2, after))
    _, ahead, at = min(samples)
    tai = time.clock_gettime(time.CLOCK_TAI) - time.time()
    hidden = _time_namespace()
    return WallClock(ahead + hidden, round(tai) * _SECOND, _error(), at - hidden)


def _error() -> int | None:
    try:
        error, status = adjtimex()
    except PermissionError:  # a filter of system calls: then nobody knows
        return None
    return None if status & _STA_UNSYNC else error * 1_000


def _time_namespace() -> int:
    """What this process's CLOCK_MONOTONIC adds to the one that programs read, in ns."""
    try:
        lines = Path("/proc/self/timens_offsets").read_text().splitlines()
    except OSError:  # a kernel without time namespaces
        return 0
    found = (line.split() for line in lines)
    return sum(int(s) * _SECOND + int(ns) for name, s, ns in found if name == "monotonic")


class ClockSteps:
    """A descriptor that is readable once somebody sets the wall clock. Close it."""

    def __init__(self) -> None:
        self._timer = step_timer()
        arm_step_timer(self._timer)

    def fileno(self) -> int:
        return self._timer

    def happened(self) -> bool:
        """Whether the clock was set since the last call; does not wait."""
        try:
            os.read(self._timer, 8)
        except BlockingIOError:
            return False
        except OSError as error:
            if error.errno != ECANCELED:
                raise
        arm_step_timer(self._timer)
        return True

    def close(self) -> None:
        os.close(self._timer)
