"""Loss, duplicates, late answers and reordering, against a plain model that remembers all."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from helioc.runtime.stamp.window import STEPS, Found, Window, size_for
from hypothesis import given, settings
from hypothesis import strategies as st

TIMEOUT = 1.0
#: A packet is lost this long after it left, or up to a `STEPS`th of the time-out later.
LOST = TIMEOUT * (STEPS + 1) / STEPS


def window(size: int = 64, timeout: float = TIMEOUT) -> Window:
    return Window(bytearray(size // 8), timeout)


@dataclass
class Plain:
    """What happened, and what it comes to."""

    sent: dict[int, float] = field(default_factory=dict)
    came: dict[int, float] = field(default_factory=dict)  # the first answer to each
    order: list[int] = field(default_factory=list)
    duplicates: int = 0

    def answer(self, number: int, now: float) -> None:
        if number in self.came:
            self.duplicates += 1
        else:
            self.came[number] = now
            self.order.append(number)

    def late(self, number: int) -> bool:
        return self.came[number] - self.sent[number] >= LOST

    def counts(self, now: float) -> dict[str, int]:
        in_time = [number for number in self.order if not self.late(number)]
        lost = [n for n, at in self.sent.items()
                if (n not in self.came or self.late(n)) and now - at >= LOST]  # fmt: skip
        reordered = sum(number < max(in_time[:at], default=-1) for at, number in enumerate(in_time))
        return {
            "sent": len(self.sent), "answered": len(in_time), "lost": len(lost),
            "late": sum(map(self.late, self.order)), "duplicates": self.duplicates,
            "reordered": reordered,
        }  # fmt: skip


#: Each packet leaves a tick after the one before; its answers come so many ticks later.
TICK = 0.25
ANSWERS = st.lists(st.integers(0, 12).map(lambda n: n + 0.5), max_size=3)


@settings(max_examples=300)
@given(st.lists(ANSWERS, min_size=1, max_size=80), st.integers(0, 2**32 - 1))
def test_counts_are_those_of_the_model(answers: list[list[float]], first: int) -> None:
    """Also where the numbers of the packets wrap."""
    plain, made = Plain(), window(size_for(TIMEOUT, TICK))
    made.take((first, first, 0, 0, 0, 0, 0, 0, first))
    # the model's steps: a departure is exactly on a tick, and answers are between two of them
    events = [(float(n), 0, n) for n in range(len(answers))]
    events += [(n + after, 1, n) for n, each in enumerate(answers) for after in each]
    now = 0.0
    for at, kind, number in sorted(events):
        now = at * TICK
        if kind == 0:
            plain.sent[number] = now
            made.send(now)
        else:
            plain.answer(number, now)
            made.answer((first + number) & 0xFFFFFFFF, now)
    now += 100.0
    made.expire(now)
    wanted = plain.counts(now)
    found = {name: getattr(made, name) for name in wanted}
    assert found == {**wanted, "sent": first + wanted["sent"]}
    assert made.waiting - first == 0 and not made.strange


def test_a_packet_is_lost_after_the_time_out_and_not_before() -> None:
    made = window()
    made.send(10.0)
    made.expire(10.0 + TIMEOUT - 1e-6)
    assert (made.lost, made.waiting) == (0, 1)
    made.expire(10.0 + LOST)
    assert (made.lost, made.waiting) == (1, 0)
    assert made.answer(0, 10.0 + LOST) == (Found.LATE, 0)
    assert made.answer(0, 11.0 + LOST) == (Found.DUPLICATE, 0)
    assert (made.lost, made.late, made.duplicates, made.answered) == (1, 1, 1, 0)


@pytest.mark.parametrize("sequence", [1, 2, 63, 64, 65, 2**31, 2**32 - 1])
def test_answers_to_nothing_that_was_sent_are_strange(sequence: int) -> None:
    made = window()
    made.send(0.0)
    assert made.answer(sequence, 0.1)[0] is Found.STRANGE
    assert (made.strange, made.answered) == (1, 0)
    assert window().answer(0, 0.0)[0] is Found.STRANGE  # before anything left


def test_a_replay_of_an_old_answer_is_strange_and_leaves_nothing() -> None:
    made = window(64)
    for number in range(200):
        made.send(number * 0.01)
        made.answer(number, number * 0.01)
    assert made.answer(100, 2.0)[0] is Found.STRANGE
    assert made.answer(150, 2.0)[0] is Found.DUPLICATE
    assert (made.sent, made.answered, made.lost) == (200, 200, 0)


def test_more_on_the_way_than_is_remembered_is_lost() -> None:
    """It cannot be, by `size_for`; it would not be forgotten silently."""
    made = window(64)
    for _ in range(100):
        made.send(0.0)
    assert made.lost == 36 and made.waiting == 64
    made.expire(100.0)
    assert made.lost == 100


def test_what_waits_for_its_time_out_takes_little() -> None:
    made = window(size_for(60.0, 0.001), 60.0)
    for number in range(60_000):
        made.send(number * 0.001)
    assert len(made._marks) <= STEPS + 2
    assert (made.lost, made.waiting) == (0, 60_000)


@given(st.floats(0.1, 60.0), st.floats(0.001, 3600.0))
def test_room_for_all_that_is_on_the_way(timeout: float, interval: float) -> None:
    size = size_for(timeout, interval)
    assert size & (size - 1) == 0 and 64 <= size <= 1 << 17
    assert size > timeout * (STEPS + 1) / STEPS / interval + 1


def test_after_a_restart_what_was_on_the_way_is_waited_for_again() -> None:
    bits = bytearray(8)
    before = Window(bits, TIMEOUT)
    for number in range(5):
        before.send(number * 0.1)
    before.answer(1, 0.45)
    after = Window(bits, TIMEOUT)
    after.take(before.counts())
    after.go_on(100.0)
    assert after.answer(1, 100.1)[0] is Found.DUPLICATE
    assert after.answer(3, 100.1)[0] is Found.FIRST
    after.send(100.2)
    assert after.answer(5, 100.3)[0] is Found.FIRST
    after.expire(200.0)
    assert (after.sent, after.answered, after.lost) == (6, 3, 3)
