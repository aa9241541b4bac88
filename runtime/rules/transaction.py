"""Requests into the kernel: all of a plan or none of it, and no packet sees half.

Fresh records and images, then keys that lead to empty cells, then the cells, which hold their new
record from the next epoch on; then one 8-byte store: the epoch. Later, after a grace period that
many transactions share, cells are settled and what they no longer lead to is freed. Until the
store nothing is visible; a writer that dies is put right by the next one (recovery.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Protocol

import numpy as np

from ...lang.contract.manifest.manifest import Manifest
from ...lang.contract.rules.interleaving import NONE, YieldPoint, paced
from ...lang.contract.rules.rules import Rule
from ..base import errors as faults
from ..kernel.grace import online_cpus_grace
from ..kernel.handles import BpfError, Map
from .bulk import Staging
from .directory import Directory, DirectoryFull, NoVersion, Retired
from .errors import of_tables
from .images import TooLong
from .left_out import LeftOut
from .plans import Changes, Plan, work_of
from .pools import NoRoom
from .steps import Steps
from .tables import Step, Table

__all__ = ["FARTHEST", "Broken", "Changes", "Dangling", "NextHops", "Plan", "Writer"]

#: An epoch never runs further ahead of a cell that is not settled (cells compare 16 bits).
FARTHEST = 1 << 14
#: Cells that changed since the last grace period, at most, before the next is taken unasked.
_MOST_CHANGED = 1024
#: Rules that are reaped at a time, and at most by a transaction that others do not wait for.
_REAP_BATCH, _MOST_REAPED = 64, 2048
#: u64 words of struct control; the last has the sequence that the next rule gets.
_EPOCH, _DIRTY, NEXT = 0, 2, 3


class NextHops(Protocol):
    """Resolves next hops into records: `struct next_hop` of a port's number and an address
    (4 or 16 bytes)."""

    def next_hop(self, port: int, address: bytes) -> bytes: ...


class _Owed:
    """What is to be done after the next grace period. `size` cells, the first of them changed by
    the transaction after `since`; -1 where nothing is owed."""

    __slots__ = ("parts", "retired", "since", "size")

    def __init__(self) -> None:
        self.parts: list[Steps | Staging] = []
        self.retired: list[tuple[Directory, Retired]] = []
        self.since, self.size = -1, 0

    def __bool__(self) -> bool:
        return self.since >= 0


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
        self._directories = [(t, t.directory) for t in self.tables.values() if t.directory]
        self.next_hops = next_hops
        self.left_out = LeftOut()
        self._grace = grace
        self._owed = _Owed()
        #: Rules that are gone for every packet, and whose keys are still there.
        self._retired: list[Step] = []
        self._staging = 0  # transactions that are being staged
        self._broken = self._closed = False
        self.graces = 0

    @property
    def epoch(self) -> int:
        """The number of the last transaction."""
        return self.control[_EPOCH]

    @property
    def next_sequence(self) -> int:
        """No rule had this one yet, nor any above it: also of rules that are gone, as entries of
        states and events may still name them. 0 where an older release wrote the rules."""
        return self.control[NEXT]

    def reserve(self, sequence: int) -> None:
        """Rules are about to be created whose sequences are below this one."""
        self.control[NEXT] = max(self.control[NEXT], sequence)

    @property
    def broken(self) -> bool:
        """An earlier failure left this memory unlike the maps, or it is closed."""
        return self._broken

    @property
    def staging(self) -> bool:
        """A transaction is being staged, perhaps in a pause."""
        return self._staging > 0

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
            self._broken = self._closed = True
            # Whoever asks for the revision at this moment is told the last one.
            control, self.control = self.control, memoryview(bytes(self.control)).cast("Q")
            control.release()
            for table in self.tables.values():
                table.close()

    # ---- one transaction --------------------------------------------------------------------

    def apply(
        self, plan: Plan, pause: YieldPoint = NONE, ready: Callable[[], None] = lambda: None
    ) -> None:
        """Make the plan's changes, all at one moment. Raises `Refused` with nothing changed.

        In a `pause` other transactions may be made. From `ready` on there is none: it is called
        when only the moment itself is left."""
        if self._broken:
            raise Broken
        work = work_of(plan, self.tables, pause)
        if work.alone:
            pause = NONE
        if self._owed.since >= 0 and self._due(work, pause):
            self._settle()
        try:
            self._attempt(work, pause, ready)
        except (NoRoom, DirectoryFull, NoVersion, BpfError):
            # What is owed may be just what is missing.
            if not self._owed and not self._retired and not self._gone:
                raise
            self.settle()
            self._attempt(work, pause, ready)

    def try_apply(
        self, plan: Plan, pause: YieldPoint = NONE, ready: Callable[[], None] = lambda: None
    ) -> None:
        """`apply`, with what the maps cannot hold said in the user's terms."""
        try:
            self.apply(plan, pause, ready)
        except (NoRoom, DirectoryFull, Dangling, TooLong, BpfError) as error:
            kinds = {name: table.kind for name, table in self.tables.items()}
            raise faults.refused(of_tables(error, kinds)) from error

    def _attempt(self, work: Changes, pause: YieldPoint, ready: Callable[[], None]) -> None:
        steps = Steps()
        parts: list[Steps | Staging] = [steps]
        written = False
        self.control[_DIRTY] = 1
        self._staging += 1
        epoch = -1  # not this transaction's
        try:
            next_hop_of = self.next_hops.next_hop
            steps.stage(work, self.tables, self._place_of, next_hop_of, self.left_out, pause)
            for block in work.blocks:
                staging = Staging(self.tables[block.kind.name])
                parts.append(staging)
                staging.stage(block, self._place_of, pause)
            self._publish_directories()
            ready()
            epoch, written = self.control[_EPOCH] + 1, True
            for part in parts:
                part.write_cells(epoch)
            # x86 keeps stores in order, so that whoever reads this epoch finds all of the above;
            # on arm64 a barrier would have to stand here.
            self.control[_EPOCH] = epoch
            self._broken = True  # until memory says what the maps say
            owed = self._owe()
            for part in parts:
                owed.size += part.remember()
                owed.parts.append(part)
            self._broken = False
        except BaseException:
            # Past the store it is in force, whatever interrupts this: the maps are right, the
            # next writer reads them.
            if self.control[_EPOCH] != epoch:
                self._undo(parts, written, pause)
            raise
        finally:
            self._staging -= 1

    def _due(self, work: Changes, pause: YieldPoint) -> bool:
        """A cell changes once in a grace period, and none is left unsettled for too long."""
        owed = self._owed
        if owed.size > _MOST_CHANGED or self.control[_EPOCH] - owed.since >= FARTHEST:
            return True
        changed = [old for old, _ in work.changed] if work.changed else ()
        for rules in changed, work.removed:
            for rule in paced(rules, pause) if rules else ():
                table = self.tables[rule.kind]
                if not table.settled(table.sequences[rule.sequence]):
                    return True
        return False

    # ---- staging ----------------------------------------------------------------------------

    def _place_of(self, kind: str, number: int) -> int:
        try:
            return self.tables[kind].place_of(number)
        except KeyError:
            raise Dangling(kind, number) from None

    def _publish_directories(self) -> None:
        """Before the cells: a packet that finds a newer directory than its own finds only more
        tuples in it, of keys whose cells are empty for it."""
        for table, directory in self._directories:
            if directory.dirty:
                retired = directory.publish()
                table.cells[0] = directory.cell
                self._owe().retired.append((directory, retired))

    def _undo(self, parts: list[Steps | Staging], written: bool, pause: YieldPoint) -> None:
        """Nothing of it was visible; nothing of it stays. `written`: perhaps cells are."""
        if self._broken:  # closed in a pause: whoever opens the maps puts them right
            return
        self._broken = True
        for part in parts if written else ():
            part.unwrite()
        self.forget_changes()
        for part in reversed(parts):
            pieces, left = part.undo(), True
            while left:
                self._broken = True
                left = next(pieces, pieces) is not pieces
                self._broken = False
                pause.rest()
                if self._closed:
                    return

    def forget_changes(self) -> None:
        """No keys were added or removed at an epoch that is not committed."""
        for _, directory in self._directories:
            directory.since = min(directory.since, self.epoch)

    # ---- after the store --------------------------------------------------------------------

    def _owe(self) -> _Owed:
        if self._owed.since < 0:
            self._owed.since = self.control[_EPOCH]
        return self._owed

    def hold(self) -> None:
        """Leave the images of this moment as they are, also those of rules that change from now on,
        so that somebody else can read them at leisure; until `let_go`."""
        for table in self.tables.values():
            table.free_slots.hold()

    def let_go(self) -> bool:
        """The end of a `hold`: whether it was kept. A writer that has no other room breaks it."""
        whole = not any(table.free_slots.broken for table in self.tables.values())
        for table in self.tables.values():
            table.free_slots.let_go()
        return whole

    def copies(self) -> Iterator[bytes | memoryview]:
        """The epoch, u64, and behind it all cells of each kind: see `Reader.snapshot_in`."""
        yield self.epoch.to_bytes(8, "little")
        for table in self.tables.values():
            yield table.cells

    def skip_to(self, epoch: int) -> None:
        """Number the next transaction after this one, if that is further."""
        if epoch > self.control[_EPOCH]:
            self.settle()  # or cells that changed would seem to be changed in the future
            self.control[_EPOCH] = epoch

    def wait(self) -> None:
        """A grace period."""
        self._grace()
        self.graces += 1

    def settle(self, pause: YieldPoint = NONE) -> None:
        """Wait for a grace period, then free what no packet can see any more."""
        self._settle()
        while self._retired:
            self._reap(_REAP_BATCH)
            pause.rest()
            if self._closed:
                return
        if self._gone:
            self.wait()
            self._reclaim_gone()
        self._cleaned()

    def make_vectors(self) -> None:
        """Make the bit vectors again: another writer may have written into them."""
        broken, self._broken = self._broken, True
        if self.leave_vectors():
            self.wait()
        self.fill_vectors()
        self._broken = broken

    def leave_vectors(self) -> bool:
        """No packet begins to look there. Whether some may be looking."""
        found = [t.vectors.leave() for t in self.tables.values() if t.vectors is not None]
        return any(found)

    def fill_vectors(self) -> None:
        """A grace period later, where packets were looking."""
        for _, directory in self._directories:
            directory.fill_vectors()

    @property
    def _gone(self) -> bool:
        """There are cells that the next grace period frees."""
        return any(table.gone for table in self.tables.values())

    def _reclaim_gone(self) -> None:
        for table in self.tables.values():
            table.reclaim()

    def _cleaned(self) -> None:
        """Who finds the maps so has nothing to put right, if that is so."""
        if not self._staging and not self._retired and not self._owed:
            self.control[_DIRTY] = 0

    def _settle(self) -> None:
        """Nothing is owed any more; as many are reaped as that retires."""
        owed, before = self._owed, len(self._retired)
        if owed:
            self.wait()
            self._broken = True
            self._reclaim_gone()
            self._reclaim(owed)
            self._owed = _Owed()
            self._broken = False
            self._reap(min(len(self._retired) - before, _MOST_REAPED))
        self._cleaned()

    def _reclaim(self, owed: _Owed) -> None:
        for part in owed.parts:
            self._retired += part.settle()
        for directory, retired in owed.retired:
            directory.reclaim(retired)

    def _reap(self, most: int) -> None:
        """Take out the keys of up to `most` rules that went, and set their counters to zero and
        their meters to full; their cells are free after another grace period. A rule that went to
        another place of its table goes on counting there."""
        gone = self._retired[-most:] if most else []
        if not gone:
            return
        self._broken = True
        for table in dict.fromkeys(step.table for step in gone):
            mine = [step for step in gone if step.table is table]
            table.withdraw([key for step in mine for key in table.keys_of(step.rule, step.cell)])
            table.gone += (step.cell for step in mine)
            if table.kind.two_cells:
                mine = [step for step in mine if step.rule.sequence not in table.sequences]
            cells = np.array([step.cell for step in mine], np.int64)
            if table.counters is not None:
                there = ((s.cell, table.sequences.get(s.rule.sequence)) for s in mine)
                if moved := [pair for pair in there if pair[1] is not None]:
                    table.counters.move(*np.array(moved).T)
                table.counters.clear(cells)
            if table.meters is not None:
                table.meters.clear(cells)
        del self._retired[-most:]
        self._broken = False
