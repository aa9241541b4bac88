"""Interpreter and kernel agree on overlays that come and go: rules of exact and optional elements,
equal matches side by side in the maps, and no grace period between."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

import pytest
from agreement import Both, loaded, quick
from helioc.lang.contract.request.request_parser import parse_request
from helioc.lang.contract.rules.rulebook import RuleBook
from helioc.lang.text.diagnostics import Refused
from helioc.lang.text.source import Source
from helioc.runtime.rules.recovery import recover
from hypothesis import given, note, settings
from hypothesis import strategies as st
from linx_world import WAN1, WORLD, linx
from scapy.layers.inet import GRE, IP, UDP
from scapy.layers.l2 import Ether

REMOTES = ["192.0.2.2", "192.0.2.3"]
KEYS = [None, 7, 8]
PLACES = [(remote, key) for remote in REMOTES for key in KEYS]


@pytest.fixture(scope="module")
def both(kernel: None) -> Iterator[Both]:
    with loaded(linx(), WORLD, "staged") as made:
        yield made


def _overlay(number: int, place: int) -> str:
    remote, key = PLACES[place]
    keyed = "" if key is None else f"(key, u32, {key}), "
    match = f"(local_ip, u32, 192.0.2.1), (remote_ip, u32, {remote}), {keyed}"
    return f"OVERLAY {number} [{match}(interface, u32, WAN1)]"


def _frame(remote: str, key: int | None) -> bytes:
    gre = GRE(proto=0x0800) if key is None else GRE(proto=0x0800, key_present=1, key=key)
    user = IP(src="10.2.0.5", dst="10.1.0.10") / UDP(sport=1, dport=2)
    return bytes(Ether(dst="02:00:00:00:01:01") / IP(src=remote, dst="192.0.2.1") / gre / user)


FRAMES = [_frame(remote, key) for remote, key in [*PLACES, (REMOTES[0], 9)]]


def _all_agree(both: Both, book: RuleBook) -> None:
    for frame in FRAMES:
        both.agree(book, frame, WAN1)


def _tell(both: Both, book: RuleBook, text: str) -> None:
    """Without a grace period behind it."""
    plan = book.plan(parse_request(Source("request", text)))
    both.kernel.writer.try_apply(plan)
    book.commit(plan)


numbers, places = st.integers(1, 4), st.integers(0, len(PLACES) - 1)
changes = st.one_of(
    st.builds(lambda n, p: f"create {_overlay(n, p)}", numbers, places),
    st.builds(lambda n, p: f"delete OVERLAY {n}; create {_overlay(n, p)}", numbers, places),
    st.builds(lambda n: f"delete OVERLAY {n}", numbers),
    st.just("settle"),
)


@settings(quick, max_examples=150)
@given(st.lists(changes, min_size=3, max_size=12))
def test_overlays_that_come_and_go(both: Both, said: list[str]) -> None:
    book = both.empty()
    for text in said:
        note(text)
        if text == "settle":
            both.kernel.writer.settle()
        with suppress(Refused):
            _tell(both, book, text)
        _all_agree(both, book)


def test_a_match_made_anew_is_found_beside_a_less_specific_one(both: Both) -> None:
    """It lies in a tuple of its own for good: neither grace nor the next writer moves it."""
    book = both.empty()
    _tell(both, book, f"create {_overlay(1, 1)}, {_overlay(2, 0)}")
    _tell(both, book, f"delete OVERLAY 1; create {_overlay(3, 1)}")
    writer = both.kernel.writer
    cells = writer.tables["OVERLAY"].cells
    assert cells[0] >> 48 & 1
    _all_agree(both, book)
    writer.settle()
    _all_agree(both, book)
    _tell(both, book, f"create {_overlay(4, 2)}")
    _all_agree(both, book)
    _tell(both, book, "delete OVERLAY 3, OVERLAY 4")
    writer.settle()
    _tell(both, book, f"create {_overlay(1, 5)}; create {_overlay(4, 1)}")
    _all_agree(both, book)
    writer.settle()
    recover(writer)
    _all_agree(both, book)
