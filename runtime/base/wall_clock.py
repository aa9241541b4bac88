"""Converts times of the monotonic clock, which nobody can set, to wall clock times."""

from __future__ import annotations

import time


def wall_time(moment: float) -> float:
    """Seconds of the Unix epoch, by the wall clock as it is set now: the same distance from now,
    however often that clock was set since."""
    return time.time() - (time.monotonic() - moment)
