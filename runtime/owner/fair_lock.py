"""Whose turn it is with a pipeline: one at a time; who has it for long lets others in between."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock

from ...lang.text.cancel import check_cancelled
from ..base.waits import waited

#: Seconds that a large request goes on at a time while others wait.
SLICE = 0.001


class FairLock:
    """Of those who wait one stands at the door, whom `let_in` lets in before anybody else."""

    def __init__(self) -> None:
        self._door, self._turn = Lock(), Lock()
        self._since = 0.0
        #: What those who wait for it wait for, of waits.CAUSES.
        self._cause = "turn"
        self._left = deque[Callable[[], object]]()

    def take(self, seconds: float = -1) -> bool:
        """Whether it is ours, within that time (-1: however long it takes)."""
        # Who stands at the door goes first.
        if (self._door.locked() or not self._turn.acquire(False)) and not self._wait(seconds):
            return False
        self._since = time.monotonic()
        while self._left:
            self._left.popleft()()
        return True

    def _wait(self, seconds: float) -> bool:
        cause, begun = self._cause, time.monotonic()
        if not self._door.acquire(timeout=seconds):
            return False
        try:
            left = max(0.0, begun + seconds - time.monotonic()) if seconds >= 0 else -1
            return self._turn.acquire(timeout=left)
        finally:
            self._door.release()
            waited(cause, time.monotonic() - begun)

    @contextmanager
    def held_for(self, cause: str) -> Iterator[None]:
        """Those who wait for the turn in this block wait for this one of waits.CAUSES."""
        self._cause = cause
        try:
            yield
        finally:
            self._cause = "turn"

    def give(self) -> None:
        self._since = 0.0
        self._turn.release()

    def leave(self, work: Callable[[], object]) -> None:
        """Have it done as the next turn begins, by whoever has that. It must not fail or wait."""
        self._left.append(work)

    def lasting(self) -> float:
        """Seconds since whoever has the turn took it or went on with the next piece; 0 where nobody
        has it."""
        since = self._since
        return time.monotonic() - since if since else 0.0

    def go_on(self) -> None:
        """Whoever has the turn begins the next piece."""
        self._since = time.monotonic()

    @property
    def waited_for(self) -> bool:
        return self._door.locked()

    def let_in(self) -> None:
        """Whoever has the turn lets one in who waits, and has it again."""
        self._turn.release()
        self.take()


class Slices:
    """The pauses of a large request (lang/contract/rules/interleaving.py). `check`: is called when
    others were let in, and raises what must end it."""

    def __init__(self, lock: FairLock, check: Callable[[], None]) -> None:
        self._lock, self._check = lock, check
        self._until = time.perf_counter() + SLICE

    def __call__(self) -> None:
        if time.perf_counter() < self._until:
            return
        check_cancelled()
        if self._let_in():
            self._check()

    def rest(self) -> None:
        if time.perf_counter() >= self._until:
            self._let_in()

    def _let_in(self) -> bool:
        """Whether anybody was."""
        waited_for = self._lock.waited_for
        if waited_for:
            self._lock.let_in()
        else:
            self._lock.go_on()
            os.sched_yield()  # to who is on the way here: on one CPU it may need this one
        self._until = time.perf_counter() + SLICE
        return waited_for

    @contextmanager
    def without_turn(self) -> Iterator[None]:
        self._lock.give()
        try:
            yield
        finally:
            self._lock.take()
            self._until = time.perf_counter() + SLICE
        check_cancelled()
        self._check()
