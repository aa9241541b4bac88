"""Values drawn by chance, as many as a test needs."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

T = TypeVar("T")
AT_ONCE = 60


def drawn(
    strategy: st.SearchStrategy[T],
    each: Callable[[T], None],
    start: int,
    most: int,
    enough: Callable[[], bool],
) -> None:
    """Hands values over, `AT_ONCE` after the other, until it is enough; at most so many. `start`:
    what the seeds are made of."""
    for part in range(most // AT_ONCE):

        @seed(start * 1000 + part)
        @settings(
            max_examples=AT_ONCE,
            deadline=None,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(strategy)
        def draw(value: T) -> None:
            each(value)

        draw()
        if enough():
            return
