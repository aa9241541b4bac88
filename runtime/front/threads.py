"""The threads that calls are carried out by, a number at a time for each host: who has more of them
going waits for its own, and nobody else does."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from queue import Empty, SimpleQueue
from threading import Lock, Thread

from ...lang.text.exit_status import diagnosed
from ..base.logs import text as log_text

Work = Callable[[], object]
#: Seconds without work after which a thread ends.
IDLE = 30.0
_log = logging.getLogger("heliod.front")


class Threads:
    """They are started when they are needed, end when they were not for long, and are not waited
    for when the process ends."""

    def __init__(self, all_: int, each: int) -> None:
        """`each`: at a time of one host."""
        self._all, self._each, self._lock = all_, each, Lock()
        self._going: dict[str, int] = {}
        self._waiting: dict[str, deque[Work]] = {}
        self._queue = SimpleQueue[tuple[str, Work] | None]()
        self._started, self._stopped = 0, False
        self._free = 0  # threads that wait for work, without as many as work waits for

    def submit(self, host: str, work: Work) -> None:
        """What one host has waiting is begun in the order in which it came."""
        with self._lock:
            going = self._going.get(host, 0)
            if going >= self._each:
                self._waiting.setdefault(host, deque()).append(work)
                return
            self._going[host] = going + 1
            self._begin(host, work)

    def stop(self) -> None:
        """What has begun goes on to its end; nothing else is begun."""
        with self._lock:
            self._stopped = True
            for _ in range(self._started):
                self._queue.put(None)

    def _begin(self, host: str, work: Work) -> None:
        """The lock is had."""
        self._queue.put((host, work))
        self._free -= 1
        if self._free >= 0 or self._started == self._all or self._stopped:
            return
        try:
            Thread(target=self._run, name=f"rpc-{self._started}", daemon=True).start()
        except RuntimeError as error:  # there may be no more of them: others do it
            log_error(error)
        else:
            self._started += 1
            self._free += 1

    def _run(self) -> None:
        while self._goes_on():
            pass

    def _goes_on(self) -> bool:
        """A thread that waits for its next work holds nothing of the last."""
        try:
            found = self._queue.get(timeout=IDLE)
        except Empty:
            return not self._may_end()
        if found is None or self._stopped:
            return False
        host, work = found
        try:
            work()
        except Exception as error:
            log_error(error)
        with self._lock:
            self._free += 1
            waiting = self._waiting.get(host)
            if waiting:
                self._begin(host, waiting.popleft())  # behind what others have waiting
                return True
            self._waiting.pop(host, None)
            self._going[host] -= 1
            if not self._going[host]:
                del self._going[host]
            return True

    def _may_end(self) -> bool:
        """Whether there is no work for a thread that waited for long."""
        with self._lock:
            if self._free <= 0:  # it comes in this moment
                return False
            self._free -= 1
            self._started -= 1
            return True


def log_error(error: Exception) -> None:
    """One that nobody waits for."""
    for found in diagnosed(error, "heliod"):
        _log.error("%s", log_text(found))
