"""Counts requests and their latencies in a file, which metrics read beside the agent.

A file a pipeline below /run, in memory, so that counters go on where the agent is killed and begins
again; it goes with the pipeline (lock.py). All u64, in this machine's order, where nothing else is
noted:

    starts      how often an agent took the pipeline over since it was loaded, or the host booted
    started     when it did last, seconds of the Unix epoch, f64
    refused     requests that were refused
    force       a histogram: from a request's arrival to its being in force
    answer      from then to when it may be answered, on the disk if that is asked for
    slow        requests that took waits.SLOW and more
    waits       seconds of those for each of waits.CAUSES, f64

    histogram   the sum in seconds, f64; a count for each of BOUNDS, and one of what is above
"""

from __future__ import annotations

import mmap
import os
import struct
import time
from bisect import bisect_left
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

from .paths import RUN
from .waits import CAUSES

#: Seconds, each the upper end of a class.
BOUNDS = (
    50e-6, 100e-6, 250e-6, 500e-6, 1e-3, 2.5e-3, 5e-3, 10e-3, 25e-3, 50e-3, 100e-3, 250e-3, 1.0,
    5.0,
)  # fmt: skip
_HISTOGRAM = f"d{len(BOUNDS) + 1}Q"
_LAYOUT = struct.Struct(f"=QdQ{_HISTOGRAM}{_HISTOGRAM}Q{len(CAUSES)}d")
_REFUSED, _FORCE, _ANSWER, _SLOW = 2, 3, 3 + len(BOUNDS) + 2, 3 + 2 * (len(BOUNDS) + 2)


class Histogram(NamedTuple):
    """`counts` by class: one more than there are `BOUNDS`."""

    sum: float
    counts: tuple[int, ...]


class LatencyReport(NamedTuple):
    starts: int
    started: float
    refused: int
    force: Histogram
    answer: Histogram
    slow: int
    #: By waits.CAUSES.
    waits: dict[str, float]


class LatencyStats:
    """Counters of a pipeline that an agent owns. Methods may be called from any thread."""

    def __init__(self, pipeline: str) -> None:
        """Continues an existing file. Where no file can be written, nothing is counted."""
        self._lock = Lock()
        memory: mmap.mmap | bytearray = bytearray(_LAYOUT.size)
        with suppress(OSError):
            memory = _mapped(_path(pipeline))
        self._memory = memory
        self._counts: Any = memoryview(memory).cast("Q")
        self._sums: Any = memoryview(memory).cast("d")
        self._counts[0] += 1
        self._sums[1] = time.time()

    def made(self, force: float, answer: float) -> None:
        """A request took `force` seconds until it was in force, and `answer` more until its
        answer."""
        with self._lock:
            for at, seconds in ((_FORCE, force), (_ANSWER, answer)):
                self._sums[at] += seconds
                self._counts[at + 1 + bisect_left(BOUNDS, seconds)] += 1

    def slow(self, waits: Mapping[str, float]) -> None:
        """A request took `SLOW` and more; `waits`: seconds of it for each cause."""
        with self._lock:
            self._counts[_SLOW] += 1
            for at, cause in enumerate(CAUSES, _SLOW + 1):
                self._sums[at] += waits[cause]

    def refused(self) -> None:
        with self._lock:
            self._counts[_REFUSED] += 1

    def close(self) -> None:
        """Nothing is counted from now on. May be called again."""
        with self._lock:
            self._counts.release()
            self._sums.release()
            if isinstance(self._memory, mmap.mmap):
                self._memory.close()
            self._memory = bytearray(_LAYOUT.size)
            self._counts = memoryview(self._memory).cast("Q")
            self._sums = memoryview(self._memory).cast("d")


def read_latency(pipeline: str) -> LatencyReport | None:
    """The counters of a pipeline; None where no agent has owned it."""
    with suppress(OSError, struct.error):
        found = _LAYOUT.unpack(_path(pipeline).read_bytes())
        starts, started, refused = found[:_FORCE]
        force, answer = (
            Histogram(each[0], each[1:]) for each in (found[_FORCE:_ANSWER], found[_ANSWER:_SLOW])
        )
        waits = dict(zip(CAUSES, found[_SLOW + 1 :], strict=True))
        return LatencyReport(starts, started, refused, force, answer, found[_SLOW], waits)
    return None


def _mapped(path: Path) -> mmap.mmap:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        if os.fstat(descriptor).st_size != _LAYOUT.size:  # new, or another release's
            os.ftruncate(descriptor, 0)
        os.posix_fallocate(descriptor, 0, _LAYOUT.size)  # to write where no page is left is SIGBUS
        return mmap.mmap(descriptor, _LAYOUT.size)
    finally:
        os.close(descriptor)


def _path(pipeline: str) -> Path:
    return RUN / f"{pipeline}.tally"
