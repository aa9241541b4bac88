"""Requests into the kernel: all of a plan or none of it, and no packet sees half.

Fresh records and images, then keys that lead to empty cells, then the cells, which hold their new
record from the next epoch on; then one 8-byte store: the epoch. Later, after a grace period that
many transactions share, cells are settled and what they no longer lead to is freed. Until the
store nothing is visible; a writer that dies is put right by the next one (recovery.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from ..compiler.manifest import Manifest
from ..compiler.requests.rules import Rule
from . import faults
from .bulk import Staging
from .directory import DirectoryFull, NoVersion, Retired
from .grace import online_cpus_grace
from .handles import BpfError, Map
from .images import TooLong
from .plans import Changes, Plan, Work, work_of
from .tables import EPOCHS, SLOT, NoRoom, Table

if TYPE_CHECKING:
    pass

__all__ = ["FARTHEST", "Broken", "Changes", "Dangling", "NextHops", "Plan", "Writer"]

#: An epoch never runs further ahead of a cell that is not settled (cells compare 16 bits).
FARTHEST = 1 << 14
#: Cells that changed since the last grace period, at most, before the next is taken unasked.
_MOST_CHANGED = 1024
_EPOCH, _DIRTY = 0, 2  # u64 words of struct control


class NextHops(Protocol):
    """Resolves next hops into records: `struct next_hop` of a port's number and an address."""

    def next_hop(self, port: int, address: int) -> bytes: ...


@dataclass
class _Staged:
    """What a transaction has done that nobody sees yet."""

    created: list[tuple[Table, Rule, int, int]] = field(default_factory=list)  # cell, slot
    changed: list[tuple[Table, int, int]] = field(default_factory=list)  # cell, slot
    removed: list[tuple[Table, Rule, int]] = field(default_factory=list)  # cell
    keys: list[tuple[Table, list[bytes]]] = field(default_factory=list)
    cells: list[tuple[Table, int]] = field(default_factory=list)
    slots: list[tuple[Table, int]] = field(default_factory=list)
    before: list[tuple[Table, int, int]] = field(default_factory=list)  # cell, its word
    many: list[Staging] = field(default_factory=list)


@dataclass
class _Owed:
    """What is to be done after the next grace period."""

    settled: list[tuple[Table, int]] = field(default_factory=list)
    slots: list[tuple[Table, int]] = field(default_factory=list)
    dead: list[tuple[Table, int, list[bytes]]] = field(default_factory=list)  # cell, keys
    retired: list[tuple[Table, Retired]] = field(default_factory=list)
    since: int = 0  # the epoch of the oldest
    many: list[Staging] = field(default_factory=list)

    @property
    def size(self) -> int:
        return len(self.settled) + len(self.dead) + sum(len(b.cells) for b in self.many)

    def __bool__(self) -> bool:
        return bool(self.settled or self.dead or self.retired or self.many)


class Dangling(LookupError):
    """A rule refers to one that is not there. The rule book refuses that before."""


class Broken(Exception):
    """An earlier failure left the writer's memory unlike the maps: open the pipeline anew."""


