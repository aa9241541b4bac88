"""A writer's memory, made from the maps alone, whatever the writer before it was in the middle of.

What was committed stays; what was staged goes. Every step may be interrupted and begun again.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ...lang.contract.rules.column_dict import joined
from .images import HEAD
from .key_hash import hashes_of
from .stored import EPOCHS, SLOT
from .tables import Table
from .transaction import Writer

Words = npt.NDArray[np.uint64]


def recover(writer: Writer) -> None:
    """Bring the maps to the last committed state, and the writer's memory to the maps."""
    epoch = writer.epoch & (EPOCHS - 1)
    died = bool(writer.control[2])
    writer.forget_changes()
    looking = writer.leave_vectors()
    unsettled = [_revert(table, epoch) for table in writer.tables.values()]
    if died or looking or any(unsettled):
        # The last transaction may be just made: packets of the one before may still run. Or no cell
        # of it was written yet, but a directory, and packets still read the one before that.
        writer.wait()
        for table in writer.tables.values():
            _settle(table)
    for table in writer.tables.values():
        _read(table, died)
    if died:
        writer.wait()  # for packets that compare keys which were taken out
    for table in writer.tables.values():
        table.reclaim()
    writer.fill_vectors()
    writer.control[2] = 0


def _cells(table: Table) -> Words:
    return np.frombuffer(table.cells, dtype="<u8")


def _revert(table: Table, epoch: int) -> bool:
    """Give cells whose new slot is not committed the old one back. Is any other unsettled?"""
    cells = _cells(table)
    used = np.flatnonzero(cells)
    words = cells[used]
    old, new = words & SLOT, words >> 24 & SLOT
    ahead = (epoch - (words >> 48).astype(np.int64)) % EPOCHS >= EPOCHS // 2
    staged = (old != new) & ahead
    cells[used[staged]] = (words & ~np.uint64(SLOT << 24) | old << 24)[staged]
    return bool(np.any((old != new) & ~staged))


def _settle(table: Table) -> None:
    cells = _cells(table)
    used = np.flatnonzero(cells)
    words = cells[used]
    new = words >> 24 & SLOT
    changed = (words & SLOT) != new
    cells[used[changed]] = (words & ~np.uint64(SLOT) | new)[changed]


def _read(table: Table, died: bool) -> None:
    cells = _cells(table)
    slots = (cells >> 24 & SLOT).astype(np.int64)
    slots[0] = 0  # the directory's
    live = np.flatnonzero(slots)
    images = np.frombuffer(table.images, dtype=np.uint8).reshape(-1, table.image_stride)
    heads = images[slots[live], : HEAD.itemsize].copy().view(HEAD).reshape(-1)
    table.sequences = joined({}, heads["sequence"], live)
    if not table.kind.grouped:
        table.ids = joined({}, heads["id"], live)
    table.free_cells.all_but(live)
    table.free_slots.all_but(slots[live])
    if died:
        # Cells that lead nowhere are zero; their counters are.
        zero = np.ones(len(cells), dtype=bool)
        zero[live] = False
        cells[np.flatnonzero(zero)[1:]] = 0
        free = np.setdiff1d(np.arange(table.places), live % table.places)
        if table.counters is not None:
            table.counters.clear(free[table.counters.sums(free).any(axis=1)])
        if table.meters is not None:
            table.meters.clear(free)
    _read_keys(table, heads, live, died)


def _read_keys(
    table: Table, heads: npt.NDArray[np.void], live: npt.NDArray[np.intp], died: bool
) -> None:
    """Keep the keys of live rules, take out all others."""
    if table.entries is None or table.directory is None:
        return
    directory = table.directory
    keys, entries = table.entries.adopt(died)
    sequence_of = np.zeros(table.kind.cells, dtype=np.uint64)
    sequence_of[live] = heads["sequence"]
    youngest = np.uint64((1 << 48) - 1)
    found = sequence_of[np.minimum(entries["cell"], table.kind.cells - 1)]
    numbers = keys[:, -2].astype(np.int64) << 8 | keys[:, -1]
    kept = (found != 0) & (entries["rank"] & youngest == youngest - found)
    kept &= directory.known(numbers)
    if not kept.all():
        table.entries.remove(key.tobytes() for key in keys[~kept])
        keys, entries, numbers = keys[kept], entries[kept], numbers[kept]
    directory.adopt(numbers, entries["priority"], entries["rank"])
    if table.filter is not None:
        table.filter.rebuild(hashes_of(keys))
