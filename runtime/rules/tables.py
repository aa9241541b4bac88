"""The maps of a loaded pipeline's rules, as a writer sees them: cells, records, keys, counters.

See the manifest for the maps, helio.bpf.h for their structures. Nothing here waits for a
grace period or commits; transaction.py does.
"""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from typing import Any

import numpy as np
import numpy.typing as npt

from ...lang.contract.manifest.manifest import Manifest, RuleKind
from ...lang.contract.rules.column_dict import pairs_of
from ...lang.contract.rules.rules import Rule
from ..kernel.maps import Map
from .bloom import Filter
from .codec import KindCodec, NextHopOf
from .counters import counters_of
from .directory import Directory
from .entries import entries_of
from .images import ImageCodec
from .left_out import LeftOut
from .matches import MatchCodec, Matches
from .meters import meters_of
from .pools import Halves, Pairs, Pool
from .stored import SLOT
from .vectors import Vectors


def record_numbers(
    kind: RuleKind, cells: npt.NDArray[Any], slots: npt.NDArray[Any]
) -> npt.NDArray[np.int64]:
    """Which of the records are those of the cells' slots."""
    slots = slots.astype(np.int64)
    if not kind.by_cell:
        return slots
    own, odd = cells.astype(np.int64) % kind.places, slots & 1
    return own + odd * kind.places if kind.halves else 2 * own + odd


