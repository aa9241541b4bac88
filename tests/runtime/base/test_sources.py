"""What one source may have of the agent."""

from __future__ import annotations

from dataclasses import replace

import pytest
from helioc.runtime.base.source_limits import Bounds, Handshake, Sources, source_of

FEW = Bounds(connections=4, all_connections=6, handshakes=2, all_handshakes=3, rate=10.0,
             burst=20.0, failures=2.0, forget=60.0)  # fmt: skip


@pytest.mark.parametrize(
    ("host", "source"),
    [("192.0.2.1", "192.0.2.1"), ("::ffff:192.0.2.1", "192.0.2.1"),
     ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"), ("fe80::1%eth0", "fe80::/64")],
)  # fmt: skip
def test_a_source(host: str, source: str) -> None:
    assert source_of(host) == source


class Pending:
    """A handshake that has not ended."""

    def end(self, why: str, surplus: bool = False) -> None:
        raise AssertionError(why)


def connect(sources: Sources, host: str, count: int, now: float = 0.0) -> list[str]:
    """Each has its handshake at once; why they are refused."""
    found = []
    for _ in range(count):
        mine = Pending()
        found.append(sources.open(host, mine, now))
        if not found[-1]:
            sources.shaken(host, mine, now, failed=False)
    return found


def test_connections_of_one_source_leave_room_for_others() -> None:
    sources = Sources(FEW)
    assert connect(sources, "192.0.2.1", 5) == [*[""] * 4, "more than 4 connections"]
    assert connect(sources, "2001:db8::1", 1) == [""]
    assert connect(sources, "2001:db8::2", 1) == [""]
    assert connect(sources, "192.0.2.2", 1) == ["all 6 connections are taken"]
    sources.close("192.0.2.1", 0.0)
    assert connect(sources, "192.0.2.2", 1) == [""]


def test_a_source_that_connects_without_end_is_barred_for_a_while() -> None:
    bounds = replace(FEW, connections=100, refusals=10.0, refusals_burst=5.0, barred=2.0)
    sources = Sources(bounds)
    connect(sources, "2001:db8::1", 25, now=1.0)
    assert not sources.barred(1.0)
    connect(sources, "2001:db8::2", 1, now=1.0)
    assert sources.barred(1.0) == ["2001:db8::/64"]
    assert sources.barred(2.9) and not sources.barred(3.0)
    connect(sources, "2001:db8::1", 50, now=10.0)
    assert sources.barred(10.0) == ["2001:db8::/64"]


def test_handshakes_of_one_source_leave_room_for_others() -> None:
    sources, pending = Sources(FEW), [Pending() for _ in range(4)]
    assert [sources.open("192.0.2.1", each, 0.0) for each in pending[:3]] == [
        "", "", "more than 2 handshakes at a time",
    ]  # fmt: skip
    assert sources.open("192.0.2.2", pending[2], 0.0) == "" and sources.surplus() is None
    assert sources.open("192.0.2.3", pending[3], 0.0) == ""
    assert sources.surplus() is pending[0], "the oldest of the source that has most"
    sources.shaken("192.0.2.1", pending[0], 0.0, failed=True)
    assert sources.surplus() is None
    assert sources.open("192.0.2.1", Pending(), 0.0) == ""


def test_of_many_sources_with_one_handshake_the_oldest_ends() -> None:
    """And it has not failed for its source, which may have been known the longest."""
    sources, lawful = Sources(FEW), "192.0.2.1"
    assert connect(sources, lawful, 1) == [""]
    mine: list[Handshake] = [Pending() for _ in range(9)]
    for number, each in enumerate(mine[:3]):
        assert sources.open(f"192.0.2.1{number}", each, 1.0 + number) == ""
    late = Pending()
    assert sources.open(lawful, late, 9.0) == ""
    assert sources.surplus() is mine[0]
    sources.shaken("192.0.2.10", mine[0], 9.0, failed=True, surplus=True)
    sources.shaken(lawful, late, 9.0, failed=False)
    for number in range(3):  # more than may fail
        again = Pending()
        assert sources.open("192.0.2.10", again, 9.0 + number) == ""
        sources.shaken("192.0.2.10", again, 9.0 + number, failed=True, surplus=True)


def test_connections_a_second() -> None:
    sources = Sources(replace(FEW, connections=100, all_connections=200))
    assert connect(sources, "192.0.2.1", 21)[-1] == "more than 10 connections a second"
    assert connect(sources, "192.0.2.1", 6, 0.5)[-2:] == ["", "more than 10 connections a second"]
    assert connect(sources, "192.0.2.2", 1, 0.5) == [""]


def test_handshakes_that_fail() -> None:
    sources = Sources(FEW)
    for _ in range(2):
        mine = Pending()
        assert sources.open("192.0.2.1", mine, 0.0) == ""
        sources.shaken("192.0.2.1", mine, 0.0, failed=True)
    assert connect(sources, "192.0.2.1", 1) == ["2 handshakes failed in 60 s"]
    assert connect(sources, "192.0.2.2", 1) == [""]
    assert connect(sources, "192.0.2.1", 1, 30.0) == [""], "one is forgotten"


def test_sources_that_have_nothing_are_forgotten() -> None:
    sources = Sources(FEW)
    assert connect(sources, "192.0.2.1", 1) == [""]
    for number in range(1000):
        host, mine = f"2001:db8:0:{number:x}::1", Pending()
        assert sources.open(host, mine, 0.0) == ""
        sources.shaken(host, mine, 0.0, failed=True)
        assert len(sources._sources) <= 4 * FEW.all_connections
    assert connect(sources, "192.0.2.1", 4)[-1] == "more than 4 connections", "those that have stay"
