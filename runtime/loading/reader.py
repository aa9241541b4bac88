"""Reads rules, counters and states of a loaded pipeline while its writer goes on."""

from __future__ import annotations

import mmap
from collections.abc import Collection, Iterable, Mapping
from contextlib import ExitStack
from errno import ENOENT
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from ...lang.contract.manifest.manifest import (
    Counter,
    Manifest,
    ManifestError,
    RuleKind,
    State,
)
from ...lang.contract.manifest.read_manifest import from_json
from ...lang.contract.rules.rules import Rule
from ..base import errors
from ..base.agent_errors import overtaken
from ..base.paths import this_namespace
from ..base.rule_memory import raised_by_rules
from ..kernel.handles import BpfError, Map
from ..ports.ports import PortConfig
from ..rules.bulk import rows
from ..rules.counters import Counters, before_of, counters_of, read_sums
from ..rules.images import LIVE, ImageCodec, of_heads
from ..rules.left_out import LeftOut
from ..rules.moment import Counted, Moment, Rules, slots_at
from ..rules.stored import EPOCHS, SLOT
from ..rules.tables import record_numbers
from ..states.entry import StateCount
from ..states.storage import count_entries
from ..states.table import StateTable, table_of
from .excluded_members import members_left_out, slots_in
from .pinned_maps import PinGone, PinnedMaps
from .releases import about_id, pick, read_about, release_of

_ATTEMPTS = 100

Array = npt.NDArray[Any]


