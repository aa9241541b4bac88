"""Delay, jitter and loss of the last probes, as bounds are compared with them."""

from __future__ import annotations

import random

from helioc.runtime.edge.liveness_settings import Liveness
from helioc.runtime.edge.overlay_health import Health
from helioc.runtime.edge.path_quality import GONE, Measured, PathQuality
from hypothesis import given
from hypothesis import strategies as st


def path(*delays: float | None) -> PathQuality:
    """Of these probes, None for one that was lost."""
    made = PathQuality()
    for number, delay in enumerate(delays):
        made.over(delay is None)
        if delay is not None:
            made.answer(number, delay)
    return made


def test_a_step_is_seen_at_the_second_probe_and_an_outlier_never() -> None:
    steady = [0.01] * 20
    assert path(*steady, 0.2).measured().delay == 0.01
    assert path(*steady, 0.2, 0.2).measured().delay == 0.2
    assert path(*steady, 0.2, 0.01).measured() == Measured(0.01, 0.19 * 2 / 16, 0.0)


def test_loss() -> None:
    assert path(0.01).measured().loss is None
    assert path(0.01, None).measured().loss == 0.01  # of a hundred, though there are two
    assert path(0.01, None, None).measured().loss == GONE
    assert path(0.01, None, None, 0.01).measured().loss == 0.02
    assert path(*[0.01, None] * 80).measured().loss == 0.5
    assert path(None, None).measured() == Measured(loss=GONE)


def test_jitter_counts_neighbours_alone() -> None:
    """RFC 5481 section 4.1: of what was lost in between nothing is known."""
    assert path(0.01, None, 0.05, None, 0.01, None, 0.05).measured().jitter is None
    assert path(0.01, 0.05, 0.01, 0.05).measured().jitter == 0.04
    assert path(0.3, 0.3, 0.3, 0.3).measured().jitter == 0
    chance = random.Random(1)
    calm = [0.01] * 30
    wild = [chance.uniform(0.0, 0.08) for _ in range(3)]
    seen = path(*calm, *wild).measured().jitter
    assert seen is not None and seen > 0.004  # three probes are enough for what is much more


answers = st.lists(st.tuples(st.integers(-2, 40), st.floats(-10, 1e6), st.floats(0, 100)))


@given(answers)
def test_hostile_answers(answers: list[tuple[int, float, float]]) -> None:
    """Of any number, any delay, at any time: nothing is negative or longer than it can have been,
    and each probe counts once."""
    health = Health(Liveness())
    for at in range(10):
        health.probed(at / 10)
    for number, delay, now in answers:
        health.answer(number, max(0.0, delay), now)
        health.judge(now)
    seen = health.path.measured()
    latest = max((now for *_, now in answers), default=0.0)
    assert seen.delay is None or 0 <= seen.delay <= latest
    assert seen.jitter is None or seen.jitter >= 0
    assert health.answered + sum(health.path.lost) <= 10 and health.loss <= 1
