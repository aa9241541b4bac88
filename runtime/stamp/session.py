"""A session: what it sends, and what its answers come to."""

from __future__ import annotations

import struct
from collections import deque
from dataclasses import dataclass
from threading import Lock
from typing import NamedTuple

from ..edge.path_quality import MEMORY, PathQuality
from .kept import Slot, in_memory
from .moments import Delays, Moments
from .packets import TestPacket
from .parameters import Parameters
from .sockets import Sockets
from .times import SECOND, Clock, converted, distance
from .window import STEPS, Found, Window

#: Answers that are kept of a session until somebody takes them, the oldest of which gives way.
MOST_RESULTS = 1024
_WIRE = 0xFFFFFFFF


class Result(NamedTuple):
    """An answer: the sender's sequence number and the reflector's, the TTL that the test packet had
    left, the four times in the session's format. `late`: after the time-out; `invalid`: see
    `Counts.invalid`."""

    sequence: int
    reflected: int
    ttl: int
    t1: int
    t2: int
    t3: int
    t4: int
    late: bool
    invalid: bool


_RESULT = struct.Struct("<IIB4Q??")


class Answer(NamedTuple):
    """As the pipeline records it."""

    sequence: int
    reflected: int
    ttl: int
    t1: int
    t2: int
    t3: int
    t4: int


def in_step(about: Parameters, found: Answer | Result) -> bool:
    """Whether the clocks of both ends agree as far as an answer tells: each way took some time."""
    clock = about.clock
    return distance(found.t1, found.t2, clock) >= 0 and distance(found.t3, found.t4, clock) >= 0


def delays_of(about: Parameters, found: Answer | Result) -> dict[str, int]:
    """Nanoseconds of each direction that has a delay, by `DIRECTIONS`, of a valid answer."""
    there = distance(found.t1, found.t2, about.clock)
    back = distance(found.t3, found.t4, about.clock)
    made = {"forward": there, "backward": back} if there >= 0 and back >= 0 else {}
    if about.measure == "ONE_WAY":
        made.pop("backward", None)
        return made
    return {**made, "round_trip": there + back}


@dataclass
class Counts:
    """`invalid`: answers of which a clock was set in between, so that they have no round trip: T4
    before T1, T3 before T2, T3 - T2 above T4 - T1, or T4 - T1 above the time-out though it was not
    over. `out_of_step`: T2 before T1, or T4 before T3: the clocks of the ends are apart, and
    neither way has a delay. `unsent`: packets that the kernel refused; `skipped`: that were not
    sent in their turn since the machine stood still; `dropped`: results that gave way. Of a
    stateful reflector: `reflected` packets came to it, as far as answers tell, of `reached` that
    were sent since its first answer, whose numbers are `first_number` and, of the last one,
    `last_reflected`."""

    invalid: int = 0
    out_of_step: int = 0
    unsent: int = 0
    skipped: int = 0
    dropped: int = 0
    reflected: int = 0
    reached: int = 0
    first_number: int = -1  # whence the two count
    last_reflected: int = 0

    def values(self) -> tuple[int, ...]:
        return tuple(self.__dict__.values())


_COUNTS = struct.Struct(f"<{len(Counts().values())}q")
_WINDOW = struct.Struct(f"<{len(Window.COUNTS)}q")
DIRECTIONS = ("forward", "backward", "round_trip")
_KEPT = _WINDOW.size + _COUNTS.size + 2 * len(DIRECTIONS) * Moments.LAYOUT.size


