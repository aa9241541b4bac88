"""Applies requests to a card rule by rule; one that fails halfway is undone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from ...lang.contract.manifest.manifest import Manifest
from ...lang.contract.rules.rules import Rule
from ...lang.text.diagnostics import Diagnostic
from ..base import errors
from ..kernel.handles import BpfError
from ..kernel.maps import Map
from ..rules.directory import DirectoryFull
from ..rules.errors import of_tables
from ..rules.images import TooLong
from ..rules.plans import Change, Plan
from ..rules.pools import NoRoom
from .card_images import Images
from .card_tables import CardTable


@dataclass(frozen=True)
class _Work:
    """A plan as a card takes it. `changed` rules keep their cell, so that references to them stay
    valid; `replaced` ones are created again under their id, with new counters."""

    created: Sequence[Rule]
    changed: Sequence[Change]
    replaced: Sequence[Change]
    removed: Sequence[Rule]

    @property
    def pairs(self) -> list[Change]:
        return [*self.changed, *self.replaced]

    @property
    def coming(self) -> list[Rule]:
        return [*self.created, *(new for _, new in self.pairs)]

    @property
    def going(self) -> list[Rule]:
        return [*self.removed, *(old for old, _ in self.pairs)]


class CardWriter:
    """The one writer of the rules on a card."""

    def __init__(self, manifest: Manifest, maps: Mapping[str, Map], images: Images) -> None:
        self.tables = {
            kind.name: CardTable(manifest, kind, maps, images.kinds[kind.name])
            for kind in manifest.rules
        }
        self.maps, self.manifest, self.images = maps, manifest, images
        #: A failed plan could not be undone: open the pipeline again.
        self.broken = False

    def fill(self) -> None:
        """Write every slot of the arrays: a card keeps them as hash tables, which start empty."""
        arrays = [self.maps["control"], self.maps["events"]]
        for table in self.tables.values():
            arrays += table.arrays()
        for each in arrays:
            zeros = bytes(each.element_size)
            for slot in range(each.spec.max_entries):
                each.update(slot.to_bytes(4, "little"), zeros)

    def set_default(self, verdict: int) -> None:
        """enum xdp_action, of packets that no rule decides about."""
        self.maps["control"].update(bytes(4), verdict.to_bytes(8, "little"))

    def restore(self, fresh: bool = False) -> list[Rule]:
        """The rules that are in force, and what a writer that died had begun taken back; `fresh`:
        the card has none of them yet. Raises BpfError."""
        revision, tables = self.images.revision, self.tables.values()
        rules = [rule for table in tables for rule in table.restore(revision)]
        if fresh or any(table.images.staged(revision) for table in tables):
            for rule in self._referred_first(rules):
                self._write(rule)
            for table in tables:
                table.clear_all_but([rule for rule in rules if rule.kind == table.kind.name])
            for table in tables:
                table.images.take_back(revision)
        return rules

    # ---- for somebody else to read ------------------------------------------------------------

    def hold(self) -> None:
        """Does nothing: readers have copies."""

    def let_go(self) -> bool:
        return True

    def copies(self) -> Iterator[bytes | memoryview]:
        """The rules as they are now: see `CardReader.snapshot_in`."""
        yield self.images.revision.to_bytes(8, "little")
        for table in self.tables.values():
            yield table.images.words.data
            yield table.images.images.data

    # ---- requests ---------------------------------------------------------------------------

    def apply(self, plan: Plan) -> None:
        """Make the plan's changes, as the next revision. Raises `Refused`: nothing is changed then,
        or it is `broken`."""
        work = self._work(plan)
        try:
            self._check(work)
            self._settle(work)
            try:
                self._stage(work)
                self._carry_out(work)
            except BaseException:
                self._take_back(work)
                raise
        except (BpfError, DirectoryFull, NoRoom, TooLong) as error:
            kinds = {name: table.kind for name, table in self.tables.items()}
            raise errors.refused(of_tables(error, kinds)) from error
        self.images.revision += 1
        for rule in work.removed:
            self.tables[rule.kind].forget(rule)

    def _work(self, plan: Plan) -> _Work:
        gone = {(r.kind, r.id): r for r in plan.removed if not self.tables[r.kind].kind.grouped}
        again = [(old, r) for r in plan.created if (old := gone.get((r.kind, r.id)))]
        known = {rule.sequence for pair in again for rule in pair}
        return _Work(
            [rule for rule in plan.created if rule.sequence not in known],
            plan.changed, again,
            [rule for rule in plan.removed if rule.sequence not in known],
        )  # fmt: skip

    def _check(self, work: _Work) -> None:
        """Two rules of one hash cannot be there at a time. Raises `Refused`, DirectoryFull."""
        for table in self.tables.values():
            if table.masks is not None:
                table.masks.begin()
        going = {rule.sequence for rule in work.going}
        coming: dict[tuple[str, bytes], Rule] = {}
        for rule in work.coming:
            table = self.tables[rule.kind]
            if (key := table.key(rule)) is None:
                continue
            owner = table.owner(rule, key)
            taken = owner != rule.sequence and owner not in going
            if taken or coming.setdefault((rule.kind, key[1]), rule) is not rule:
                raise errors.refused(_same_hash(rule))

    def _settle(self, work: _Work) -> None:
        """In memory: which cell is whose. Raises NoRoom with nothing done."""
        for name, table in self.tables.items():
            if sum(rule.kind == name for rule in work.created) > len(table.free):
                raise NoRoom(name, "cells")
        for rule in work.created:
            self.tables[rule.kind].settle(rule)
        for old, new in work.pairs:
            self.tables[old.kind].move(old, new)

    def _stage(self, work: _Work) -> None:
        """On the host: images that are in force with the next revision."""
        revision = self.images.revision + 1
        for rule in work.coming:
            self.tables[rule.kind].stage(rule, revision)
        for rule in work.removed:
            self.tables[rule.kind].stage(rule, revision, gone=True)

    def _carry_out(self, work: _Work) -> None:
        """On the card: rules that others refer to first, and last to go."""
        for rule in work.removed:
            self.tables[rule.kind].withdraw(rule)
        for old, new in work.pairs:
            if old.match != new.match:
                self.tables[old.kind].withdraw(old)
        for rule in (*work.created, *(new for _, new in work.replaced)):
            self.tables[rule.kind].count_anew(rule)
        for rule in self._referred_first(work.coming):
            self._write(rule)

    def _take_back(self, work: _Work) -> None:
        """Undo a plan, however much of it was done. What the card refuses now is left to whoever
        opens it next: the images still show the unfinished plan."""
        self.broken = True
        moved = [new for old, new in work.pairs if old.match != new.match]
        with suppress(BpfError):
            for rule in (*work.created, *moved):
                self.tables[rule.kind].withdraw(rule)
            for old, new in work.pairs:
                self.tables[old.kind].move(new, old)
            for rule in self._referred_first(work.going):
                self._write(rule)
            for table in self.tables.values():
                table.images.take_back(self.images.revision)
            for rule in work.created:
                self.tables[rule.kind].forget(rule)
            self.broken = False

    def _referred_first(self, rules: Iterable[Rule]) -> list[Rule]:
        return sorted(rules, key=lambda rule: not self.tables[rule.kind].how.referred)

    def _write(self, rule: Rule) -> None:
        self.tables[rule.kind].write(rule, lambda kind, number: self.tables[kind].ids[number])


# ---- errors ---------------------------------------------------------------------------------


def _same_hash(rule: Rule) -> Diagnostic:
    title = f"`{rule.kind} {rule.id}` has the hash of another rule, and a card has room for one"
    return Diagnostic("H0750", title, (), "leave one of them out, or to the host")
