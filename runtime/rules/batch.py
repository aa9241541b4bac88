"""Many steps of one transaction in one table, prepared so that making them takes a moment."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ...lang.contract.rules.column_dict import patch
from ...lang.contract.rules.optimistic import paced
from .tables import SLOT, Table

if TYPE_CHECKING:
    from .transaction import Step

#: Steps from which on this is worth it.
MANY = 256


class Batch:
    """Takes steps (transaction.py) as a whole: their cells, and what memory has of them."""

    def __init__(self, table: Table, steps: Sequence[Step], pause: Callable[[], None]) -> None:
        """`pause`: is called now and then."""
        self.table = table
        self.gone: list[Step] = []
        self._sequences: dict[int, int | None] = {}
        self._ids: dict[int, int | None] = {}
        for step in paced(steps, pause):
            self._note(step)
        count = len(steps)
        self.cells = np.fromiter((s.cell for s in paced(steps, pause)), np.uint32, count)
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
        """See `Writer._remember`: those that come stand before those that go."""
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
        words = self._before | self._slots << np.uint64(24) | np.uint64(epoch << 48)
        np.frombuffer(self.table.cells, "<u8")[self.cells] = words

    def remember(self) -> None:
        table = self.table
        patch(table.sequences, self._sequences, len(table.sequences) + self._more)
        patch(table.ids, self._ids, len(table.ids) + self._more_ids)

    def settle(self) -> None:
        """After a grace period. `gone` are to be buried."""
        cells = np.frombuffer(self.table.cells, "<u8")
        cells[self.cells] = self._slots << np.uint64(24) | self._slots
        self.table.free_slots.give_many(self._before[self._before > 0].tolist())


def batches(steps: Iterable[Step], pause: Callable[[], None]) -> list[Batch]:
    """All of a transaction's steps, by table."""
    found: dict[Table, list[Step]] = {}
    for step in paced(steps, pause):
        found.setdefault(step.table, []).append(step)
    return [Batch(table, mine, pause) for table, mine in found.items()]
