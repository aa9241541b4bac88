"""Histograms of delays: how often each delay was measured, minute by minute of the last hour."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from .tables import Array

#: Bins of a logarithmic axis: 25 a decade from a microsecond to ten seconds; what is below or above
#: is in the first or the last.
LOWEST, DECADES, EACH = 1e-6, 7, 25
BINS = DECADES * EACH
MINUTES = 60
EDGES = tuple(LOWEST * 10 ** (n / EACH) for n in range(BINS + 1))


class Histogram:
    """Of one session. A round trip that is not known is not counted."""

    def __init__(self) -> None:
        self._counts = np.zeros((MINUTES, BINS), np.uint32)
        self._minute = np.full(MINUTES, -1)

    def add(self, seconds: Iterable[float], time: float) -> None:
        minute = int(time // 60)
        row = minute % MINUTES
        if self._minute[row] != minute:
            self._minute[row], self._counts[row] = minute, 0
        for each in seconds:
            self._counts[row, bin_of(each)] += 1

    def until(self, time: float, minutes: int) -> Array:
        """The counts of so many minutes, the last of which is that of `time`."""
        last = int(time // 60)
        rows = (self._minute <= last) & (self._minute > last - minutes)
        found: Array = self._counts[rows].sum(axis=0)
        return found


def bin_of(seconds: float) -> int:
    if seconds <= LOWEST:
        return 0
    return min(BINS - 1, int(math.log10(seconds / LOWEST) * EACH + 1e-9))
