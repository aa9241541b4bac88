"""Property tests of a pipeline of one's own, by `helioc.testing`. As root: pytest examples/fuzz"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from helioc.testing import Drawn, Scenario, Tested
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

GUARD = Path(__file__).parents[1] / "tour" / "guard.hp"
quick = settings(deadline=None, max_examples=60, suppress_health_check=list(HealthCheck))
strategies = Tested(GUARD)  # strategies alone load nothing


@pytest.fixture(scope="module")
def guard() -> Iterator[Tested]:
    with Tested(GUARD) as tested:
        yield tested


@quick
@given(strategies.scenarios())
def test_interpreter_and_kernel_agree(guard: Tested, scenario: Scenario) -> None:
    guard.agree(scenario)


@quick
@given(st.lists(strategies.packets(), max_size=5))
def test_without_rules_nothing_is_dropped(guard: Tested, packets: list[Drawn]) -> None:
    """A property of this pipeline: it drops what a rule names, and what is damaged."""
    for outcome in guard.agree(Scenario(tuple(packets))):
        assert outcome.verdict == "pass" or ("hook", "malformed") in outcome.events
