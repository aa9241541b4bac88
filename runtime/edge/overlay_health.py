"""Derives an overlay's state and quality from the answers to its probes. Pure: times are
arguments."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import Literal

from .liveness_settings import Liveness
from .path_quality import PathQuality

State = Literal["unknown", "alive", "dead"]
#: Probes that were not answered in time, and whose answers may still come.
_LATE = 100
_G, _H = 1 / 8, 1 / 4  # RFC 6298 section 2


@dataclass(frozen=True)
class Quality:
    """`loss`: of the last 100 probes, 0 to 1. `delay` and `jitter`: the smoothed round-trip time
    and its mean deviation (RFC 6298), seconds, 0 without an answer so far. `since`: when it came
    into its state, seconds of the Unix epoch."""

    state: State
    loss: float = 0.0
    delay: float = 0.0
    jitter: float = 0.0
    sent: int = 0
    answered: int = 0
    since: float = 0.0

    @property
    def delays(self) -> tuple[float, float] | None:
        """Delay and jitter; None where no probe was answered."""
        return (self.delay, self.jitter) if self.answered else None


class Health:
    """Of one overlay. It counts as alive until it is found dead: `multiplier` probes in a row that
    were not answered in time, which is an interval, or more where answers are known to take longer.
    Dead, it is alive again when all probes have been answered for `hold_down` seconds."""

    def __init__(self, settings: Liveness, alive: bool = True) -> None:
        self.settings, self.alive = settings, alive
        self.sent = self.answered = 0
        self.state: State = "unknown" if alive else "dead"
        self.delay = self.jitter = 0.0
        self.path = PathQuality()
        self._waiting: OrderedDict[int, float] = OrderedDict()
        self._late: OrderedDict[int, float] = OrderedDict()
        self._answered_last = self._lost_last = 0
        self._good_since: float | None = None

    def probed(self, now: float) -> int:
        """A probe is being sent; its number."""
        self.sent += 1
        self._waiting[self.sent] = now
        return self.sent

    def answer(self, number: int, delay: float, now: float) -> None:
        """A probe was answered, `delay` seconds after it was sent. A late answer shows that there
        is a way, but its probe stays lost. One to nothing that was asked, or a second one, shows
        nothing."""
        sent = self._waiting.pop(number, None)
        if sent is not None:
            self.path.over(lost=False)
            self.answered += 1
        elif (sent := self._late.pop(number, None)) is None:
            return
        delay = min(delay, max(0.0, now - sent))  # whatever the answer says
        self.path.answer(number, delay)
        self._smooth(delay)
        self._answered_last = max(self._answered_last, number)
        if self._good_since is None:
            self._good_since = now

    def cut(self) -> bool:
        """There is no way at all: dead at once. Whether its state changed."""
        was, self.state, self.alive = self.state, "dead", False
        self._lost_last, self._good_since = self.sent, None
        return was != "dead"

    def judge(self, now: float) -> bool:
        """Whether its state changed, by what was not answered in time."""
        while self._waiting:
            number, sent = next(iter(self._waiting.items()))
            if now - sent < self._patience:
                break
            self._late[number] = self._waiting.pop(number)
            if len(self._late) > _LATE:
                self._late.popitem(last=False)
            self.path.over(lost=True)
            self._lost_last = number
        missed = self._lost_last - self._answered_last
        if missed > 0:
            self._good_since = None
        was = self.state
        if missed >= self.settings.multiplier:
            self.alive, self.state = False, "dead"
        elif self._good_since is not None and self._held(now):
            self.alive, self.state = True, "alive"
        return self.state != was

    @property
    def _patience(self) -> float:
        """Seconds in which a probe is answered in time: the timeout of RFC 6298, within bounds."""
        interval = self.settings.interval
        usual = self.delay + 4 * self.jitter
        return min(max(interval, usual), interval * self.settings.multiplier)

    def _held(self, now: float) -> bool:
        assert self._good_since is not None
        return self.alive or now - self._good_since >= self.settings.hold_down

    @property
    def loss(self) -> float:
        lost = self.path.lost
        return sum(lost) / len(lost) if lost else 0.0

    def _smooth(self, delay: float) -> None:
        if not self.delay:
            self.delay, self.jitter = delay, delay / 2
            return
        self.jitter += _H * (abs(delay - self.delay) - self.jitter)
        self.delay += _G * (delay - self.delay)
