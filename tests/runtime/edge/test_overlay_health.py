"""When an overlay counts as dead, and when as alive again; with a clock of the test's own."""

from __future__ import annotations

import pytest
from helioc.runtime.edge.liveness_settings import Liveness
from helioc.runtime.edge.overlay_health import Health
from hypothesis import given
from hypothesis import strategies as st

SETTINGS = Liveness(interval=1, multiplier=3, hold_down=5)
DELAY = 0.01


def run(health: Health, answered: str, start: float = 0.0) -> list[tuple[float, str]]:
    """Probe once a second, answered (+) or not (-). Returns when it came into which state."""
    changes: list[tuple[float, str]] = []
    for at, answer in enumerate(answered):
        now = start + at
        if health.judge(now):
            changes.append((now, health.state))
        number = health.probed(now)
        if answer == "+":
            health.answer(number, DELAY, now + DELAY)
    return changes


def test_a_row_of_losses_kills() -> None:
    health = Health(SETTINGS)
    assert run(health, "+" * 5 + "---+") == [(1, "alive"), (8, "dead")]
    assert not health.alive and health.loss == 3 / 9
    assert (health.sent, health.answered) == (9, 6)


def test_losses_that_are_no_row_do_not() -> None:
    health = Health(SETTINGS)
    assert run(health, "+--" * 20) == [(1, "alive")]
    assert health.alive and 0.6 < health.loss < 0.7


def test_never_answered() -> None:
    health = Health(SETTINGS)
    assert run(health, "------") == [(3, "dead")]


def test_it_is_held_down() -> None:
    """From the first answer on, and anew from the first after a loss."""
    health = Health(SETTINGS, alive=False)
    assert run(health, "---+++++++") == [(9, "alive")]
    health = Health(SETTINGS, alive=False)
    assert run(health, "+++-++++++++") == [(10, "alive")]
    assert run(Health(Liveness(1, 3, 0), alive=False), "---+++") == [(4, "alive")]


def test_no_way_at_all() -> None:
    health = Health(SETTINGS)
    assert run(health, "+++") == [(1, "alive")]
    assert health.cut() and not health.cut() and not health.alive
    assert run(health, "-" + "+" * 7, 3) == [(10, "alive")]


def test_a_long_way_is_not_taken_for_a_dead_one() -> None:
    """Answers that take two and a half intervals, every one of them."""
    health, changes = Health(SETTINGS), []
    for tick in range(100):
        now = tick / 2
        if health.judge(now):
            changes.append(health.state)
        if tick % 2 == 0:
            health.probed(now)
        elif tick >= 5:
            health.answer((tick - 5) // 2 + 1, 2.5, now)
    assert changes == ["alive"]


def test_delay_and_jitter_are_smoothed() -> None:
    """RFC 6298 section 2: alpha is 1/8, beta 1/4."""
    health = Health(SETTINGS)
    for number, delay in enumerate((0.1, 0.2), 1):
        health.probed(number)
        health.answer(number, delay, number + delay)
    assert health.delay == pytest.approx(0.1 + 0.1 / 8)
    assert health.jitter == pytest.approx(0.05 + (0.1 - 0.05) / 4)


@given(st.text("+-", max_size=60))
def test_it_is_dead_just_after_a_row_of_losses(answered: str) -> None:
    health = Health(Liveness(1, 3, 0))
    run(health, answered)
    health.judge(len(answered))
    assert health.alive != answered.endswith("---")


def test_answers_to_what_was_never_asked() -> None:
    health = Health(SETTINGS)
    for number in (0, 1, 99):
        health.answer(number, 0.1, 1.0)
    assert health.answered == 0 and not health.judge(1.0)