class Table:
    """One rule kind's maps. `rules`: live rules' cells by sequence; `ids`: by id, for kinds that
    are no groups."""

    def __init__(self, manifest: Manifest, kind: RuleKind, maps: Mapping[str, Map]) -> None:
        self.kind, self.codec = kind, KindCodec(manifest, kind)
        self.image_codec = ImageCodec(manifest, kind)
        self.matches = MatchCodec(kind, self.image_codec)
        prefix = kind.prefix
        self.cells = maps[f"{prefix}_cells"].mmap().cast("Q")
        self.records = maps[f"{prefix}_records"].mmap()
        self.images = maps[f"{prefix}_images"].mmap()
        self.record_stride = maps[f"{prefix}_records"].spec.stride
        #: How far records of the next place and slot are; which bits of the slot say which it is.
        stride = self.record_stride
        self.places = kind.places
        self.place_stride, self.slot_stride, self.slot_bits = (
            (0, stride, SLOT) if not kind.by_cell
            else (stride, kind.places * stride, 1) if kind.halves
            else (2 * stride, stride, 1)
        )  # fmt: skip
        self.image_stride = maps[f"{prefix}_images"].spec.stride
        self.entries = entries_of(kind, maps)
        self.counters = counters_of(manifest, kind, maps)
        self.meters = meters_of(kind, maps)
        self.directory: Directory | None = None
        self.filter: Filter | None = None
        self.vectors: Vectors | None = None
        if self.entries is not None:
            tuples = maps[f"{prefix}_tuples"]
            slot = self.cells[0] >> 24 & SLOT
            self.filter = Filter(kind, maps[f"{prefix}_filter"].mmap()) if kind.filter else None
            versions, stride = tuples.mmap(), tuples.spec.stride
            self.vectors = (
                Vectors(kind, maps[f"{prefix}_filter"].mmap()[kind.filter // 8 :])
                if kind.vectors else None
            )  # fmt: skip
            self.directory = Directory(
                kind, versions, stride, slot, self.entries, self.filter, self.vectors
            )
        self.sequences: MutableMapping[int, int] = {}
        self.ids: MutableMapping[int, int] = {}
        cells = Pairs if kind.two_cells else Pool
        self.free_cells: Pairs | Pool = cells(kind.name, "cells", kind.places)
        self.gone: list[int] = []  # cells whose keys went since the last grace period
        slots = Halves if kind.by_cell else Pool
        self.free_slots: Halves | Pool = slots(kind.name, "records", kind.records)

    def reclaim(self) -> None:
        """After a grace period: cells and numbers whose keys went before it can be taken again."""
        if self.directory is not None:
            self.directory.reclaim_keys()
        self.free_cells.give_many(self.gone)
        self.gone = []

    def close(self) -> None:
        self.cells.release()
        if self.directory is not None:
            self.directory.close()
        if self.filter is not None:
            self.filter.close()
        if self.vectors is not None:
            self.vectors.close()
        if self.entries is not None:
            self.entries.close()

    # ---- live rules -------------------------------------------------------------------------

    def cell_of(self, rule: Rule) -> int:
        return self.sequences[rule.sequence]

    def place_of(self, id_: int) -> int:
        """By what records of other rules refer to the rule of an id. Raises KeyError."""
        return self.ids[id_] % self.places

    def live_slot(self, cell: int) -> int:
        """The slot of a cell's record and image as the next epoch will see it."""
        return self.cells[cell] >> 24 & SLOT

    def record_at(self, cell: int, slot: int) -> int:
        """The byte of `records` at which the record of a cell's slot starts."""
        return cell % self.places * self.place_stride + (slot & self.slot_bits) * self.slot_stride

    def settled(self, cell: int) -> bool:
        """The cell did not change since the last grace period."""
        word = self.cells[cell]
        return word & SLOT == word >> 24 & SLOT

    def rule_at(self, cell: int) -> Rule:
        """The live rule of a cell, out of its image."""
        at = self.live_slot(cell) * self.image_stride
        return self.image_codec.rule_of(self.images[at : at + self.kind.image_size])[0]

    def rules(self) -> list[Rule]:
        return [self.rule_at(cell) for _, cell in pairs_of(self.sequences)]

    def next_hops_stale(self, rule: Rule, resolve: NextHopOf) -> bool:
        """Whether a next hop in the rule's record is not what it resolves to now."""
        cell = self.cell_of(rule)
        at = self.record_at(cell, self.live_slot(cell))
        for member in self.kind.record:
            if member.kind == "next_hop":
                hop = self.codec.next_hop_wanted(rule, member.element)
                start = at + member.offset
                if hop and self.records[start : start + member.size] != resolve(*hop):
                    return True
        return False

    # ---- staging ----------------------------------------------------------------------------

    def forget(self, id_: int, cell: int) -> None:
        """Let an id that leads to `cell` lead to none."""
        if self.ids.get(id_) == cell:
            del self.ids[id_]

    def present(self, rule: Rule, left_out: LeftOut) -> Rule:
        """A spread as packets find it."""
        assert self.kind.spread is not None
        return left_out.present(self.kind.spread.kind, rule)

    def keys_change(self, epoch: int) -> None:
        """Keys are added or removed at this epoch, which is not committed yet."""
        if self.kind.cached and self.directory is not None and self.directory.slot:
            self.directory.since = epoch

    def insert(self, matches: Matches, cell: int, staged: list[bytes]) -> None:
        """Insert a rule's keys, leading to a cell that is still empty. Appends each to `staged`
        before it is there, so that whoever undoes this misses none. Raises DirectoryFull and
        BpfError."""
        _, patterns, bound = matches
        directory = self.directory
        if directory is None or not patterns:
            return
        for pattern in patterns:
            directory.insert(pattern, cell, bound, staged)

    def keys_of(self, rule: Rule, cell: int) -> list[bytes]:
        """The keys that `insert` gave the rule."""
        if self.directory is None:
            return []
        return self.directory.keys_of(self.matches.of(rule).patterns, cell)

    def undo(self, staged: list[bytes], cell: int) -> None:
        """Take out what `insert` put in, or was about to."""
        if staged:
            assert self.directory is not None
            there = [key for key in staged if self.directory.leads(key, cell)]
            self.directory.remove(there)
            for key in staged:
                self.directory.release(key)

    def withdraw(self, keys: list[bytes]) -> None:
        """Take keys out whose cells nobody sees."""
        if not keys:
            return
        assert self.directory is not None
        self.directory.remove(keys)
        for key in keys:
            self.directory.release(key)


class Step:
    """What a transaction does to one cell. `rule`: the one that comes, changes or goes; `word`:
    what the cell held before, 0 where the rule comes; `slot`: of its new record, 0 where the rule
    goes; `keys`: those inserted."""

    __slots__ = ("cell", "keys", "rule", "slot", "table", "word")

    def __init__(self, table: Table, rule: Rule, cell: int, word: int) -> None:
        self.table, self.rule, self.cell, self.word = table, rule, cell, word
        self.slot = 0
        self.keys: list[bytes] = []
