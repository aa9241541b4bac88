"""What answers come to, by times that the test writes."""

from __future__ import annotations

import statistics
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from helioc.runtime.stamp.kept import in_memory
from helioc.runtime.stamp.packets import TestPacket as Packet
from helioc.runtime.stamp.parameters import Parameters
from helioc.runtime.stamp.session import MOST_RESULTS, Answer, Session
from helioc.runtime.stamp.sockets import Sockets
from helioc.runtime.stamp.times import SECOND, Clock

ABOUT = Parameters(5, "198.51.100.2", source="192.0.2.2", timeout=1.0, clock="PTP")
MS = SECOND // 1000
#: Some milliseconds before the seconds wrap.
BASE = (2**32) * SECOND - 4 * MS


class Nowhere(Sockets):
    """`fails`: why the kernel refuses."""

    fails = ""

    def send(self, packet: Packet, number: int) -> None:
        if self.fails:
            raise OSError(101, self.fails)
        packet.at_this_moment(number)


def session(sent: int, **changes: Any) -> Session:
    made = Session(replace(ABOUT, **changes), in_memory(1024), None)
    for _ in range(sent):
        made.send(Nowhere(), 0.0)
    return made


def stamp(ns: int, clock: Clock) -> int:
    seconds, rest = divmod(ns + BASE, SECOND)
    return (seconds & 0xFFFFFFFF) << 32 | (rest if clock == "PTP" else -(-(rest << 32) // SECOND))


def answer(number: int, *ns: int, reflected: int = 0, clock: Clock = "PTP") -> Answer:
    """`ns`: the four times."""
    t1, t2, t3, t4 = (stamp(each, clock) for each in ns)
    return Answer(number, reflected, 61, t1, t2, t3, t4)


@pytest.mark.parametrize("clock", ["NTP", "PTP"])
def test_delays_of_three_directions(clock: Clock) -> None:
    made = session(3, clock=clock)
    forward, backward, there = (5, 9, 4), (3, 2, 8), (1, 0, 2)
    for number in range(3):
        times = [0, forward[number], forward[number] + there[number]]
        times.append(times[-1] + backward[number])
        assert made.record(answer(number, *(t * MS for t in times), clock=clock), 0.1) is not None
    for name, values in (
        ("forward", forward), ("backward", backward),
        ("round_trip", [f + b for f, b in zip(forward, backward, strict=True)]),
    ):  # fmt: skip
        delay, variation = made.delays[name].delay, made.delays[name].variation
        assert delay.mean == pytest.approx(statistics.fmean(values) * MS, abs=2)
        assert delay.variance == pytest.approx(statistics.variance(values) * MS**2, rel=1e-5)
        ipdv = [abs(b - a) for a, b in pairwise(values)]
        assert variation.mean == pytest.approx(statistics.fmean(ipdv) * MS, abs=2)


def test_one_way_measures_the_way_there_alone() -> None:
    made = session(1, measure="ONE_WAY")
    made.record(answer(0, 0, 5 * MS, 6 * MS, 9 * MS), 0.1)
    assert {name: each.delay.count for name, each in made.delays.items()} == {
        "forward": 1, "backward": 0, "round_trip": 0,
    }  # fmt: skip


def test_what_the_path_is_like_now() -> None:
    """By the round trip of answers, late ones too; what has none, or is lost, counts as such."""
    made = session(6)
    for number in range(3):
        made.record(answer(number, 0, 5 * MS, 6 * MS, (9 + number) * MS), 0.1)
    assert made.path.measured() == (0.009, None, 0.0)
    made.record(answer(3, 10 * MS, 11 * MS, 12 * MS, 9 * MS), 0.1)  # a clock was set
    with made.lock:
        made.expire(2.0)
    assert made.path.measured() == (0.009, None, 0.5)
    made.record(answer(4, 0, 5 * MS, 6 * MS, 1500 * MS), 2.0)
    made.record(answer(5, 0, 5 * MS, 6 * MS, 1500 * MS), 2.0)
    made.record(answer(5, 0, 5 * MS, 6 * MS, 1 * MS), 2.0)  # again
    assert made.path.measured().delay == 1.499 and made.window.lost == 2
    one_way = session(3, measure="ONE_WAY")
    for number in range(3):
        one_way.record(answer(number, 0, 5 * MS, 6 * MS, 90 * MS), 0.1)
    assert one_way.path.measured().delay == 0.005


@pytest.mark.parametrize(
    ("ns", "what"),
    [
        ((10, 11, 12, 9), "T4 before T1"), ((0, 12, 11, 20), "T3 before T2"),
        ((0, 5, 30, 20), "longer there than the way took"),
        ((0, 5, 6, 3_600_000), "an hour, of which the monotonic clock knows nothing"),
        ((0, 5, 6, 10**9), "eleven days"), ((10**9, 5, 6, 7), "and back"),
    ],
)  # fmt: skip
def test_a_clock_that_is_set_gives_no_delay_and_is_counted(ns: tuple[int, ...], what: str) -> None:
    made = session(1)
    result = made.record(answer(0, *(each * MS for each in ns)), 0.1)
    assert result is not None and result.invalid, what
    assert (made.counts.invalid, made.counts.out_of_step) == (1, 0)
    assert all(not each.delay.count for each in made.delays.values())
    assert (made.window.answered, made.window.lost) == (1, 0)  # it came


def test_clocks_that_are_apart_leave_the_round_trip() -> None:
    made = session(2)
    for number, offset in ((0, -5000 * MS), (1, 5000 * MS)):
        made.record(answer(number, 0, offset + 3 * MS, offset + 4 * MS, 7 * MS), 0.1)
    assert (made.counts.invalid, made.counts.out_of_step) == (0, 2)
    assert [made.delays[n].delay.count for n in ("forward", "backward", "round_trip")] == [0, 0, 2]
    assert made.delays["round_trip"].delay.least == 6 * MS
    assert all(each.delay.least >= 0 for each in made.delays.values())


def test_late_answers_and_duplicates_measure_nothing() -> None:
    made = session(2)
    good = answer(0, 0, 1, 2, 3)
    first = made.record(good, 0.1)
    assert first is not None and made.record(good, 0.2) is None
    late = made.record(answer(1, 0, 1, 2, 3), 50.0)
    assert late is not None and late.late and not late.invalid
    assert made.record(answer(7, 0, 1, 2, 3), 0.3) is None
    assert made.delays["forward"].delay.count == 1
    counts = made.window
    assert (counts.lost, counts.late, counts.duplicates, counts.strange) == (1, 1, 1, 1)


def test_results_are_taken_once_and_the_oldest_give_way() -> None:
    made = session(0)
    for number in range(MOST_RESULTS + 10):
        made.send(Nowhere(), 0.0)
        made.record(answer(number, 0, 1, 2, 3), 0.0)
    assert made.counts.dropped == 10
    first = made.take_results(3)
    assert [each.sequence for each in first] == [10, 11, 12]
    assert first[0].ttl == 61
    assert len(made.take_results()) == MOST_RESULTS - 3
    assert made.take_results() == []


def test_a_stateful_reflector_tells_losses_by_their_way() -> None:
    made = session(10, mode="STATEFUL")
    # 0 came before; of 1 to 9 these come to the reflector, and of its answers those come back
    came = {1: 100, 3: 101, 4: 102, 6: 103, 7: 104, 9: 105}
    assert made.lost_forward is None
    for number in (1, 4, 3, 9):
        made.record(answer(number, 0, 1, 2, 3, reflected=came[number]), 0.1)
    made.expire(100.0)
    assert made.window.lost == 6  # 0, 2, 5, 6, 7, 8
    assert made.lost_forward == 3  # 2, 5, 8; of 0 nobody knows
    assert session(1).lost_forward is None


@pytest.mark.parametrize("reflected", [0, 2**32 - 1, 5_000_000])
def test_a_reflector_that_begins_again_loses_nothing(reflected: int) -> None:
    made = session(6, mode="STATEFUL")
    numbers = [500, 501, 502, *(reflected + n & 0xFFFFFFFF for n in range(3))]
    for number, own in enumerate(numbers):
        made.record(answer(number, 0, 1, 2, 3, reflected=own), 0.1)
    assert made.lost_forward == 0


def test_a_packet_that_the_kernel_refuses_has_no_number() -> None:
    made, sockets = session(1), Nowhere()
    sockets.fails = "Network is unreachable"
    made.send(sockets, 0.0)
    assert (made.window.sent, made.counts.unsent) == (1, 1)
    assert made.why == "network is unreachable"
    sockets.fails = ""
    made.send(sockets, 0.0)
    assert (made.window.sent, made.why) == (2, "")


def test_all_counts_are_there_after_a_restart() -> None:
    slot = in_memory(1024)
    about = replace(ABOUT, mode="STATEFUL")
    before = Session(about, slot, None)
    for number in range(20):
        before.send(Nowhere(), number * 0.01)
        if number % 3:
            ns = 0, 5 * MS + number, 6 * MS, 9 * MS + number * number
            before.record(answer(number, *ns, reflected=number), number * 0.01)
    before.skip(3)
    before.send(Nowhere(), 0.2)
    after = Session(about, slot, None)
    assert after.window.counts() == before.window.counts()
    assert after.counts == before.counts
    for name in before.delays:
        for what in ("delay", "variation"):
            made, was = (getattr(each.delays[name], what) for each in (after, before))
            assert made.values() == was.values()
    after.leave()
    after.send(Nowhere(), 0.3)
    assert Session(about, slot, None).window.sent == after.window.sent - 1
