"""When turns come, by a clock of the test's own."""

from __future__ import annotations

import threading
import time
import weakref

import pytest
from helioc.runtime.stamp.pacer import CATCHING_UP, LONGEST, STALLED, Pacer, Turn


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class Sent(Turn):
    """`at`: when it sent. `takes`: seconds of the clock. `most`: then it is over."""

    def __init__(self, clock: Clock, interval: float, takes: float = 0.0, most: int = 1 << 30):
        super().__init__(interval, self._send, self._skip)
        self.clock, self.takes, self.most = clock, takes, most
        self.at: list[float] = []
        self.skipped = 0

    def _send(self) -> bool:
        self.at.append(self.clock.now)
        self.clock.now += self.takes
        return len(self.at) < self.most

    def _skip(self, count: int) -> None:
        self.skipped += count


def run(pacer: Pacer, clock: Clock, seconds: float, late: float = 0.0) -> None:
    """As the thread does, which wakes `late`."""
    end = clock.now + seconds
    while clock.now < end:
        clock.now += min(pacer.advance(), LONGEST) + late


def test_turns_come_at_absolute_moments() -> None:
    """However long sending takes, and however late the thread wakes: nothing adds up."""
    clock = Clock()
    pacer, turn = Pacer(clock), Sent(clock, 0.1, takes=0.03)
    pacer.add(turn, spread=False)
    run(pacer, clock, 100.0, late=0.01)
    assert len(turn.at) in (1000, 1001) and not turn.skipped
    assert max(at - 1000.0 - n * 0.1 for n, at in enumerate(turn.at)) < 0.05


def test_what_the_machine_slept_through_is_counted_and_not_made_up_for() -> None:
    clock = Clock()
    pacer, turn = Pacer(clock), Sent(clock, 0.1)
    pacer.add(turn, spread=False)
    run(pacer, clock, 1.0)
    before = len(turn.at)
    clock.now += 60.0
    run(pacer, clock, 1.0)
    after = [at for at in turn.at[before:] if at < clock.now]
    assert 9 <= len(after) <= 12
    assert 597 <= turn.skipped <= 600
    assert len(turn.at) + turn.skipped == pytest.approx(620, abs=3)


def test_a_turn_that_is_over_comes_no_more() -> None:
    clock = Clock()
    pacer, turn = Pacer(clock), Sent(clock, 0.1, most=3)
    pacer.add(turn, spread=False)
    run(pacer, clock, 10.0)
    assert len(turn.at) == 3 and not pacer._due


def test_sessions_that_begin_together_do_not_send_together() -> None:
    clock = Clock()
    pacer, turns = Pacer(clock), [Sent(clock, 1.0) for _ in range(100)]
    for turn in turns:
        pacer.add(turn)
    run(pacer, clock, 3.0)
    assert len({turn.at[0] for turn in turns}) > 50
    assert all(len(turn.at) in (2, 3, 4) for turn in turns)


def test_who_sends_faster_than_it_can_leaves_turns_out() -> None:
    clock = Clock()
    pacer, turn = Pacer(clock), Sent(clock, 0.001, takes=0.0104)
    pacer.add(turn, spread=False)
    run(pacer, clock, 1.0)
    assert 90 <= len(turn.at) <= 100 and len(turn.at) + turn.skipped == pytest.approx(1000, abs=15)


def test_losses_are_not_certain_after_the_machine_stood_still() -> None:
    """Answers that came meanwhile may not have been read."""
    clock = Clock()
    pacer = Pacer(clock)
    pacer.add(Sent(clock, 0.1), spread=False)
    run(pacer, clock, 1.0)
    stopped = clock.now
    assert pacer.decided(0.5) == pytest.approx(stopped - 0.5, abs=0.2)
    clock.now += STALLED + 0.01
    assert pacer.decided(0.5) <= stopped - 0.5
    clock.now += 30.0
    assert pacer.decided(0.5) <= stopped - 0.5
    pacer.advance()
    assert pacer.decided(0.5) <= stopped - 0.5
    run(pacer, clock, CATCHING_UP + 0.2)
    assert pacer.decided(0.5) == pytest.approx(clock.now - 0.5, abs=0.2)


def test_the_thread_keeps_the_time() -> None:
    pacer, moments, done = Pacer(), list[float](), threading.Event()

    def send() -> bool:
        moments.append(time.monotonic())
        if len(moments) == 50:
            done.set()
        return len(moments) < 50

    pacer.start()
    pacer.add(Turn(0.01, send, lambda _: None), spread=False)
    assert done.wait(10)
    pacer.stop()
    pacer.stop()
    assert moments[-1] - moments[0] == pytest.approx(0.49, abs=0.1)
    Pacer().stop()  # never started


def test_what_is_removed_holds_nothing() -> None:
    """Its turn may be an hour away."""
    now = [0.0]
    pacer = Pacer(lambda: now[0])
    sent = list[float]()

    class Session:
        def send(self) -> bool:
            sent.append(now[0])
            return True

    session = Session()
    turn = Turn(3600.0, session.send, lambda count: None)
    pacer.add(turn, spread=False)
    pacer.advance()
    gone = weakref.ref(session)
    pacer.remove(turn)
    del turn, session
    assert gone() is None and len(sent) == 1 and not pacer._due


def test_one_that_is_removed_as_it_sends_is_not_called_again() -> None:
    now, sent = [0.0], list[float]()
    pacer = Pacer(lambda: now[0])

    def send() -> bool:
        sent.append(now[0])
        pacer.remove(turn)
        return True

    turn = Turn(1.0, send, lambda count: None)
    pacer.add(turn, spread=False)
    for now[0] in (0.0, 1.0, 2.0):
        pacer.advance()
    assert sent == [0.0] and not pacer._due
