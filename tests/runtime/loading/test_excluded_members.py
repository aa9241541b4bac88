"""What spreads' records leave out while overlays are dead; the rules stay as they are."""

from __future__ import annotations

import struct
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from helioc.lang.contract.rules.rules import Member, Reference
from helioc.lang.contract.rules.spread import spread_slots
from helioc.runtime.loading.excluded_members import exclude_members, excluded_members, overlays_of
from helioc.runtime.rules.left_out import LeftOut
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from linx_maps import Rules, bare_maps, bundle, written

pytestmark = pytest.mark.usefixtures("kernel")

FARS = range(1, 7)  # two of each overlay; the sixth goes out without any


def overlay(number: int) -> Reference:
    return Reference("OVERLAY", number)


@pytest.fixture
def rules() -> Iterator[Rules]:
    with bare_maps() as maps, written(maps) as made:
        for number in (1, 2, 3):
            made.tell(f"create OVERLAY {number} [(local_ip, u32, 192.0.2.1), "
                      f"(remote_ip, u32, 198.51.100.{number}), (interface, u32, WAN1)]"
                      )  # fmt: skip
        for number in FARS:
            way = "LAN" if number == 6 else f"OVERLAY.{(number + 1) // 2}"
            made.tell(f"create FAR {number} [(action, u8, REDIRECT), (interface, u32, {way})]")
        yield made


def loaded(rules: Rules) -> Any:
    return SimpleNamespace(book=rules.book, writer=rules.writer, manifest=bundle().manifest)


def spread(rules: Rules, number: int, members: list[Member]) -> None:
    said = ", ".join(f"FAR {m.id} [(weight, u16, {m.weight})]" for m in members)
    rules.tell(f"create LBR {number} [{said}]")


def slots(rules: Rules, number: int) -> list[int]:
    """The members' ids in the record, slot by slot."""
    table, fars = rules.writer.tables["LBR"], rules.writer.tables["FAR"]
    rule = rules.book.get("LBR", number)
    assert rule is not None
    cell = table.cell_of(rule)
    at = table.record_at(cell, table.live_slot(cell))
    member = next(m for m in table.kind.record if m.kind == "slots")
    content = table.records[at + member.offset : at + member.offset + member.size]
    by_cell = {cell: id_ for id_, cell in fars.ids.items()}
    return [by_cell[cell] for cell in struct.unpack(f"<{member.size // 4}I", content)]


members = st.lists(
    st.builds(Member, st.sampled_from(FARS), st.integers(1, 9)), min_size=1, max_size=6,
    unique_by=lambda member: member.id,
)  # fmt: skip
dying = st.lists(st.sets(st.sampled_from([1, 2, 3])), min_size=1, max_size=4)


@settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(members, dying)
def test_only_the_share_of_the_dead_moves(
    rules: Rules, members: list[Member], dying: list[set[int]]
) -> None:
    spread(rules, 9, members)
    before = slots(rules, 9)
    assert before == spread_slots(members)
    for dead in [*dying, set[int]()]:
        epoch = rules.writer.epoch
        changed = exclude_members(loaded(rules), {overlay(number) for number in dead})
        assert rules.writer.epoch == epoch + (1 if changed else 0)
        gone = {far for far in FARS if far < 6 and (far + 1) // 2 in dead}
        now = slots(rules, 9)
        here = [m for m in members if m.id not in gone] or members
        assert now == spread_slots(here)
        if here is not members:
            assert all(n == b for n, b in zip(now, before, strict=True) if b not in gone)
        rules.agree()
        if len(here) < len(members):
            absent = {Reference("FAR", m.id) for m in members if m.id in gone and m.id in before}
            assert excluded_members(loaded(rules)) == LeftOut(frozenset(absent))
            assert overlays_of(rules.book, "OVERLAY", absent) <= {overlay(n) for n in dead}
    rules.tell("delete LBR 9")
    rules.writer.settle()


def test_rules_that_change_while_an_overlay_is_dead(rules: Rules) -> None:
    spread(rules, 9, [Member(1, 1), Member(3, 1)])
    dead = {overlay(1)}
    assert exclude_members(loaded(rules), dead) == 1 and {*slots(rules, 9)} == {3}
    spread(rules, 10, [Member(1, 9), Member(5, 1)])  # one that comes later
    assert {*slots(rules, 10)} == {5}
    rules.tell("update LBR 9 [FAR 1 [(weight, u16, 60)]]")
    assert {*slots(rules, 9)} == {3}
    rules.tell("update FAR 1 [(interface, u32, OVERLAY.2)]")  # it leads elsewhere now
    assert exclude_members(loaded(rules), dead) == 2
    assert 1 in slots(rules, 9) and 1 in slots(rules, 10)
    rules.tell("update FAR 3 [(interface, u32, OVERLAY.1)]")
    assert exclude_members(loaded(rules), dead) == 1 and {*slots(rules, 9)} == {1}
    assert exclude_members(loaded(rules), dead) == 0
    assert exclude_members(loaded(rules), ()) == 1 and {*slots(rules, 9)} == {1, 3}
    rules.agree()


def test_a_thousand_spreads_of_sixteen(rules: Rules) -> None:
    for first in range(7, 107, 50):
        fars = ", ".join(f"FAR {n} [(action, u8, REDIRECT), (interface, u32, OVERLAY.{n % 3 + 1})]"
                         for n in range(first, first + 50))  # fmt: skip
        rules.tell(f"create {fars}")
    for number in range(1, 1000):
        spread(rules, number, [Member(7 + (number + i * 5) % 100, 1 + i) for i in range(16)])
    rules.writer.settle()
    begun = time.monotonic()
    assert exclude_members(loaded(rules), {overlay(1)}) == 999
    assert time.monotonic() - begun < 1
