"""Moments of the monotonic clock, which nobody can set, as the wall clock tells them."""

from __future__ import annotations

import time


def told(moment: float) -> float:
    """When it was, in seconds of the Unix epoch by the clock as it is set now: as long ago as it
    is, however often that was set since."""
    return time.time() - (time.monotonic() - moment)
