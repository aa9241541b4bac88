"""Compiles a plan to changes of tables: which rules get new cells, which only new records."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from ...lang.contract.rules.interleaving import NONE, paced
from ...lang.contract.rules.rules import Rule
from .bulk import Staging, rows
from .stored import SLOT
from .tables import Table, record_numbers

if TYPE_CHECKING:
    from ...lang.contract.rules.block import Block

Change = tuple[Rule, Rule]
Tables = Mapping[str, Table]


class Plan(Protocol):
    """What `RuleBook.plan` gives: the net effect of a request."""

    @property
    def created(self) -> Sequence[Rule]: ...
    @property
    def changed(self) -> Sequence[Change]: ...
    @property
    def removed(self) -> Sequence[Rule]: ...
    @property
    def blocks(self) -> Sequence[Block]: ...


class Changes(NamedTuple):
    """A plan made by hand. `alone`: no other transaction may be made while this one is staged."""

    created: Sequence[Rule] = ()
    changed: Sequence[Change] = ()
    removed: Sequence[Rule] = ()
    blocks: Sequence[Block] = ()
    alone: bool = False


def work_of(plan: Plan, tables: Tables, pause: Callable[[], None] = NONE) -> Changes:
    """The plan as the tables take it: `created` get new cells, `changed` new records in theirs,
    `removed` give theirs up; `blocks` are created, too. A rule that changes its match or its
    priority gets a new cell, and those that point at it where its place is another one then, or at
    one that is made anew under its id, new records."""
    created, changed, removed = plan.created, plan.changed, plan.removed
    if not (changed or removed or plan.blocks):
        return tuple.__new__(Changes, (created, (), (), (), False))
    blocks = _blocks(plan) if plan.blocks else ()
    if blocks:
        created = ()
    stay = [pair for pair in paced(changed, pause) if _stays(*pair)] if changed else changed
    again = False
    if len(stay) < len(changed) or (created and removed):
        moved = [pair for pair in changed if not _stays(*pair)]
        placed = [pair for pair in moved if not tables[pair[0].kind].kind.two_cells]
        repointed = _repointed(
            tables, _with(created, placed, 1), changed, _with(removed, placed, 0)
        )
        created, removed = _with(created, moved, 1), _with(removed, moved, 0)
        stay, again = [*stay, *repointed], bool(repointed)
    return tuple.__new__(Changes, (created, stay, removed, blocks, again))


def _with(rules: Sequence[Rule], pairs: Sequence[Change], which: int) -> list[Rule]:
    """And these rules of the pairs."""
    return [*rules, *(pair[which] for pair in pairs)]


def _stays(old: Rule, new: Rule) -> bool:
    """Whether the rule keeps its cell."""
    return (
        old.match == new.match
        and old.priority == new.priority
        and old.id == new.id
        and old.sequence == new.sequence
    )


def _blocks(plan: Plan) -> Sequence[Block]:
    """What the plan has packed, where that is all that it creates and can be staged so."""
    if sum(map(len, plan.blocks)) != len(plan.created):
        return ()
    return plan.blocks if all(Staging.takes(block) for block in plan.blocks) else ()


def _repointed(
    tables: Tables, created: Sequence[Rule], changed: Sequence[Change], removed: Sequence[Rule]
) -> list[Change]:
    """Rules that stay as they are, but point at an id that gets another cell."""
    again = {(r.kind, r.id) for r in created} & {(r.kind, r.id) for r in removed}
    again = {(kind, id_) for kind, id_ in again if _by_place(tables, kind)}
    if not again:
        return []
    known = {rule.sequence for rule in removed} | {old.sequence for old, _ in changed}
    left = [r for r in removed if (r.kind, r.id) in again]
    found = []
    for table in tables.values():
        to = [tables[r.kind].place_of(r.id) for r in left if _names(table, r.kind)]
        for cell in _leading_to(table, to) if to and table.sequences else ():
            rule = table.rule_at(cell)
            if rule.sequence not in known and _points(table, rule, again):
                found.append((rule, rule))
    return found


def _leading_to(table: Table, places: list[int]) -> list[int]:
    """The cells of live rules whose records may refer to one of `places`, without making the rules:
    a number that means something else there, a port, does no harm."""
    slots = np.frombuffer(table.cells, "<u8") >> np.uint64(24) & np.uint64(SLOT)
    slots[0] = 0  # the directory's
    live = np.flatnonzero(slots)
    records = rows(table.records, table.record_stride)
    at = record_numbers(table.kind, live, slots[live])
    found = np.zeros(len(live), np.bool_)
    for member in table.kind.record:
        if member.kind in ("reference", "slots"):
            data = records[at, member.offset : member.offset + member.size]
            found |= np.isin(np.ascontiguousarray(data).view("<u4"), places).any(axis=1)
    to: list[int] = live[found].tolist()
    return to


def _by_place(tables: Tables, kind: str) -> bool:
    """Whether records refer to rules of this kind by their places."""
    if tables[kind].kind.grouped:
        return False
    return any(_names(table, kind) for table in tables.values())


def _names(table: Table, kind: str) -> bool:
    """Whether the table's records can refer to rules of this kind."""
    spread = table.kind.spread
    return any(
        kind in member.choices or (member.kind == "slots" and spread and spread.kind == kind)
        for member in table.kind.record
    )


def _points(table: Table, rule: Rule, at: set[tuple[str, int]]) -> bool:
    spread = table.kind.spread
    return (
        any((to.kind, to.id) in at for _, to in rule.references)
        or (rule.target is not None and (rule.target.kind, rule.target.id) in at)
        or (spread is not None and any((spread.kind, x.id) in at for x in rule.members))
    )
