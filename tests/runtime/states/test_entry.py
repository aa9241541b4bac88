"""Entries of state tables as text and as JSON."""

from __future__ import annotations

from collections.abc import Sequence

from helioc.lang.contract.manifest.manifest import Slot, State
from helioc.runtime.states.entry import (
    Entry,
    StateCount,
    entry_json,
    entry_lines,
    state_json,
    state_rows,
)

VALUES = (
    ("mac", "02:00:00:00:00:01"), ("vlan", "12"), ("host", "10.2.0.9"), ("wide", str(2**64 - 1)),
    ("out", "LAN"), ("six", "2001:db8::1"),
)  # fmt: skip
TYPES = {"mac": "mac", "vlan": "u12", "host": "ip4", "wide": "u64", "out": "port", "six": "ip6"}


def state(*more: str) -> State:
    slots = [Slot(name, TYPES.get(name, "u8"), 0, 8) for name in (*TYPES, *more)]
    return State("HOSTS", 9, 8, 8, tuple(slots[:2]), tuple(slots[2:]), 300)


def shown(entry: Entry) -> Sequence[Sequence[str]]:
    return [line.split() for line in entry_lines([entry])]


def test_numbers_are_numbers() -> None:
    found = entry_json(Entry(VALUES, 4.26), state())
    text = {"mac": "02:00:00:00:00:01", "host": "10.2.0.9", "out": "LAN", "six": "2001:db8::1"}
    assert found == text | {"vlan": 12, "wide": 2**64 - 1, "age": 4.3}


def test_a_slot_may_be_called_age() -> None:
    """Its own name is the slot's; the entry's age is then found beside it."""
    entry = Entry((*VALUES, ("age", "7")), 4.26)
    found = entry_json(entry, state("age"))
    assert (found["age"], found["entry.age"]) == (7, 4.3)
    head, row = shown(entry)
    assert head[-2:] == ["age", "entry.age"] and row[-3:] == ["7", "4", "s"]
    found = entry_json(Entry((*VALUES, ("age", "7")), None), state("age"))
    assert found["age"] == 7 and "entry.age" not in found


def test_what_keeps_no_age_shows_none() -> None:
    found = entry_json(Entry(VALUES, None), state())
    assert "age" not in found
    assert "age" not in shown(Entry(VALUES, None))[0]


def test_lines_are_as_wide_as_the_first_ones() -> None:
    """A million entries are not kept to see which is the longest."""
    assert list(entry_lines([])) == ["no entries"]
    narrow, wide = Entry((("n", "1"), ("m", "2")), None), Entry((("n", "12345"), ("m", "2")), None)
    lines = list(entry_lines([narrow] * 1000 + [wide]))
    assert lines[:2] == ["n  m", "1  2"] and lines[-1] == "12345  2"
    assert list(entry_lines([narrow, wide])) == ["n      m", "1      2", "12345  2"]


def test_tables_and_how_full_they_are() -> None:
    flow = State("FLOW", 65536, 8, 16, (), (Slot("n", "u8", 8, 1),), lifetime="n", idle=True)
    counts = [StateCount("HOSTS", 1200, 65536, 31), StateCount("FLOW", 7, 16, 0, 5, 1)]
    assert state_rows(counts, [state(), flow]) == [
        ("HOSTS", "1,200", "31", "65,536", "-", "-", "300 s"),
        ("FLOW", "7", "0", "16", "5", "1", "n idle"),
    ]
    assert state_json(counts[1], flow) == {
        "state": "FLOW", "entries": 7, "capacity": 16, "expired": 0, "evicted": 5, "lost": 1,
        "match": [], "gives": ["n"], "ages": "n", "idle": True,
    }  # fmt: skip
    assert state_json(counts[0], state())["ages"] == 300
