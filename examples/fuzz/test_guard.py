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
    """A property of this pipeline: it drops what a rule names, and what a hook drops."""
    for outcome in guard.agree(Scenario(tuple(packets))):
        assert outcome.verdict == "pass" or any(group == "hook" for group, _ in outcome.events)


def test_a_frame_of_our_own(guard: Tested) -> None:
    """DNS from 192.0.2.7, before and after a rule that names its prefix and port."""
    frame = guard.packet(
        bytes.fromhex(
            "0200000000010200000000020800"  # Ethernet
            "4500001c000000004011b6cfc00002070a000001"  # IPv4: 192.0.2.7 to 10.0.0.1
            "3039003500080000"  # UDP: port 12345 to 53
        )
    )
    rule = guard.request("create BLOCK 1 [(src_ip, u32, 192.0.2.0/24), (dst_port, u16, 53)]")
    before, after = guard.agree(Scenario((frame, rule, frame)))
    assert (before.verdict, after.verdict) == ("pass", "drop")
