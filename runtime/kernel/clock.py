"""The kernel's clocks: how far that of the wall is ahead, how wrong it is, and when it is set.

CLOCK_REALTIME and CLOCK_MONOTONIC run at one pace, also while NTP disciplines them: how far one is
ahead of the other changes only where somebody sets the clock, or a leap second is inserted.
"""

from __future__ import annotations

import ctypes
import os
import time
from errno import ECANCELED
from pathlib import Path
from typing import NamedTuple

from .system import libc

_SECOND = 1_000_000_000
_SAMPLES = 5
_STA_UNSYNC = 0x40  # linux/timex.h
_TFD_TIMER_ABSTIME, _TFD_TIMER_CANCEL_ON_SET = 1, 2  # linux/timerfd.h
_FAR = 1 << 40  # seconds since 1970: never


class WallClock(NamedTuple):
    """In ns. `utc_ahead`: how far CLOCK_REALTIME is ahead of the CLOCK_MONOTONIC that programs
    read; `tai_ahead`: CLOCK_TAI of CLOCK_REALTIME; `error`: how wrong the kernel takes them to be
    at most, None where nothing synchronises it; `read_at`: by CLOCK_MONOTONIC."""

    utc_ahead: int
    tai_ahead: int
    error: int | None
    read_at: int


class _Timex(ctypes.Structure):
    """struct timex (linux/timex.h), up to `status`."""

    _fields_ = (
        ("modes", ctypes.c_uint), ("offset", ctypes.c_long), ("freq", ctypes.c_long),
        ("maxerror", ctypes.c_long), ("esterror", ctypes.c_long), ("status", ctypes.c_int),
        ("_rest", ctypes.c_char * 256),
    )  # fmt: skip


class _Timer(ctypes.Structure):
    """struct itimerspec."""

    _fields_ = (("interval", ctypes.c_long * 2), ("value", ctypes.c_long * 2))


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
    timex = _Timex()
    if libc().adjtimex(ctypes.byref(timex)) < 0 or timex.status & _STA_UNSYNC:
        return None
    return int(timex.maxerror) * 1_000  # µs


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
        flags = os.O_CLOEXEC | os.O_NONBLOCK
        self._timer = libc().timerfd_create(time.CLOCK_REALTIME, flags)
        if self._timer < 0:
            raise OSError(ctypes.get_errno(), "timerfd_create")
        self._arm()

    def _arm(self) -> None:
        never = _Timer(value=(_FAR, 0))
        flags = _TFD_TIMER_ABSTIME | _TFD_TIMER_CANCEL_ON_SET
        if libc().timerfd_settime(self._timer, flags, ctypes.byref(never), None) < 0:
            raise OSError(ctypes.get_errno(), "timerfd_settime")

    def fileno(self) -> int:
        return int(self._timer)

    def happened(self) -> bool:
        """Whether the clock was set since the last call; does not wait."""
        try:
            os.read(self._timer, 8)
        except BlockingIOError:
            return False
        except OSError as error:
            if error.errno != ECANCELED:
                raise
        self._arm()
        return True

    def close(self) -> None:
        os.close(self._timer)