class Session:
    """Its methods may be called from any thread: `lock` is theirs."""

    def __init__(self, about: Parameters, slot: Slot, error: int | None) -> None:
        """`slot`: where its counts are, also those from before a restart. `error`: of the clock, in
        ns, None where nothing synchronises it."""
        self.about, self._slot, self.lock = about, slot, Lock()
        self.packet = TestPacket(about, error)
        self.window = Window(slot.bits, about.timeout)
        self.delays = {name: Delays() for name in DIRECTIONS}
        self.counts = Counts()
        self.results: deque[bytes] = deque()
        self.path = PathQuality()  # since the agent runs
        self.why = ""  # what keeps it from sending
        kept = slot.read()
        if kept is not None and len(kept) == _KEPT:  # else another release wrote it
            self._take(kept)
        self._lost = self.window.lost

    # ---- sending ----------------------------------------------------------------------------

    def send(self, sockets: Sockets, now: float) -> None:
        """The next packet. What the kernel refuses has no number, and is counted."""
        with self.lock:
            try:
                sockets.send(self.packet, self.window.sent)
            except OSError as error:
                self.counts.unsent += 1
                self.why = (error.strerror or str(error)).lower()
            else:
                self.window.send(now)
                self.why = ""
            self._keep()

    def restamp(self, error: int | None) -> None:
        """The clock's error is another one by now."""
        with self.lock:
            self.packet = TestPacket(self.about, error)

    def skip(self, count: int) -> None:
        with self.lock:
            self.counts.skipped += count

    def go_on(self, now: float) -> None:
        with self.lock:
            self.window.go_on(now)

    # ---- answers ----------------------------------------------------------------------------

    def record(self, answer: Answer, at: float, clock: Clock | None = None) -> Result | None:
        """An answer came at this moment of the monotonic clock. `clock`: the format of the
        reflector's times, None where nothing says that it is another one. None of one that is
        none, or a duplicate."""
        own = self.about.clock
        t2, t3 = (converted(t, clock or own, own) for t in (answer.t2, answer.t3))
        answer = answer._replace(t2=t2, t3=t3)
        with self.lock:
            found, number = self.window.answer(answer.sequence, at)
            self._note_losses()
            result = None
            if found in (Found.FIRST, Found.LATE):
                invalid = not self._measure(answer, number, found is Found.FIRST)
                self._note(answer, number, found is Found.FIRST, invalid)
                result = Result(*answer, found is Found.LATE, invalid)
                if len(self.results) == MOST_RESULTS:
                    self.results.popleft()
                    self.counts.dropped += 1
                self.results.append(_RESULT.pack(*result))
            self._keep()
            return result

    def _measure(self, answer: Answer, number: int, in_time: bool) -> bool:
        """Whether it has a round trip. A late one adds nothing: it is lost."""
        about = self.about
        whole = distance(answer.t1, answer.t4, about.clock)
        there = distance(answer.t2, answer.t3, about.clock)
        if not in_time:
            return 0 <= there <= whole
        if about.mode == "STATEFUL":
            self._follow(number, answer.reflected)
        if not 0 <= there <= whole <= about.timeout * SECOND * (STEPS + 1) / STEPS:
            self.counts.invalid += 1
            return False
        self.counts.out_of_step += not in_step(about, answer)
        for name, delay in delays_of(about, answer).items():
            self.delays[name].add(number, delay)
        return True

    def _note(self, answer: Answer, number: int, in_time: bool, invalid: bool) -> None:
        """What the path is like now, by the round trip; of a one-way session by the way there."""
        if in_time:
            self.path.over(lost=False)
        found = delays_of(self.about, answer) if not invalid else {}
        if (delay := found.get("round_trip", found.get("forward"))) is not None:
            self.path.answer(number, delay / SECOND)

    def _note_losses(self) -> None:
        more, self._lost = self.window.lost - self._lost, self.window.lost
        for _ in range(min(more, MEMORY)):
            self.path.over(lost=True)

    def _follow(self, number: int, reflected: int) -> None:
        """The reflector's own numbers say how many packets came to it."""
        counts = self.counts
        if counts.first_number < 0:
            counts.first_number, counts.last_reflected = number, reflected
            counts.reflected = counts.reached = 1
            return
        more = (reflected - counts.last_reflected) & _WIRE
        if number - counts.first_number < counts.reached:  # one that came before was sent later
            return
        further = number - counts.first_number + 1 - counts.reached
        if more > 2 * further + 64:  # another reflector, or one that began again
            more = further
        counts.reflected += more
        counts.reached += further
        counts.last_reflected = reflected

    # ---- looking ----------------------------------------------------------------------------

    def expire(self, now: float) -> None:
        """What is not answered by now is lost. Called with the lock held."""
        self.window.expire(now)
        self._note_losses()
        self._keep()

    @property
    def lost_forward(self) -> int | None:
        """Packets that did not come to a stateful reflector, of those before the last that is known
        to have: a lower bound of `lost` on the way there. None where nobody knows."""
        if self.about.mode != "STATEFUL" or self.counts.first_number < 0:
            return None
        return max(0, self.counts.reached - self.counts.reflected)

    def take_results(self, most: int | None = None) -> list[Result]:
        """The oldest, so many at most, which are kept no longer."""
        with self.lock:
            count = len(self.results) if most is None else min(most, len(self.results))
            packed = [self.results.popleft() for _ in range(count)]
        return [Result(*_RESULT.unpack(each)) for each in packed]

    def leave(self) -> None:
        """Its slot is another's from now on."""
        with self.lock:
            self._slot = in_memory(8 * len(self._slot.bits))
            self._keep()
            self.window.move(self._slot.bits)

    # ---- over a restart ---------------------------------------------------------------------

    def _moments(self) -> list[Moments]:
        return [each for name in DIRECTIONS
                for each in (self.delays[name].delay, self.delays[name].variation)]  # fmt: skip

    def _keep(self) -> None:
        parts = [_WINDOW.pack(*self.window.counts()), _COUNTS.pack(*self.counts.values())]
        parts += [Moments.LAYOUT.pack(*each.values()) for each in self._moments()]
        self._slot.write(b"".join(parts))

    def _take(self, kept: bytes) -> None:
        self.window.take(_WINDOW.unpack_from(kept))
        self.counts = Counts(*_COUNTS.unpack_from(kept, _WINDOW.size))
        at = _WINDOW.size + _COUNTS.size
        for each in self._moments():
            each.take(Moments.LAYOUT.unpack_from(kept, at))
            at += Moments.LAYOUT.size