class Writer:
    """The one writer of a pipeline's rules. `apply` and `settle` are its whole interface."""

    def __init__(
        self,
        manifest: Manifest,
        maps: Mapping[str, Map],
        next_hops: NextHops,
        grace: Callable[[], None] = online_cpus_grace,
    ) -> None:
        self.tables = {kind.name: Table(manifest, kind, maps) for kind in manifest.rules}
        self.control = maps["control"].mmap().cast("Q")
        self.next_hops = next_hops
        self._grace = grace
        self._owed = _Owed()
        self._broken = False
        self.graces = 0

    @property
    def epoch(self) -> int:
        """The number of the last transaction."""
        return self.control[_EPOCH]

    def rules(self) -> Iterator[Rule]:
        """Every live rule, out of the maps."""
        for table in self.tables.values():
            yield from table.rules()

    def close(self) -> None:
        """Settle what is owed and give the maps back. May be called again."""
        try:
            if not self._broken:
                self.settle()
        finally:
            self._broken = True
            self.control.release()
            for table in self.tables.values():
                table.close()

    # ---- one transaction --------------------------------------------------------------------

    def apply(self, plan: Plan) -> None:
        """Make the plan's changes, all at one moment. Raises `Refused` with nothing changed."""
        if self._broken:
            raise Broken
        work = work_of(plan, self.tables)
        self._wait_if_needed(work)
        try:
            self._attempt(work)
        except (NoRoom, DirectoryFull, NoVersion, BpfError):
            # What is owed may be just what is missing.
            if not self._owed:
                raise
            self.settle()
            self._attempt(work)

    def try_apply(self, plan: Plan) -> None:
        """`apply`, with what the maps cannot hold said in the user's terms."""
        try:
            self.apply(plan)
        except (NoRoom, DirectoryFull, Dangling, TooLong, BpfError) as error:
            kinds = {name: table.kind for name, table in self.tables.items()}
            raise faults.refused(faults.of_tables(error, kinds)) from error

    def _attempt(self, work: Work) -> None:
        staged = _Staged()
        self.control[_DIRTY] = 1
        epoch = self.control[_EPOCH] + 1
        try:
            self._stage(work, staged)
            for block in work.blocks:
                staging = Staging(self.tables[block.kind.name])
                staged.many.append(staging)
                staging.stage(block, self._cell_of)
            self._publish_directories()
            self._write_cells(staged, epoch & (EPOCHS - 1))
            self.control[_EPOCH] = epoch
            self._broken = True  # until memory says what the maps say
            self._remember(staged, epoch)
            self._broken = False
        except BaseException:
            # Past the store it is in force, whatever interrupts this: the maps are right, the
            # next writer reads them.
            if self.control[_EPOCH] != epoch:
                self._undo(staged)
            raise

    def _wait_if_needed(self, work: Work) -> None:
        """A cell changes once in a grace period, and none is left unsettled for too long."""
        owed = self._owed
        if not owed:
            return
        due = owed.size > _MOST_CHANGED or self.control[_EPOCH] - owed.since >= FARTHEST
        for old, _ in work.changed:
            table = self.tables[old.kind]
            due = due or table.sequences[old.sequence] in table.unsettled
        for rule in work.removed:
            table = self.tables[rule.kind]
            due = due or table.sequences[rule.sequence] in table.unsettled
        if due:
            self.settle()

    # ---- staging ----------------------------------------------------------------------------

    def _stage(self, work: Work, staged: _Staged) -> None:
        created, changed, removed, _ = work
        tables = self.tables
        new_ids: dict[tuple[str, int], int] = {}
        for rule in created:
            table = tables[rule.kind]
            cell = table.take_cell()
            staged.cells.append((table, cell))
            new_ids[rule.kind, rule.id] = cell

        def cell_of(kind: str, number: int) -> int:
            cell = new_ids.get((kind, number))
            return self._cell_of(kind, number) if cell is None else cell

        hop = self.next_hops.next_hop
        for (table, cell), rule in zip(list(staged.cells), created, strict=True):
            slot = table.write(rule, cell, cell_of, hop)
            staged.slots.append((table, slot))
            staged.created.append((table, rule, cell, slot))
        for old, new in changed:
            table = tables[new.kind]
            cell = table.sequences[old.sequence]
            slot = table.write(new, cell, cell_of, hop)
            staged.slots.append((table, slot))
            staged.changed.append((table, cell, slot))
        for rule in removed:
            table = tables[rule.kind]
            staged.removed.append((table, rule, table.sequences[rule.sequence]))
        for table, rule, cell, _ in staged.created:
            if table.entries is not None:
                keys: list[bytes] = []
                staged.keys.append((table, keys))
                table.insert(rule, cell, keys)

    def _cell_of(self, kind: str, number: int) -> int:
        cell = self.tables[kind].ids.get(number)
        if cell is None:
            raise Dangling(kind, number)
        return cell

    def _publish_directories(self) -> None:
        """Before the cells: a packet that finds a newer directory than its own finds only more
        tuples in it, of keys whose cells are empty for it."""
        for table in self.tables.values():
            directory = table.directory
            if directory is not None and directory.dirty:
                retired = directory.publish()
                table.cells[0] = directory.slot << 24 | directory.slot
                self._owe().retired.append((table, retired))

    def _write_cells(self, staged: _Staged, epoch: int) -> None:
        high = epoch << 48
        before = staged.before
        for staging in staged.many:
            staging.write_cells(epoch)
        for table, _, cell, slot in staged.created:
            before.append((table, cell, 0))
            table.cells[cell] = slot << 24 | high
        for table, cell, slot in staged.changed:
            word = table.cells[cell]
            before.append((table, cell, word))
            table.cells[cell] = (word >> 24 & SLOT) | slot << 24 | high
        for table, _, cell in staged.removed:
            word = table.cells[cell]
            before.append((table, cell, word))
            table.cells[cell] = (word >> 24 & SLOT) | high

    def _undo(self, staged: _Staged) -> None:
        """Nothing of it was visible; nothing of it stays."""
        self._broken = True
        for table, cell, word in staged.before:
            table.cells[cell] = word
        for staging in staged.many:
            staging.undo()
        for table, keys in staged.keys:
            table.withdraw(keys)
        for table, slot in staged.slots:
            table.free_slots.give(slot)
        for table, cell in staged.cells:
            table.free_cells.give(cell)
        self._broken = False

    # ---- after the store --------------------------------------------------------------------

    def _owe(self) -> _Owed:
        if not self._owed:
            self._owed.since = self.control[_EPOCH]
        return self._owed

    def _remember(self, staged: _Staged, epoch: int) -> None:
        owed = self._owe()
        for staging in staged.many:
            staging.remember()
            owed.many.append(staging)
        for table, rule, cell in staged.removed:
            keys: list[bytes] = []
            if table.directory is not None:
                keys = table.directory.keys_of(table.codec.patterns(rule), cell)
            owed.dead.append((table, cell, keys))
            owed.slots.append((table, table.cells[cell] & SLOT))
            table.unsettled.add(cell)
            del table.sequences[rule.sequence]
            if table.ids.get(rule.id) == cell:
                del table.ids[rule.id]
        for table, rule, cell, _ in staged.created:
            owed.settled.append((table, cell))
            table.unsettled.add(cell)
            table.sequences[rule.sequence] = cell
            if not table.kind.grouped:
                table.ids[rule.id] = cell
        for table, cell, _ in staged.changed:
            owed.settled.append((table, cell))
            owed.slots.append((table, table.cells[cell] & SLOT))
            table.unsettled.add(cell)

    def wait(self) -> None:
        """A grace period."""
        self._grace()
        self.graces += 1

    def settle(self) -> None:
        """Wait for a grace period, then free what no packet can see any more."""
        owed = self._owed
        if owed:
            self.wait()
            self._broken = True
            self._reclaim(owed)
            self._owed = _Owed()
            self._broken = False
        self.control[_DIRTY] = 0

    def _reclaim(self, owed: _Owed) -> None:
        for staging in owed.many:
            staging.settle()
        for table, cell in owed.settled:
            word = table.cells[cell]
            slot = word >> 24 & SLOT
            table.cells[cell] = (word & ~SLOT) | slot
        dead: dict[str, list[int]] = {}
        for table, cell, keys in owed.dead:
            table.cells[cell] = 0
            if keys:
                table.withdraw(keys)
            dead.setdefault(table.kind.name, []).append(cell)
        for name, cells in dead.items():
            table = self.tables[name]
            table.zero_counts(cells)
            for cell in cells:
                table.free_cells.give(cell)
        for table, slot in owed.slots:
            table.free_slots.give(slot)
        for table, retired in owed.retired:
            assert table.directory is not None
            table.directory.reclaim(retired)
        for table in self.tables.values():
            table.unsettled.clear()