class Reader:
    """Reads only, and needs no lock. Close it."""

    def __init__(self, name: str = "", release: int = 0) -> None:
        """`name` may be left out if one pipeline is loaded; `release`: another than is in force.
        Raises `Refused`."""
        self.name = pick(name)
        self._owned = ExitStack()
        self._maps = PinnedMaps(self.name)
        self._views: dict[str, memoryview] = {}
        self._counters: dict[str, Counters] = {}
        try:
            self._open(release)
            self.manifest: Manifest = from_json(self.about["manifest"])
            self.ports = tuple(PortConfig(**port) for port in self.about["ports"])
            self.port_numbers = {port.name: port.number for port in self.ports}
            self.interfaces = {port.name: port.interface for port in self.ports}
            self.incarnation: str = self.about["incarnation"]
            #: Whether its interfaces are those that this process sees.
            self.here = self.about["namespace"] == this_namespace()
        except BpfError as error:
            self.close()
            doing = f"read the pipeline `{self.name}`"
            raise errors.refused(errors.of_kernel(error, doing)) from error
        except ManifestError as error:
            self.close()
            raise errors.refused(errors.damaged(self.name, str(error))) from None

    def _open(self, release: int) -> None:
        """All maps of a release, though another may replace it until they are. Raises BpfError."""
        for attempt in range(_ATTEMPTS):
            self._in_force = about_id(self.name)
            self.about = read_about(self.name, release)
            folder = release_of(self.name, self.about["release"]) / "maps"
            try:
                for path in list(folder.iterdir()):
                    self._maps.open_one(path, self._owned, self.about.get("objects"))
                return
            except (BpfError, FileNotFoundError) as error:
                self._owned.close()
                self._maps.clear()
                if error.errno != ENOENT or attempt == _ATTEMPTS - 1:
                    raise BpfError(f"open the maps in `{folder}`", error.errno or ENOENT) from None
            except PinGone:
                self._owned.close()
                raise

    @property
    def in_force(self) -> bool:
        """Whether the pipeline is still what it was when this was opened."""
        try:
            return about_id(self.name) == self._in_force
        except BpfError:
            return False

    def close(self) -> None:
        """May be called again."""
        self._owned.close()

    def __enter__(self) -> Reader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def map(self, name: str) -> Map:
        """One of the pipeline's maps, by its whole name; owned by this."""
        return self._maps[name]

    # ---- what there is ----------------------------------------------------------------------

    def events(self) -> list[tuple[Counter, int]]:
        """Every event's count, summed over the CPUs, with the events that rules raised."""
        found = self.events_of_packets()
        if raised := raised_by_rules(self.name, self.incarnation):
            return [
                (c, count + raised[c.reason][0] if c.group == "emitted" else count)
                for c, count in found
            ]
        return found

    def events_of_packets(self) -> list[tuple[Counter, int]]:
        """What this release's maps have."""
        sums = read_sums(self.map("events"), len(self.manifest.counters))
        if (before := before_of("events")) in self._maps:
            sums += read_sums(self.map(before), len(sums))
        return list(zip(self.manifest.counters, sums[:, 0].tolist(), strict=True))

    def rules(self) -> list[Counted]:
        """Every rule of one moment between two transactions, by kind and id, with its counters."""
        return list(self.snapshot())

    def snapshot(self, kinds: Collection[str] = ()) -> Moment:
        """A moment's rules, of these kinds (default: of all), while the writer goes on. Raises
        `Refused` where it is too fast."""
        control = self.map("control").mmap().cast("Q")
        try:
            for _ in range(_ATTEMPTS):
                epoch = control[0]
                cells = {kind.name: self._cells(kind) for kind in self.manifest.rules}
                found = self.snapshot_of(epoch, cells, kinds).detach()
                if control[0] == epoch:
                    return found
            raise errors.refused(overtaken())
        finally:
            control.release()

    def snapshot_of(
        self, epoch: int, cells: Mapping[str, Array], kinds: Collection[str] = ()
    ) -> Moment:
        """Of an epoch, by the cells as they were then. Its images may be overwritten."""

        def read(kind: RuleKind) -> Rules:
            return self._rules(kind, slots_at(cells[kind.name], epoch))

        return Moment(self.manifest, epoch, self.port_numbers, read, kinds)

    def snapshot_in(self, descriptor: int, kinds: Collection[str] = ()) -> Moment:
        """Of a memory file of `Writer.copies`. Its images may be overwritten."""
        words = np.frombuffer(mmap.mmap(descriptor, 0, prot=mmap.PROT_READ), "<u8")
        cells, at = dict[str, Array](), 1
        for kind in self.manifest.rules:
            cells[kind.name] = words[at : at + kind.cells]
            at += kind.cells
        return self.snapshot_of(int(words[0]), cells, kinds)

    def _rules(self, kind: RuleKind, slots: Array) -> Rules:
        live = np.flatnonzero(slots)
        stride = self.map(f"{kind.prefix}_images").spec.stride
        images = rows(self._memory(f"{kind.prefix}_images"), stride)
        live = live[of_heads("flags", images, slots[live]) == LIVE]  # others a writer has overtaken
        count = partial(self.tallies, kind) if kind.counts else None
        return Rules(self.manifest, kind, live, slots[live], images, count)

    def table(self, kind: RuleKind) -> Rules:
        """The rules of a kind as they are now, while nobody writes."""
        epoch = self.map("control").mmap().cast("Q")[0]
        return self._rules(kind, slots_at(self._cells(kind), epoch))

    def left_out(self, spreads: Iterable[tuple[str, Rule]]) -> LeftOut:
        """The members that spreads leave out, each of these with the kind of its members, as it is
        now."""
        tables = {kind.name: self.table(kind) for kind in self.manifest.rules}
        rows = {
            (name, int(sequence)): row
            for name, rules in tables.items() if rules.kind.spread is not None
            for row, sequence in enumerate(rules.sequences)
        }  # fmt: skip

        def place_of(kind: str, id_: int) -> int:
            rules = tables[kind]
            found = rules.rows_of(id_)
            return int(rules.cells[found[0]]) % rules.kind.places if found else -1

        def slots_of(rule: Rule) -> set[int]:
            rules, row = tables[rule.kind], rows.get((rule.kind, rule.sequence))
            if row is None:
                return set()
            records = f"{rules.kind.prefix}_records"
            number = record_numbers(rules.kind, rules.cells[[row]], rules.slots[[row]])[0]
            stride = self.map(records).spec.stride
            return slots_in(rules.kind, self._memory(records), int(number) * stride)

        return members_left_out(self.manifest, spreads, place_of, slots_of)

    def tallies(self, kind: RuleKind, cells: Array) -> Array:
        """Packets and bytes of these cells, then packets by size if the kind counts those."""
        words = self.counters(kind).sums(cells)
        if "sizes" not in kind.counts:
            return words
        above = words[:, :1] - words[:, 2:].sum(axis=1, keepdims=True, dtype=np.uint64)
        return np.hstack((words[:, :-1], above))

    def counters(self, kind: RuleKind) -> Counters:
        """Of a kind that counts."""
        if kind.name not in self._counters:
            found = counters_of(self.manifest, kind, self._maps)
            assert found is not None
            self._counters[kind.name] = found
        return self._counters[kind.name]

    # ---- numbers alone, give or take what just changes ----------------------------------------

    @property
    def revision(self) -> int:
        """Of the last transaction."""
        return int.from_bytes(self._memory("control")[:8], "little")

    def live(self, kind: RuleKind, revision: int) -> tuple[Array, Array]:
        """The cells of a kind's rules, and their sequences."""
        slots = self._slots(kind, revision)
        cells = np.flatnonzero(slots)
        stride = self.map(f"{kind.prefix}_images").spec.stride
        images = rows(self._memory(f"{kind.prefix}_images"), stride)
        return cells, of_heads("sequence", images, slots[cells])

    def masks(self, kind: RuleKind, revision: int) -> int | None:
        """Under how many masks a kind's rules are looked for; None where these are fixed."""
        if not kind.tuples or kind.fixed or f"{kind.prefix}_tuples" not in self._maps:
            return None
        directory = self._cells(kind)[:1]
        ahead = ((revision & (EPOCHS - 1)) - int(directory[0] >> np.uint64(48))) % EPOCHS
        shift = 24 if ahead < EPOCHS // 2 else 0
        version = int(directory[0]) >> shift & SLOT
        at = version * self.map(f"{kind.prefix}_tuples").spec.stride
        return int.from_bytes(self._memory(f"{kind.prefix}_tuples")[at : at + 4], "little")

    def count_entries(self, state: State) -> int:
        """How many a state table has."""
        return count_entries(self.map(f"{state.prefix}_state"), state)

    def rule_in(self, kind: RuleKind, cell: int) -> Rule | None:
        """The rule that a cell leads to now."""
        slot = int(self._slots(kind, self.revision)[cell])
        image = self.map(f"{kind.prefix}_images").lookup(slot.to_bytes(4, "little"))
        try:
            return ImageCodec(self.manifest, kind).rule_of(image or b"")[0] if slot else None
        except (ValueError, IndexError):
            return None  # overtaken by a writer

    def occupancy(self) -> tuple[int, dict[str, int]]:
        """The revision, and how many rules each kind has, give or take those that just change."""
        revision = self.revision
        slots = {kind.name: self._slots(kind, revision) for kind in self.manifest.rules}
        return revision, {name: int(np.count_nonzero(each)) for name, each in slots.items()}

    def _slots(self, kind: RuleKind, revision: int) -> Array:
        """By cell where its image is; 0 without a rule."""
        return slots_at(self._cells(kind), revision)

    def _cells(self, kind: RuleKind) -> Array:
        return np.frombuffer(self._memory(f"{kind.prefix}_cells"), dtype="<u8").copy()

    def state(self, name: str) -> StateTable:
        """A state table, by its name in any spelling. Raises `Refused`."""
        return table_of(self.manifest, self._maps, self.port_numbers, name)

    def state_counts(self) -> list[StateCount]:
        """Of each state table."""
        lost = {
            (counter.group, counter.reason): count for counter, count in self.events()
            if counter.group in ("evicted", "lost")
        }  # fmt: skip
        made = []
        for state in self.manifest.states:
            entries, expired = self.state(state.name).count()
            each = lost.get(("evicted", state.name)), lost.get(("lost", state.name))
            made.append(StateCount(state.name, entries, state.capacity, expired, *each))
        return made

    def _memory(self, name: str) -> memoryview:
        if name not in self._views:
            self._views[name] = self.map(name).mmap()
        return self._views[name]
