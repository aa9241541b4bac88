"""`Timers`: one thread that calls functions at the times that they are to be called."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from heapq import heapify, heappop, heappush
from itertools import count
from threading import Condition, Thread

from .threads import log_error

#: Of as many as this most are looked through for those that were called off.
_MANY = 1024


class Timer:
    """Called off by `stop`, which may be called again."""

    __slots__ = ("work",)

    def __init__(self, work: Callable[[], object]) -> None:
        self.work: Callable[[], object] | None = work

    def stop(self) -> None:
        self.work = None


class Timers:
    """May be used by any thread. Its own is started when it is first needed, and sleeps until the
    next time; it is not woken for a later one."""

    def __init__(self) -> None:
        self._due: list[tuple[float, int, Timer]] = []
        self._numbers, self._changed = count(), Condition()
        self._most = _MANY
        self._thread: Thread | None = None

    def after(self, seconds: float, work: Callable[[], object]) -> Timer:
        """Do it then, if it is not called off. It must not wait; its error is logged."""
        timer = Timer(work)
        with self._changed:
            heappush(self._due, (time.monotonic() + seconds, next(self._numbers), timer))
            if len(self._due) > self._most:
                self._due = [each for each in self._due if each[2].work is not None]
                heapify(self._due)
                self._most = max(_MANY, 2 * len(self._due))
            if self._thread is None:
                with suppress(RuntimeError):  # there are too many: the next timer tries again
                    thread = Thread(target=self._run, name="timers", daemon=True)
                    thread.start()
                    self._thread = thread
            elif self._due[0][2] is timer:
                self._changed.notify()
        return timer

    def _run(self) -> None:
        while True:
            with self._changed:
                while not self._due or self._due[0][0] > time.monotonic():
                    wait = self._due[0][0] - time.monotonic() if self._due else None
                    self._changed.wait(wait)
                timer = heappop(self._due)[2]
            work, timer.work = timer.work, None
            if work is None:
                continue
            try:
                work()
            except Exception as error:  # of one: the others are done at their time
                log_error(error)
