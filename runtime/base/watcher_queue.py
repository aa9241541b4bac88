"""The queue of one watcher: what finds no room in it is counted, and reported in its place."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterator, Sequence
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


class CountedQueue(WatcherQueue[Item | int]):
    """Of items, and how many were left out between two of them."""

    def __init__(self, depth: int) -> None:
        """`depth`: items that wait at most."""
        super().__init__()
        self._depth, self._missed = depth, 0

    def offer(self, items: Sequence[Item]) -> None:
        """As many as there is room for."""
        if not items:
            return
        with self._some:
            if len(self._waiting) < self._depth - 1:  # there is room for an item behind the report
                self._report_missed()
            room = 0 if self._missed else self._depth - len(self._waiting)
            fitting = items[:room]
            self._waiting.extend(fitting)
            self._missed += len(items) - len(fitting)
            self._some.notify()

    def several(self, most: int) -> Iterator[list[Item | int]]:
        """Those that wait, so many at most at a time."""
        for first in self:
            with self._some:
                count = min(most - 1, len(self._waiting))
                more = [self._waiting.popleft() for _ in range(count)]
            yield [first, *more]

    def _report_missed(self) -> bool:
        missed, self._missed = self._missed, 0
        if missed:
            self._waiting.append(missed)
        return bool(missed)
