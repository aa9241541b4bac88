"""The queue of one watcher: what finds no room in it is counted, and reported in its place."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterator
from threading import Condition
from typing import Generic, TypeVar

Item = TypeVar("Item")


class WatcherQueue(ABC, Generic[Item]):
    """What puts something there holds `_some`."""

    def __init__(self) -> None:
        self._waiting: deque[Item] = deque()
        self._some = Condition()
        self._closed = False

    @abstractmethod
    def _report_missed(self) -> bool:
        """Put how much was left out behind what waits, once; whether anything was."""

    def close(self) -> None:
        """The watcher's iteration ends with what is waiting."""
        with self._some:
            self._closed = True
            self._some.notify()

    def __iter__(self) -> Iterator[Item]:
        while True:
            with self._some:
                # With nothing left to wait behind, as perhaps nothing else happens for long.
                while not self._waiting and not self._report_missed():
                    if self._closed:
                        return
                    self._some.wait()
                found = self._waiting.popleft()
            yield found
