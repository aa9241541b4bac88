"""Delay, jitter and loss of a path as they are now: of its last few probes, so that a path that
degrades is seen after two or three of them, and one probe alone changes nothing."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

#: Of so many probes, the last ones: the delay is the median, the jitter the mean, the loss a part.
DELAYS, STEPS, MEMORY = 3, 16, 100
#: The loss at least, once the last two probes are lost.
GONE = 0.5


class Measured(NamedTuple):
    """`delay` there and back, and `jitter`, the mean of |IPDV| (RFC 3393), in seconds; `loss`: 0 to
    1. None: too few probes say so."""

    delay: float | None = None
    jitter: float | None = None
    loss: float | None = None


class PathQuality:
    """Of one path, by what becomes of its probes."""

    def __init__(self) -> None:
        self.lost: deque[bool] = deque(maxlen=MEMORY)
        self._delays: deque[float] = deque(maxlen=DELAYS)
        self._steps: deque[float] = deque(maxlen=STEPS)
        self._last: tuple[int, float] | None = None

    def answer(self, number: int, delay: float) -> None:
        """A probe was answered, after so many seconds, in time or not."""
        self._delays.append(delay)
        if self._last is not None and number == self._last[0] + 1:
            self._steps.append(abs(delay - self._last[1]))
        self._last = number, delay

    def over(self, lost: bool) -> None:
        """The time for an answer is over, or it came in time."""
        self.lost.append(lost)

    def measured(self) -> Measured:
        delay = sorted(self._delays)[DELAYS // 2] if len(self._delays) == DELAYS else None
        return Measured(delay, self._jitter(), self._loss())

    def _jitter(self) -> float | None:
        """Also the least of the last three, lest the mean notices late that it has grown."""
        steps = [*self._steps]
        return max(sum(steps) / len(steps), min(steps[-3:])) if len(steps) >= 3 else None

    def _loss(self) -> float | None:
        """Of `MEMORY` probes, also while there are fewer: one of the first that is lost is no
        great loss."""
        if len(self.lost) < 2:
            return None
        gone = self.lost[-1] and self.lost[-2]
        return max(sum(self.lost) / MEMORY, GONE if gone else 0.0)
