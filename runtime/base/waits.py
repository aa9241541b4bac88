"""Measures what slow requests waited for.

For each request of `SLOW` seconds or more the parts are counted (latency_stats.py); a limited rate
of them is logged by `heliod.slow`.
"""

from __future__ import annotations

import gc
import logging
import threading
import time
from collections.abc import Mapping
from typing import Any

from .logfmt import logfmt
from .source_limits import Bucket

#: Seconds from which on a request is slow.
SLOW = 0.005
#: `disk`: until it was on the disk. `turn`: while others had the pipeline, `snapshot`: one of these
#: in particular. `queue`: for answers to those before it in its stream. `collector`: Python's.
#: `work`: the rest, which is planning, writing maps, and waiting for a CPU.
CAUSES = ("disk", "turn", "snapshot", "queue", "collector", "work")
#: Lines at once, and a second after that.
_LINES, _RATE = 20.0, 1.0
_log = logging.getLogger("heliod.slow")
_of_thread = threading.local()


class _Collector:
    """`seconds`: of all collections so far."""

    def __init__(self) -> None:
        self.seconds, self._begun = 0.0, 0.0

    def __call__(self, phase: str, _: Mapping[str, Any]) -> None:
        now = time.perf_counter()
        if phase == "start":
            self._begun = now
        elif self._begun:
            self.seconds += now - self._begun


_collector = _Collector()
gc.callbacks.append(_collector)


class Waits:
    """Waits of one request, from now on. Its thread's waits for a turn count until it is in
    force."""

    __slots__ = ("_begun", "_collected", "_forced", "asked", "over", "waited")

    def __init__(self) -> None:
        """`asked`: when its answer was asked for, from when on it waited for the disk; `over`: when
        it could be answered; by time.perf_counter()."""
        self._begun = self._forced = self.asked = self.over = time.perf_counter()
        self._collected = _collector.seconds
        self.waited: dict[str, float] | None = None
        _of_thread.waits = self

    def in_force(self) -> None:
        self._forced = time.perf_counter()
        _of_thread.waits = None

    def parts(self) -> tuple[float, float]:
        """Seconds until it was in force, and then until it was over."""
        return self._forced - self._begun, self.over - self._forced

    def seconds(self) -> dict[str, float]:
        """For each of CAUSES, once it is over."""
        found = dict.fromkeys(CAUSES, 0.0) | (self.waited or {})
        found["disk"] = self.over - self.asked
        found["queue"] = self.asked - self._forced
        found["collector"] = _collector.seconds - self._collected
        found["work"] = max(0.0, self.over - self._begun - sum(found.values()))
        return found


def waited(cause: str, seconds: float) -> None:
    """Count a wait of this thread's request, if it has one."""
    waits: Waits | None = getattr(_of_thread, "waits", None)
    if waits is not None:
        waits.waited = found = waits.waited or {}
        found[cause] = found.get(cause, 0.0) + seconds


class SlowRequests:
    """Lines about those of a pipeline. May be used by any thread."""

    def __init__(self, pipeline: str) -> None:
        self._pipeline, self._lock = pipeline, threading.Lock()
        self._bucket = Bucket(_LINES, _RATE, _LINES, time.monotonic())
        self._more = 0

    def record(self, revision: int, seconds: Mapping[str, float]) -> None:
        """One came into force with this revision. Those that have no line are in the next one's
        `more`."""
        with self._lock:
            if not self._bucket.take(time.monotonic()):
                self._more += 1
                return
            more, self._more = self._more, 0
        parts = {f"{cause}_ms": each for cause, each in seconds.items()}
        parts = {"ms": sum(seconds.values()), **parts}
        fields = {"pipeline": self._pipeline, "revision": revision, "more": more} | {
            name: f"{1000 * each:.1f}" for name, each in parts.items()
        }
        named = {f"HELIO_{name.upper()}": str(value) for name, value in fields.items()}
        _log.info("%s", logfmt(fields), extra={"fields": named})
