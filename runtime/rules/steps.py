"""The rules of a transaction that come, change or go one by one.

`Steps` and, for packed rules, `Staging` (bulk.py) are the parts that a transaction has, with the
same life: staged, `write_cells` in the moment of the epoch, then `remember`, and `settle` after
a grace period; or `unwrite` and `undo`. Of many steps all but the staging is made by the column:
the moment in which nobody else is let in takes no longer than that of packed rules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from ...lang.contract.rules.column_dict import patch
from ...lang.contract.rules.interleaving import YieldPoint, paced
from ...lang.contract.rules.rules import Rule
from ...lang.contract.rules.spread import prepare
from .codec import NextHopOf, PlaceOf
from .left_out import LeftOut
from .plans import Changes, Tables
from .stored import EPOCHS, SLOT
from .tables import Step, Table

#: Steps from which on columns are worth it.
MANY = 256
#: Spreads of so many steps get their slots at once.
_SPREADS = 64


class Steps:
    """`steps` are made in their order, and undone backwards."""

    __slots__ = ("_columns", "steps")

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self._columns: list[_Columns] = []

    def stage(
        self, work: Changes, tables: Tables, place_of: PlaceOf, next_hop_of: NextHopOf,
        left_out: LeftOut, pause: YieldPoint,
    ) -> None:  # fmt: skip
        """Records, images, keys. `left_out`: of spreads. Raises NoRoom,
        DirectoryFull, BpfError; then `undo`."""
        steps, ids = self.steps, dict[tuple[str, int], int]()
        for rule in paced(work.created, pause) if work.created else ():
            table = tables[rule.kind]
            moved = table.sequences.get(rule.sequence, 0) if table.kind.two_cells else 0
            if moved:  # with the record that packets of now do not read
                step = Step(table, rule, table.free_cells.take_beside(moved), 0)
                steps.append(step)
                step.slot = table.free_slots.take_beside(table.live_slot(moved))
            else:
                cell = table.free_cells.take_like(_place_given(rule, ids, tables))
                step = Step(table, rule, cell, 0)
                steps.append(step)
            if not table.kind.grouped:
                ids[rule.kind, rule.id] = step.cell % table.places
        for old, new in paced(work.changed, pause) if work.changed else ():
            table = tables[new.kind]
            cell = table.sequences[old.sequence]
            step = Step(table, new, cell, table.cells[cell])
            steps.append(step)
            step.slot = table.free_slots.take_beside(step.word >> 24 & SLOT)

        def new_place_of(kind: str, number: int) -> int:
            return ids.get((kind, number)) or place_of(kind, number)

        for number, step in enumerate(paced(steps, pause)):  # by now all ids lead to places
            if len(steps) >= MANY and number % _SPREADS == 0:
                _elect(steps[number : number + _SPREADS], left_out)
            table, rule, cell = step.table, step.rule, step.cell
            step.slot = slot = step.slot or table.free_slots.take()
            seen = table.present(rule, left_out) if left_out and rule.members else rule
            # `record_at`, without the call
            at = cell % table.places * table.place_stride
            at += (slot & table.slot_bits) * table.slot_stride
            table.codec.record(table.records, at, seen, new_place_of, next_hop_of)
            matches = table.matches.of(rule)
            at = slot * table.image_stride
            table.image_codec.write(table.images, at, rule, cell, matches.image)
            if not step.word:
                table.insert(matches, cell, step.keys)
        for rule in paced(work.removed, pause) if work.removed else ():
            table = tables[rule.kind]
            cell = table.sequences[rule.sequence]
            steps.append(Step(table, rule, cell, table.cells[cell]))
        if len(steps) >= MANY:
            found: dict[Table, list[Step]] = {}
            for step in paced(steps, pause):
                found.setdefault(step.table, []).append(step)
            self._columns = [_Columns(table, mine, pause) for table, mine in found.items()]

    def write_cells(self, epoch: int) -> None:
        for columns in self._columns:
            columns.write_cells(epoch)
        if not self._columns:
            high = (epoch & (EPOCHS - 1)) << 48
            for step in self.steps:
                if not (step.word and step.slot):
                    step.table.keys_change(epoch)
                step.table.cells[step.cell] = step.word >> 24 & SLOT | step.slot << 24 | high

    def unwrite(self) -> None:
        """The cells hold what they held."""
        for step in self.steps:
            step.table.cells[step.cell] = step.word

    def undo(self) -> Iterator[None]:
        """Nothing of it was visible; nothing of it stays: in pieces, and all are to be taken."""
        for step in reversed(self.steps):
            table = step.table
            table.undo(step.keys, step.cell)
            if step.slot:
                table.free_slots.give(step.slot)
            if not step.word:
                table.gone.append(step.cell)
            yield

    def remember(self) -> int:
        """They are live now; how many cells these are."""
        for columns in self._columns:
            columns.remember()
        for step in self.steps if not self._columns else ():
            table, rule, cell = step.table, step.rule, step.cell
            # A rule whose priority changed has one sequence and two steps: it comes to its new
            # cell first, then leaves its old one, which by then is not the sequence's any more.
            if not step.word:
                table.sequences[rule.sequence] = cell
                if not table.kind.grouped:
                    table.ids[rule.id] = cell
            elif not step.slot:
                if table.sequences[rule.sequence] == cell:
                    del table.sequences[rule.sequence]
                table.forget(rule.id, cell)
        return len(self.steps)

    def settle(self) -> list[Step]:
        """After a grace period. Those that went, whose keys are still there."""
        for columns in self._columns:
            columns.settle()
        for step in self.steps if not self._columns else ():
            table, slot = step.table, step.slot
            table.cells[step.cell] = slot << 24 | slot
            if before := step.word >> 24 & SLOT:
                table.free_slots.give(before)
        if self._columns:
            return [step for columns in self._columns for step in columns.gone]
        return [step for step in self.steps if not step.slot]


def _elect(steps: Sequence[Step], left_out: LeftOut) -> None:
    """Have the slots of their spreads known: of many at a time they take a tenth of the time."""
    spreads = (step.table.present(step.rule, left_out) for step in steps if step.rule.members)
    prepare([tuple(sorted(rule.members)) for rule in spreads])


def _place_given(rule: Rule, ids: Mapping[tuple[str, int], int], tables: Tables) -> int:
    """The place of what the rule gives, 0 if it gives none: packets fetch both at once where they
    have one number."""
    to = rule.target
    if to is None:
        return 0
    table = tables[to.kind]
    return ids.get((to.kind, to.id)) or table.ids.get(to.id, 0) % table.places


class _Columns:
    """Many steps in one table: their cells, and what memory has of them."""

    def __init__(self, table: Table, steps: Sequence[Step], pause: Callable[[], None]) -> None:
        self.table = table
        self.gone: list[Step] = []
        self._sequences: dict[int, int | None] = {}
        self._ids: dict[int, int | None] = {}
        for step in paced(steps, pause):
            self._note(step)
        count = len(steps)
        self._cells = np.fromiter((s.cell for s in paced(steps, pause)), np.uint32, count)
        self._slots = np.fromiter((s.slot for s in paced(steps, pause)), np.uint64, count)
        words = np.fromiter((s.word for s in paced(steps, pause)), np.uint64, count)
        self._before = words >> np.uint64(24) & np.uint64(SLOT)
        self._more = sum(
            (cell is not None) - (sequence in table.sequences)
            for sequence, cell in paced(self._sequences.items(), pause)
        )
        self._more_ids = sum(
            (cell is not None) - (id_ in table.ids) for id_, cell in paced(self._ids.items(), pause)
        )

    def _note(self, step: Step) -> None:
        """See `Steps.remember`: those that come stand before those that go."""
        rule, table = step.rule, self.table
        if not step.word:
            self._sequences[rule.sequence] = step.cell
            if not table.kind.grouped:
                self._ids[rule.id] = step.cell
        elif not step.slot:
            self.gone.append(step)
            self._sequences.setdefault(rule.sequence, None)
            if table.ids.get(rule.id) == step.cell:
                self._ids.setdefault(rule.id, None)

    def write_cells(self, epoch: int) -> None:
        if self._sequences:
            self.table.keys_change(epoch)
        high = np.uint64((epoch & (EPOCHS - 1)) << 48)
        words = self._before | self._slots << np.uint64(24) | high
        np.frombuffer(self.table.cells, "<u8")[self._cells] = words

    def remember(self) -> None:
        table = self.table
        patch(table.sequences, self._sequences, len(table.sequences) + self._more)
        patch(table.ids, self._ids, len(table.ids) + self._more_ids)

    def settle(self) -> None:
        settled = self._slots << np.uint64(24) | self._slots
        np.frombuffer(self.table.cells, "<u8")[self._cells] = settled
        self.table.free_slots.give_many(self._before[self._before > 0].tolist())
