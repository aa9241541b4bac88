"""The threads that calls are carried out by, so many at a time for each host: who has more of them
going waits for its own, and nobody else does."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Lock

from ...lang.ending import diagnosed
from ...lang.render import render

Work = Callable[[], object]
_log = logging.getLogger("heliod.front")


class Threads:
    """They are started when they are needed."""

    def __init__(self, all_: int, each: int) -> None:
        """`each`: at a time of one host."""
        self._pool = ThreadPoolExecutor(all_, "rpc")
        self._each, self._lock = each, Lock()
        self._going: dict[str, int] = {}
        self._waiting: dict[str, deque[Work]] = {}

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
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _begin(self, host: str, work: Work) -> None:
        try:
            self._pool.submit(self._do, host, work)
        except RuntimeError:  # it was stopped
            return

    def _do(self, host: str, work: Work) -> None:
        try:
            work()
        except Exception as error:
            for found in diagnosed(error, "heliod"):
                _log.error("%s", render(found))
        with self._lock:
            waiting = self._waiting.get(host)
            if not waiting:
                self._waiting.pop(host, None)
                self._going[host] -= 1
                if not self._going[host]:
                    del self._going[host]
                return
            work = waiting.popleft()
        self._begin(host, work)  # behind what others have waiting
