"""Meters of rules and entries: token bucket, RFC 2697, RFC 2698, colour-blind and colour-aware.

What a bucket lacks is counted in bits times nanoseconds a second: what a rate of 1 bit/s brings in
1 ns. So a byte is 8 * 10^9, and nothing is rounded. Of a meter in packets, a packet is 10^9.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..base.colours import Colour

BYTE, PACKET = 8 * 1_000_000_000, 1_000_000_000
#: Bytes, or packets; a deeper bucket is as deep. Two of them in 64 bits.
DEEPEST = 1 << 30


class Metered(NamedTuple):
    """What buckets lack, and when, in ns. Those of a new rule lack nothing: they are full."""

    lacks: tuple[int, int] = (0, 0)
    at: int = 0

    def takes(
        self,
        values: Sequence[int],
        length: int,
        now: int,
        unit: int = BYTE,
        given: Colour = "green",
    ) -> tuple[Colour, Metered]:
        """The colour of a packet of `length` bytes, or of one packet (`unit`: BYTE or PACKET), that
        has the colour `given`; and what its tokens leave. `values`: rate and burst; CIR, CBS, EBS;
        CIR, CBS, PIR, PBS: bits or packets a second, bytes or packets. A rate of 0 lets nothing
        pass. A packet gets no better colour than it has."""
        passed, at = max(now - self.at, 0), max(now, self.at)
        need = length * unit
        first, second = _Bucket(values[0], values[1], unit), None
        lacks = first.later(self.lacks[0], passed), 0
        if len(values) == 2:
            green, yellow = given == "green" and first.has(lacks[0], need), False
        elif len(values) == 3:  # what the first has no room for goes to the second
            second = _Bucket(values[0], values[2], unit)
            over = max(passed * values[0] - min(self.lacks[0], first.depth), 0)
            lacks = lacks[0], max(min(self.lacks[1], second.depth) - over, 0)
            green = given == "green" and first.has(lacks[0], need)
            yellow = not green and given != "red" and second.has(lacks[1], need)
        else:
            second = _Bucket(values[2], values[3], unit)
            lacks = lacks[0], second.later(self.lacks[1], passed)
            within = given != "red" and second.has(lacks[1], need)
            green = within and given == "green" and first.has(lacks[0], need)
            yellow = within and not green
        both = len(values) == 4
        taken = lacks[0] + need * green, lacks[1] + need * (yellow or (both and green))
        colour: Colour = "green" if green else "yellow" if yellow else "red"
        return colour, Metered(taken, at)


class _Bucket:
    """`rate` in bits a second, `burst` in bytes; or both in packets."""

    def __init__(self, rate: int, burst: int, unit: int) -> None:
        self.rate, self.depth = rate, min(burst, DEEPEST) * unit

    def later(self, lacks: int, passed: int) -> int:
        """What it lacks so many ns later."""
        return max(min(lacks, self.depth) - self.rate * passed, 0)

    def has(self, lacks: int, need: int) -> bool:
        return self.rate > 0 and lacks + need <= self.depth
