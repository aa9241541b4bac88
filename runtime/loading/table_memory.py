"""Computes the kernel memory of a pipeline's tables, and refuses a load that has not enough."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ...lang.contract.manifest.manifest import COUNTS_SIZE, FLOWS, METER_SIZE, Manifest
from ...lang.text.diagnostics import Diagnostic
from ..base import errors
from ..kernel.handles import MapSpec, Object
from ..kernel.libbpf import possible_cpus
from ..kernel.map_memory import MapMemory, available, map_memory

_SHOWN = 5  # tables whose memory a message lists


@dataclass(frozen=True)
class TableMemory:
    """Bytes of kernel memory of a rule kind's or a state's maps: taken by a load, and with a key
    for each of `capacity` rules or entries. A rule with ranges may take several keys."""

    name: str
    what: str  # "rule kind" or "state"; empty for all that is neither
    capacity: int
    at_load: int
    full: int

    @property
    def each(self) -> int:
        """Bytes a rule or entry, in a full table."""
        return round(self.full / self.capacity) if self.capacity else 0


def memory_of_tables(
    manifest: Manifest, specs: Mapping[str, MapSpec], cpus: int
) -> list[TableMemory]:
    """In order of declaration; last, all maps that do not grow with a capacity. `cpus`: possible
    CPUs of the machine."""
    if flows := specs.get("flows"):
        specs = {**specs, "flows": replace(flows, max_entries=FLOWS * cpus)}
    maps = {name: map_memory(spec, cpus) for name, spec in specs.items()}
    counted, found = maps.pop("counts", None) is not None, []
    metered = maps.pop("meters", None) is not None
    for kind in manifest.rules:
        parts = [*_taken(maps, kind.prefix)]
        if counted and kind.counts_at is not None:
            size = COUNTS_SIZE * kind.counts_each * kind.places * (1 + cpus)
            parts.append(MapMemory(size, size))
        if metered and kind.meters_at is not None:
            parts.append(MapMemory(METER_SIZE * kind.places, METER_SIZE * kind.places))
        found.append(_table(kind.name, "rule kind", kind.capacity, parts))
    for state in manifest.states:
        found.append(
            _table(
                state.name,
                "registers" if state.shape else "state",
                state.capacity,
                [*_taken(maps, state.prefix)],
            )
        )
    return [*found, _table("other maps", "", 0, list(maps.values()))]


def _taken(maps: dict[str, MapMemory], prefix: str) -> Iterator[MapMemory]:
    """Take the maps of a rule kind or state out of `maps`."""
    for name in [name for name in maps if name.rpartition("_")[0] == prefix]:
        yield maps.pop(name)


def _table(name: str, what: str, capacity: int, maps: Collection[MapMemory]) -> TableMemory:
    at_load = sum(each.at_load for each in maps)
    per_key = sum(each.per_key for each in maps)
    return TableMemory(name, what, capacity, at_load, at_load + capacity * per_key)


def load_object(manifest: Manifest, found: Object) -> list[Diagnostic]:
    """Load the object if there is memory for its new maps; returns a warning where there is not
    enough for these when they are full. Raises `Refused`, BpfError."""
    tables = memory_of_tables(manifest, found.new_maps(), possible_cpus())
    free = available()
    if sum(table.at_load for table in tables) > free:
        raise errors.refused(_not_enough(manifest.pipeline, tables, free))
    found.load()
    full = sum(table.full for table in tables) > free
    return [_may_run_out(manifest.pipeline, tables, free)] if full else []


def _not_enough(pipeline: str, tables: Sequence[TableMemory], free: int) -> Diagnostic:
    """`free`: bytes on this machine."""
    needed = f"{errors.mebibytes(sum(t.at_load for t in tables))} of memory"
    return _too_large(pipeline, {t: t.at_load for t in tables}, needed, free)


def _may_run_out(pipeline: str, tables: Sequence[TableMemory], free: int) -> Diagnostic:
    """`free`: bytes on this machine."""
    full = f"{errors.mebibytes(sum(t.full for t in tables))} of memory when they are full"
    found = _too_large(pipeline, {t: t.full for t in tables}, full, free)
    return replace(found, severity="warning")


def _too_large(
    pipeline: str, sizes: Mapping[TableMemory, int], needed: str, free: int
) -> Diagnostic:
    largest = sorted((t for t in sizes if t.what), key=lambda t: -sizes[t])
    shown = [f"{t.name} [{t.capacity}] {errors.mebibytes(sizes[t])}" for t in largest[:_SHOWN]]
    if others := largest[_SHOWN:]:
        shown.append(f"{len(others)} others {errors.mebibytes(sum(sizes[t] for t in others))}")
    return Diagnostic(
        "H0330",
        f"the tables of `{pipeline}` take {needed}, {errors.mebibytes(free)} are available", (),
        f"{', '.join(shown)}: declare fewer rules, {errors.MORE_MEMORY}",
    )  # fmt: skip
