"""Mean and variance of delays while they come (Welford 1962), and their variation (RFC 3393)."""

from __future__ import annotations

import math
import struct

#: Delays of so many sequence numbers are known for the variation of their neighbours.
REMEMBERED = 64


class Moments:
    """Of integers, here nanoseconds. `m2`: the sum of squared distances from the mean."""

    __slots__ = ("count", "least", "m2", "mean", "most")
    LAYOUT = struct.Struct("<qddqq")

    def __init__(self) -> None:
        self.count = self.least = self.most = 0
        self.mean = self.m2 = 0.0

    def add(self, value: int) -> None:
        self.count += 1
        distance = value - self.mean
        self.mean += distance / self.count
        self.m2 += distance * (value - self.mean)
        if self.count == 1:
            self.least = self.most = value
        elif value < self.least:
            self.least = value
        elif value > self.most:
            self.most = value

    @property
    def variance(self) -> float:
        """Of the sample (divided by one less than the count); 0 below two values."""
        return self.m2 / (self.count - 1) if self.count > 1 else 0.0

    @property
    def deviation(self) -> float:
        return math.sqrt(self.variance)

    def values(self) -> tuple[float, ...]:
        """As `LAYOUT` has them."""
        return self.count, self.mean, self.m2, self.least, self.most

    def take(self, values: tuple[float, ...]) -> None:
        """Go on from there."""
        count, self.mean, self.m2, least, most = values
        self.count, self.least, self.most = int(count), int(least), int(most)


class Delays:
    """Of one direction. `variation`: of |IPDV|, the distance of a packet's delay from that of the
    packet sent just before it (RFC 3393; RFC 5481 section 4.1). Where either is not there it is not
    defined, so that loss adds nothing; the offset of two clocks does not show in it."""

    __slots__ = ("_lately", "delay", "variation")

    def __init__(self) -> None:
        self.delay, self.variation = Moments(), Moments()
        self._lately: dict[int, int] = {}

    def add(self, number: int, delay: int) -> None:
        """Of the packet with this sequence number, whichever came before; each number once."""
        self.delay.add(delay)
        for neighbour in (number - 1, number + 1):
            other = self._lately.get(neighbour)
            if other is not None:
                self.variation.add(abs(delay - other))
        self._lately[number] = delay
        if len(self._lately) > REMEMBERED:
            del self._lately[next(iter(self._lately))]
