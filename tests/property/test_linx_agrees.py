"""Interpreter and kernel agree on LINX: verdict, bytes, egress, events and counters, for packets
and rules that nobody wrote."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress

import pytest
from agreement import SHORTEST, WAYS, Both, Ruled, loaded, quick
from damage import damaged
from helioc.lang.text.diagnostics import Refused
from hypothesis import given, note, settings
from hypothesis import strategies as st
from linx_packets import frames
from linx_requests import BEGINNING, requests
from linx_world import LAN, RULES, WAN1, WORLD, linx


@pytest.fixture(scope="module", params=WAYS)
def both(request: pytest.FixtureRequest, kernel: None) -> Iterator[Both]:
    with loaded(linx(), WORLD, request.param) as made:
        yield made


@pytest.fixture
def ruled(both: Both) -> Ruled:
    """With the rules of `linx_world.RULES`."""
    both.kernel.set_rules(RULES)
    return Ruled(both, RULES)


@settings(quick, max_examples=400)
@given(st.one_of(frames(), damaged(frames())))
def test_packets(ruled: Ruled, arriving: tuple[bytes, int]) -> None:
    ruled.agree(*arriving)


@settings(quick, max_examples=40)
@given(frames())
def test_truncated_at_every_byte(ruled: Ruled, arriving: tuple[bytes, int]) -> None:
    frame, port = arriving
    for length in range(SHORTEST, min(len(frame), 140)):
        ruled.agree(frame[:length], port)


@settings(quick, max_examples=120)
@given(st.lists(requests, min_size=2, max_size=6), st.lists(frames(), min_size=4, max_size=10))
def test_rules_that_come_and_go(
    both: Both, texts: list[str], arriving: list[tuple[bytes, int]]
) -> None:
    """After each request every packet meets the same rule in both."""
    book = both.empty()
    for text in [BEGINNING, *texts]:
        note(text)
        with suppress(Refused):
            both.tell(book, text)
        for frame, port in arriving:
            both.agree(book, frame, port)


def test_the_strategies_reach_every_fate(ruled: Ruled) -> None:
    """A property test that meets only drops proves nothing: count what the packets come to."""
    seen: Counter[str] = Counter()

    @settings(quick, max_examples=400, derandomize=True)
    @given(frames())
    def look(arriving: tuple[bytes, int]) -> None:
        outcome = ruled.agree(*arriving)
        seen.update([outcome.verdict, *(reason for _, reason in outcome.events)])

    look()
    for fate in ("pass", "drop", "redirect", "tx", "ttl_expired", "too_big", "OVERLAY", "PDR"):
        assert seen[fate] >= 3, seen


@pytest.mark.parametrize("port", [LAN, WAN1])
def test_every_frame_of_one_byte_value(ruled: Ruled, port: int) -> None:
    for octet in (0x00, 0x08, 0x45, 0x81, 0xFF):
        for length in (14, 34, 60, 1514):
            ruled.agree(bytes([octet]) * length, port)
