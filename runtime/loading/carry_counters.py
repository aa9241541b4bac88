"""Carries counters and entries of states into a release that has new maps for them.

Old counts of rules go into the first row of the map `counts`. Those of events go into the map
`events_before`, and in layout 1 those of rules into NAME_before (by cell): what they hold is added
to what the release counts itself. Entries of a state whose size changed are copied. All are written
from the old release as often as needed: before ports are switched, and again when no packet is in
the old programs any more.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from ...lang.contract.manifest.manifest import SEEN
from ..kernel.handles import Map, MapSpec, MapType, Pin
from ..kernel.map_spec import BPF_F_MMAPABLE
from ..rules.counters import before_of
from .reader import Reader


def create_before(maps: Path, name: str, size: int, entries: int) -> None:
    """Pin an empty `…_before` map for the map `name` among a release's maps. `size`: of a value."""
    spec = MapSpec(MapType.ARRAY, 4, size, entries, BPF_F_MMAPABLE, "before")
    with Map.create(spec) as made:
        Pin.create(made, maps / before_of(name))


def carry_counters(
    old: Reader, new: Reader, kinds: Mapping[str, str], states: Mapping[str, str], events: bool
) -> None:
    """Write what maps of `old` hold into those of `new`: of `kinds` and `states` (new name to old
    name), and events."""
    for name, was in states.items():
        _copy(old.map(f"{was.lower()}_state"), new.map(f"{name.lower()}_state"))
    for name, was in kinds.items():
        kind, old_kind = new.manifest.rule(name), old.manifest.rule(was)
        rules, old_rules = new.table(kind), old.table(old_kind)
        _, at, old_at = np.intersect1d(rules.sequences, old_rules.sequences, return_indices=True)
        sums = old.counters(old_kind).sums(old_rules.cells[old_at])
        new.counters(kind).carry(rules.cells[at], sums)
    if events:
        now = {was: name for name, was in kinds.items()}  # the reason of "miss" is a kind
        counts = {
            (c.group, now.get(c.reason, c.reason)): count for c, count in old.events_of_packets()
        }
        sums = np.zeros((len(new.manifest.counters), 1), np.uint64)
        for counter in new.manifest.counters:
            sums[counter.index] = counts.get((counter.group, counter.reason), 0)
        np.frombuffer(new.map(before_of("events")).mmap(), "<u8")[: len(sums)] = sums[:, 0]


def _copy(entries: Map, into: Map) -> None:
    """Entries that are missing in `into`, or newer than there."""
    known = dict(into.items())
    for key, entry in entries.items():
        there = known.get(key)
        if there is None or _seen(there) < _seen(entry):
            into.update(key, entry)


def _seen(entry: bytes) -> int:
    return int.from_bytes(entry[:SEEN], "little")
