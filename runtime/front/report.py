"""Counts refused connections, and reports them once a second."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from threading import Lock

from .timers import Timers

#: Sources and reasons that are named a second; all others are counted together.
_NAMED = 64
_PERIOD = 1.0


class Refusals:
    """May be called by any thread."""

    def __init__(self, timers: Timers, report: Callable[[str, str, int], object]) -> None:
        """`report`: is called with a host, why and how often it was refused in the last second."""
        self._timers, self._report, self._lock = timers, report, Lock()
        self._found: Counter[tuple[str, str]] = Counter()

    def __call__(self, host: str, why: str) -> None:
        with self._lock:
            if not self._found:
                self._timers.after(_PERIOD, self._report_all)
            known = (host, why) in self._found or len(self._found) < _NAMED
            self._found[(host, why) if known else ("", "refused from many addresses")] += 1

    def _report_all(self) -> None:
        with self._lock:
            found, self._found = self._found, Counter()
        for (host, why), count in found.items():
            self._report(host, why, count)
