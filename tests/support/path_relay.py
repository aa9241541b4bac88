"""A path between two devices, in user space: delay, jitter, loss, reordering, duplicates and rate
of the frames that a test means, as it says. This kernel may have no netem."""

from __future__ import annotations

import heapq
import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from typing import NamedTuple

from lab import Wire

THERE, BACK = "there", "back"
#: What becomes of a frame that goes `THERE` or `BACK`: after how many seconds each copy leaves.
Fate = Callable[[str, bytes], list[float]]


class Passed(NamedTuple):
    """`at`: when it came, by the monotonic clock; `delays`: its fate."""

    way: str
    frame: bytes
    at: float
    delays: list[float]


def at_once(way: str, frame: bytes) -> list[float]:
    return [0.0]


class Relay:
    """Passes frames on between two devices; those that are not `meant` at once. `fate` of the
    others may be changed at any time; `passed` are those that it decided about, oldest first, and
    `late` how much later than that each copy left, in seconds."""

    def __init__(self, near: Wire, far: Wire, meant: Callable[[bytes], bool]) -> None:
        self.wires, self._meant = {THERE: (near, far), BACK: (far, near)}, meant
        self.fate: Fate = at_once
        self.passed: list[Passed] = []
        self.late: list[float] = []
        self._due: list[tuple[float, int, Wire, bytes]] = []
        self._some, self._order, self._ended = threading.Condition(), count(), False
        self._threads = [threading.Thread(target=self._take, args=(way,)) for way in self.wires]
        self._threads.append(threading.Thread(target=self._send))

    def __enter__(self) -> Relay:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        with self._some:
            self._ended = True
            self._some.notify()
        for thread in self._threads:
            thread.join()

    def _take(self, way: str) -> None:
        source, target = self.wires[way]
        while not self._ended:
            frame = source.receive(0.1)
            if frame is None:
                continue
            at, delays = time.monotonic(), [0.0]
            with self._some:
                if self._meant(frame):
                    delays = self.fate(way, frame)
                    self.passed.append(Passed(way, frame, at, delays))
                for delay in delays:
                    heapq.heappush(self._due, (at + delay, next(self._order), target, frame))
                self._some.notify()

    def _send(self) -> None:
        while True:
            with self._some:
                if self._ended:
                    return
                now = time.monotonic()
                if not self._due or self._due[0][0] > now:
                    self._some.wait(self._due[0][0] - now if self._due else None)
                    continue
                due, _, target, frame = heapq.heappop(self._due)
            target.send(frame)
            self.late.append(time.monotonic() - due)


@dataclass
class Impairment:
    """A fate as of a link, one for each way and frame: frames leave after `delay`, give or take
    `jitter` (each value as likely; in their order), seconds; behind those before them at `rate`
    bits a second (0: at once). Of them the part `loss` is lost, `reorder` leaves at once, and
    `repeat` twice."""

    delay: float = 0.0
    jitter: float = 0.0
    loss: float = 0.0
    reorder: float = 0.0
    repeat: float = 0.0
    rate: float = 0.0
    chance: random.Random = field(default_factory=lambda: random.Random(1))
    _free: float = 0.0
    _last: float = 0.0

    def __call__(self, way: str, frame: bytes) -> list[float]:
        now = time.monotonic()
        if self.chance.random() < self.loss:
            return []
        if self.chance.random() < self.reorder:
            return [0.0]
        if self.rate:
            self._free = max(self._free, now) + 8 * len(frame) / self.rate
        due = max(self._free, now) + self.delay + self.chance.uniform(-self.jitter, self.jitter)
        self._last = max(self._last, due, now)
        copies = 2 if self.chance.random() < self.repeat else 1
        return [self._last - now] * copies
