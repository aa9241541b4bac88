"""Which of the numbers sent have been answered: loss, duplicates and reordering.

- lost: no answer within the time-out (RFC 7680 section 2.8.2); one that comes later is `late`, and
  stays lost
- duplicate: the same number again (RFC 5560)
- reordered: its number is below one that came before it (RFC 4737 section 3.3, Type-P-Reordered)

Numbers count on without end here; a packet has the lowest 32 bits. What is remembered has a fixed
size: a bit for each of the last `size` numbers.
"""

from __future__ import annotations

from collections import deque
from enum import Enum

_WIRE = 0xFFFFFFFF
#: A time-out is watched in so many steps: a packet is lost after it, or a part of it later.
STEPS = 64


class Found(Enum):
    FIRST = "first"
    LATE = "late"
    DUPLICATE = "duplicate"
    STRANGE = "strange"  # of a number that was not sent, or long ago


def size_for(timeout: float, interval: float) -> int:
    """Numbers to remember, a power of two: twice those that may be on the way."""
    return max(64, 1 << int(2 * timeout / interval + 2).bit_length())


class Window:
    """`sent`: the number of the next packet; below `decided` all are answered or lost. `bits`:
    which are answered, `size` bits of the caller's, all 0 for a new session."""

    COUNTS = ("sent", "decided", "answered", "lost", "late", "duplicates", "reordered", "strange",
              "expected")  # fmt: skip

    def __init__(self, bits: bytearray | memoryview, timeout: float) -> None:
        self._bits, self._size, self._timeout = bits, 8 * len(bits), timeout
        self.sent = self.decided = self.answered = self.lost = 0
        self.late = self.duplicates = self.reordered = self.strange = 0
        self.expected = 0  # above all that came in time
        self._marks: deque[tuple[float, int]] = deque()  # from then on, what is below it is lost

    def send(self, now: float) -> None:
        """A packet with the number `sent` has left."""
        number = self.sent
        if number - self.decided >= self._size:  # its bit is wanted
            self._decide(number - self._size + 1)
        at = number % self._size
        self._bits[at >> 3] &= ~(1 << (at & 7)) & 0xFF
        self.sent = number + 1
        self._mark(now)

    def _mark(self, now: float) -> None:
        step = self._timeout / STEPS
        if self._marks and now + self._timeout <= self._marks[-1][0]:
            self._marks[-1] = self._marks[-1][0], self.sent
        else:
            self._marks.append((now + self._timeout + step, self.sent))

    def go_on(self, now: float) -> None:
        """After a restart: what is on the way is waited for as if it had left now."""
        if self.sent > self.decided:
            self._mark(now)

    def expire(self, now: float) -> None:
        """What is not answered by now is lost."""
        while self._marks and self._marks[0][0] <= now:
            self._decide(self._marks.popleft()[1])

    def _decide(self, below: int) -> None:
        for number in range(self.decided, min(below, self.sent)):
            at = number % self._size
            self.lost += not self._bits[at >> 3] >> (at & 7) & 1
        self.decided = max(self.decided, min(below, self.sent))

    def answer(self, sequence: int, now: float) -> tuple[Found, int]:
        """An answer has this sequence number. Returns also the number without end."""
        self.expire(now)
        behind = (self.sent - sequence) & _WIRE
        number = self.sent - behind
        if not 0 < behind <= min(self._size, self.sent):
            self.strange += 1
            return Found.STRANGE, number
        at = number % self._size
        bit = 1 << (at & 7)
        if self._bits[at >> 3] & bit:
            self.duplicates += 1
            return Found.DUPLICATE, number
        self._bits[at >> 3] |= bit
        if number < self.decided:
            self.late += 1
            return Found.LATE, number
        self.answered += 1
        if number < self.expected:
            self.reordered += 1
        else:
            self.expected = number + 1
        return Found.FIRST, number

    def move(self, bits: memoryview) -> None:
        """The bits are others from now on, and as many."""
        bits[:] = self._bits
        self._bits = bits

    @property
    def waiting(self) -> int:
        """Numbers that are neither answered nor lost: `sent` = `answered` + `lost` + these."""
        return self.sent - self.answered - self.lost

    def counts(self) -> tuple[int, ...]:
        return tuple(getattr(self, name) for name in self.COUNTS)

    def take(self, counts: tuple[int, ...]) -> None:
        """Go on from there; the bits are the caller's."""
        for name, count in zip(self.COUNTS, counts, strict=True):
            setattr(self, name, count)
