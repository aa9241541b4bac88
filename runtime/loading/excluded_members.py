"""Excludes members of spreads from what packets find: those that lead to a dead overlay, and those
that a spread is steered away from."""

from __future__ import annotations

import struct
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Protocol

from ...lang.contract.manifest.manifest import Manifest, RuleKind
from ...lang.contract.rules.rulebook import RuleBook
from ...lang.contract.rules.rules import Reference, Rule
from ...lang.contract.rules.spread import prepare, spread_slots
from ..edge.steering_policy import policy_reader
from ..rules.left_out import LeftOut
from ..rules.plans import Changes
from ..rules.tables import Table
from ..rules.transaction import Writer


class OpenRules(Protocol):
    """What the rules of an open pipeline are read and written by."""

    manifest: Manifest
    book: RuleBook
    writer: Writer


def exclude_members(
    loaded: OpenRules,
    dead: Collection[Reference],
    steered: Mapping[int, frozenset[int]] | None = None,
) -> int:  # fmt: skip
    """Have spreads exclude exactly the members that lead to a dead rule, and by the sequence of a
    spread these, in one transaction of the spreads that change. Returns how many. Raises
    `Refused`."""
    writer, before = loaded.writer, loaded.writer.left_out
    wanted = LeftOut(_leading(loaded.book, dead) if dead else frozenset(), steered or {})
    if wanted == before:
        return 0
    concerned = [
        (rule, rule)
        for kind, rule in _spreads(loaded.book)
        if before.present(kind, rule) != wanted.present(kind, rule)
    ]
    prepare(
        tuple(sorted(writer.tables[rule.kind].present(rule, wanted).members))
        for rule, _ in concerned
    )
    writer.left_out = wanted
    try:
        if concerned:
            writer.try_apply(Changes(changed=concerned))
    except BaseException:
        writer.left_out = before
        raise
    return len(concerned)


def _leading(book: RuleBook, dead: Collection[Reference]) -> frozenset[Reference]:
    """The members of spreads that lead to one of these rules, directly or by references."""
    known: dict[Reference, bool] = dict.fromkeys(dead, True)

    def leads(to: Reference) -> bool:
        if to not in known:
            known[to] = False  # also in a cycle
            rule = book.get(*to) if to.kind in book.tables else None
            known[to] = rule is not None and any(map(leads, _refers(rule)))
        return known[to]

    members = {(kind, m.id) for kind, rule in _spreads(book) for m in rule.members}
    return frozenset(to for member in members if leads(to := Reference(*member)))


def overlays_of(book: RuleBook, kind: str, members: Collection[Reference]) -> set[Reference]:
    """The rules of a kind that members lead to."""
    found, seen, left = set[Reference](), set[Reference](), list(members)
    while left:
        to = left.pop()
        if to.kind == kind:
            found.add(to)
        elif to not in seen and to.kind in book.tables:
            seen.add(to)
            rule = book.get(*to)
            left += _refers(rule) if rule is not None else ()
    return found


def _refers(rule: Rule) -> list[Reference]:
    target = [rule.target] if rule.target is not None else []
    return [*(to for _, to in rule.references), *target]


def _spreads(book: RuleBook) -> Iterator[tuple[str, Rule]]:
    """Each spread, with the kind of its members."""
    for name, kind in book.kinds.items():
        if kind.spread is not None and not kind.spread.listed:
            for rule in book.rules(name):
                yield kind.spread.kind, rule


# ---- in the records -------------------------------------------------------------------------


def excluded_members(loaded: OpenRules) -> LeftOut:
    """The members that the records in the maps exclude."""
    tables = loaded.writer.tables
    return members_left_out(
        loaded.manifest, _spreads(loaded.book), lambda kind, id_: tables[kind].place_of(id_),
        lambda rule: _slots(tables[rule.kind], rule),
    )  # fmt: skip


def members_left_out(
    manifest: Manifest, spreads: Iterable[tuple[str, Rule]], place_of: Callable[[str, int], int],
    slots_of: Callable[[Rule], set[int]],
) -> LeftOut:  # fmt: skip
    """The members that the records of spreads exclude, each spread with the kind of its members. A
    spread that asks for bounds or has a preference is steered away from its own; those of others
    lead to dead overlays. `place_of`: where a member lies; `slots_of`: where those of a spread's
    record lie."""
    dead, steered = set[Reference](), dict[int, frozenset[int]]()
    policy_of = policy_reader(manifest)
    for kind, rule in spreads:
        here = slots_of(rule)
        gone = [m for m in rule.members if place_of(kind, m.id) not in here]
        if gone:  # but one of little weight may have no slot anyway
            due = set(spread_slots(rule.members))
            left_out = frozenset(m.id for m in gone if m.id in due)
            if policy_of(rule) is None:
                dead |= {Reference(kind, id_) for id_ in left_out}
            elif left_out:
                steered[rule.sequence] = left_out
    return LeftOut(frozenset(dead), steered)


def _slots(table: Table, rule: Rule) -> set[int]:
    cell = table.cell_of(rule)
    return slots_in(table.kind, table.records, table.record_at(cell, table.live_slot(cell)))


def slots_in(kind: RuleKind, records: memoryview, at: int) -> set[int]:
    """Where the members of a spread lie, by its record, which begins `at` a byte."""
    member = next(m for m in kind.record if m.kind == "slots")
    data = records[at + member.offset : at + member.offset + member.size]
    return set(struct.unpack(f"<{member.size // 4}I", data))
