"""What a plan comes to in the tables: which rules get new cells, which only new records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

from ..compiler.requests.rules import Rule
from .bulk import Staging
from .tables import Table

if TYPE_CHECKING:
    from ..compiler.requests.block import Block

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


@dataclass
class Changes:
    """A plan made by hand."""

    created: tuple[Rule, ...] = ()
    changed: tuple[Change, ...] = ()
    removed: tuple[Rule, ...] = ()


class Work(NamedTuple):
    """A plan as the tables take it. `created` get new cells, `changed` new records in theirs,
    `removed` give theirs up; `blocks` are created, too."""

    created: list[Rule]
    changed: list[Change]
    removed: list[Rule]
    blocks: Sequence[Block]


def work_of(plan: Plan, tables: Tables) -> Work:
    """A rule that changes its match or its priority gets a new cell, and those that point at it,
    or at one that is made anew under its id, new records."""
    blocks = _blocks(plan)
    created = [] if blocks else list(plan.created)
    removed = list(plan.removed)
    changed: list[Change] = []
    moved: list[Change] = []
    for old, new in plan.changed:
        (changed if _stays(old, new) else moved).append((old, new))
    if moved or (created and removed):
        created += [new for _, new in moved]
        removed += [old for old, _ in moved]
        changed += _repointed(tables, created, changed, removed)
    return Work(created, changed, removed, blocks)


def _stays(old: Rule, new: Rule) -> bool:
    return (
        old.match == new.match
        and old.priority == new.priority
        and old.id == new.id
        and old.sequence == new.sequence
    )


def _blocks(plan: Plan) -> Sequence[Block]:
    """What the plan has packed, where that is all that it creates and can be staged so."""
    blocks: Sequence[Block] = getattr(plan, "blocks", ())
    if not blocks or sum(map(len, blocks)) != len(plan.created):
        return ()
    return blocks if all(Staging.takes(block) for block in blocks) else ()


def _repointed(
    tables: Tables, created: list[Rule], changed: list[Change], removed: list[Rule]
) -> list[Change]:
    """Rules that stay as they are, but point at an id that gets another cell."""
    again = {(r.kind, r.id) for r in created} & {(r.kind, r.id) for r in removed}
    again = {(kind, id_) for kind, id_ in again if _by_cell(tables, kind)}
    if not again:
        return []
    known = {rule.sequence for rule in removed} | {old.sequence for old, _ in changed}
    found = []
    for table in tables.values():
        for sequence, cell in table.sequences.items():
            if sequence not in known and _points(table, rule := table.rule_at(cell), again):
                found.append((rule, rule))
    return found


def _by_cell(tables: Tables, kind: str) -> bool:
    """Whether records refer to rules of this kind by their cells."""
    if tables[kind].kind.grouped:
        return False
    return any(
        kind in member.choices
        or (member.kind == "slots" and table.kind.spread and table.kind.spread.kind == kind)
        for table in tables.values()
        for member in table.kind.record
    )


def _points(table: Table, rule: Rule, at: set[tuple[str, int]]) -> bool:
    spread = table.kind.spread
    return (
        any((to.kind, to.id) in at for _, to in rule.references)
        or (rule.target is not None and (rule.target.kind, rule.target.id) in at)
        or (spread is not None and any((spread.kind, x.id) in at for x in rule.members))
    )
