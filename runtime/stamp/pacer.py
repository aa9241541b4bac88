"""The thread that sends: each session at absolute moments, so that nothing drifts.

A session whose turn is long over, since the machine stood still, goes on with its next one: what
was not sent is counted, and is not made up for.
"""

from __future__ import annotations

import heapq
import math
import random
import threading
import time
from collections.abc import Callable
from itertools import count

#: Seconds: for which it sleeps at most, and within which sessions that are started together begin.
LONGEST, SPREAD = 0.2, 1.0
#: Without a look for so long the machine is taken to have stood still, and for so long after that
#: answers which came before may not have been read.
STALLED, CATCHING_UP = 0.4, 1.0


class Pacer:
    """Calls what is due. `now`: the monotonic clock, in seconds."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._due: list[tuple[float, int, Turn]] = []
        self._changed, self._order = threading.Condition(), count()
        self._ended = False
        self.looked = now()
        #: What happened from then on may not have been read before now.
        self._stood_still = float("-inf"), float("-inf")
        self._thread = threading.Thread(target=self._run, name="stamp-sender", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """May be called again, also where it was never started."""
        with self._changed:
            self._ended = True
            self._changed.notify()
        if self._thread.is_alive():
            self._thread.join()

    def add(self, turn: Turn, spread: bool = True) -> None:
        """`spread`: not at once, lest all begin at one moment."""
        first = self._now()
        if spread:
            first += random.uniform(0.0, min(turn.interval, SPREAD))
        with self._changed:
            self._put(first, turn)
            self._changed.notify()

    def remove(self, turn: Turn) -> None:
        """It is not called again, and nothing holds what it holds."""
        with self._changed:
            turn.over = True
            self._due = [each for each in self._due if each[2] is not turn]
            heapq.heapify(self._due)

    def _put(self, due: float, turn: Turn) -> None:
        heapq.heappush(self._due, (due, next(self._order), turn))

    def _run(self) -> None:
        while not self._ended:
            wait = self.advance()
            with self._changed:
                if not self._ended and (not self._due or self._due[0][0] > self._now()):
                    self._changed.wait(min(wait, LONGEST))

    def advance(self) -> float:
        """Send what is due. Returns in how many seconds the next is."""
        while True:
            self._look()
            with self._changed:
                if self._ended or not self._due or self._due[0][0] > self._now():
                    return max(0.0, self._due[0][0] - self._now()) if self._due else LONGEST
                due, _, turn = heapq.heappop(self._due)
            if not turn.send():
                continue  # it was stopped
            following, missed = due + turn.interval, 0
            if (late := self._now() - following) > turn.interval:
                missed = math.ceil(late / turn.interval)
                following += missed * turn.interval
                turn.skip(missed)
            with self._changed:
                if not turn.over:
                    self._put(following, turn)

    def _look(self) -> None:
        now = self._now()
        if now - self.looked > STALLED:
            self._stood_still = self.looked, now
        self.looked = now

    def decided(self, grace: float) -> float:
        """Up to which moment answers have surely been looked at: `grace` seconds ago, and where the
        machine stood still lately, before it did."""
        now = self._now()
        if now - self.looked > STALLED:
            return self.looked - grace
        begun, ended = self._stood_still
        return begun - grace if now - ended < CATCHING_UP else now - grace


class Turn:
    """Of a session that is going, every `interval` seconds, until `send` says that it is over."""

    def __init__(
        self, interval: float, send: Callable[[], bool], skip: Callable[[int], None]
    ) -> None:
        self.interval, self.send, self.skip = interval, send, skip
        self.over = False
