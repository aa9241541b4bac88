"""Loads a bundle's object and pins it as a release."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ...lang.contract.manifest.manifest import (
    BUCKET_SIZE,
    COUNTS_SIZE,
    FLOWS,
    METER_SIZE,
    MOST_CPUS,
    Manifest,
)
from ...lang.text.diagnostics import Diagnostic
from ..base import errors
from ..kernel.grace import cpu_numbers
from ..kernel.handles import Map, MapType, Object, Pin, Program, ensure_bpffs
from ..kernel.libbpf import possible_cpus
from ..kernel.pinned_bytes import write_bytes
from ..ports.ports import Port, PortConfig
from .bundle import Bundle
from .table_memory import load_object


def install(
    bundle: Bundle, release: Path, reuse: Mapping[str, Map] | None = None
) -> list[Diagnostic]:
    """Load a bundle's objects, join their stages and pin them in a release's folder. `reuse`: maps
    that are not created, by their names in the object. Returns warnings. Raises `Refused`,
    BpfError."""
    manifest = bundle.manifest
    ensure_bpffs(release / "maps")
    with Object.open(bundle.object, name=manifest.pipeline) as loaded:
        prepare_object(manifest, loaded)
        for name, table in (reuse or {}).items():
            loaded.reuse(name, table)
        found = load_object(manifest, loaded)
        for name, table in loaded.maps().items():
            # .rodata and its like stay with their programs
            if "." not in name and table.spec.type != MapType.PROG_ARRAY:
                Pin.create(table, release / "maps" / name)
        pin_programs(manifest, loaded, release)
        if bundle.tc:
            _install_tc(bundle, loaded.maps(), ensure_bpffs(release / "tc"))
    if bundle.traced is not None:
        write_bytes(release / "traced", bundle.traced.pack())
    return found


def _install_tc(bundle: Bundle, maps: Mapping[str, Map], folder: Path) -> None:
    """The programs of ports at tc, on the maps of the others."""
    manifest = bundle.manifest
    with Object.open(bundle.tc, name=manifest.pipeline) as loaded:
        prepare_object(manifest, loaded)
        share_maps(loaded, maps)
        load_object(manifest, loaded)
        pin_programs(manifest, loaded, folder)


def share_maps(into: Object, maps: Mapping[str, Map]) -> None:
    """Have another build of a pipeline use these, wherever it has one of the name. Raises
    IncompatibleMap where it is another there."""
    specs = into.map_specs()
    for name, table in maps.items():
        # `scratch` is a packet's own, and may be another one there
        own = name == "scratch" or "." in name or table.spec.type == MapType.PROG_ARRAY
        if name in specs and not own:
            into.reuse(name, table)


def pin_programs(manifest: Manifest, loaded: Object, folder: Path) -> None:
    """Join the stages, and pin what packets need of them."""
    maps, programs = loaded.maps(), loaded.programs()
    join_stages(manifest, maps, programs)
    for name, table in maps.items():
        if table.spec.type == MapType.PROG_ARRAY:
            Pin.create(table, folder / name)
    for role in manifest.roles:
        Pin.create(programs[manifest.entry(role).name], folder / f"entry_{role}")


def entry_pin(release: Path, manifest: Manifest, port: Port | PortConfig) -> Path:
    """Of the program that a port's packets come to."""
    second = port.at != "xdp" and manifest.hook == "xdp"
    return (release / "tc" if second else release) / f"entry_{manifest.roles[port.role]}"


def join_stages(
    manifest: Manifest, maps: Mapping[str, Map], programs: Mapping[str, Program]
) -> None:
    """Put each stage's program into the PROG_ARRAY slot that the stage before calls."""
    for program in manifest.programs:
        if program.slot is not None:
            descriptor = programs[program.name].fileno().to_bytes(4, "little")
            maps[f"{program.role}_stages"].update(program.slot.to_bytes(4, "little"), descriptor)


def prepare_object(manifest: Manifest, found: Object) -> None:
    """Check the object, and size the maps that depend on this machine. Raises `Refused`."""
    check_object(manifest, found)
    if manifest.scratch.steered is not None:
        found.set_max_entries("cpus", possible_cpus())
    if manifest.counts:
        counts = (1 + cpu_numbers()) * manifest.counts
        if counts >= 1 << 32:
            raise errors.refused(errors.too_many_counters(manifest.pipeline, counts))
        if manifest.sums and cpu_numbers() > MOST_CPUS:
            raise errors.refused(errors.too_many_cpus(manifest.pipeline, cpu_numbers(), MOST_CPUS))
        found.set_max_entries("counts", counts)
    if manifest.flows:
        found.set_max_entries("flows", FLOWS * cpu_numbers())


def check_object(manifest: Manifest, found: Object) -> None:
    """Check that the object has what the manifest lists. Raises `Refused`."""
    specs, programs = found.map_specs(), set(found.program_names())
    missing = [p.name for p in manifest.programs if p.name not in programs]
    missing += [name for name in ("control", "ports", "egress", "events") if name not in specs]
    for kind in manifest.rules:
        sizes = {"cells": (8, kind.cells), "records": (kind.record_size, kind.records_size),
                 "images": (kind.image_size, kind.records)}  # fmt: skip
        if kind.filter:
            sizes["filter"] = kind.filter_size, 1
        if kind.buckets:
            sizes["entries"] = kind.entry_size, kind.entries
            sizes["index"] = BUCKET_SIZE, kind.index_size
        for suffix, (size, entries) in sizes.items():
            spec = specs.get(f"{kind.prefix}_{suffix}")
            if spec is None or (spec.value_size, spec.max_entries) != (size, entries):
                missing.append(f"{kind.prefix}_{suffix}")
    if manifest.counts:
        spec = specs.get("counts")
        if spec is None or (spec.value_size, spec.max_entries) != (COUNTS_SIZE, manifest.counts):
            missing.append("counts")
    if manifest.meters:
        spec = specs.get("meters")
        if spec is None or (spec.value_size, spec.max_entries) != (METER_SIZE, manifest.meters):
            missing.append("meters")
    if manifest.flows:
        spec = specs.get("flows")
        if spec is None or (spec.value_size, spec.max_entries) != (manifest.flows, FLOWS):
            missing.append("flows")
    if manifest.events is not None:
        ring, buckets = specs.get("event_ring"), specs.get("event_buckets")
        if ring is None or ring.max_entries != manifest.events.size:
            missing.append("event_ring")
        if buckets is None or buckets.max_entries != manifest.events.buckets:
            missing.append("event_buckets")
    if missing:
        path = Path(f"{manifest.pipeline}.bpf.o")
        raise errors.refused(errors.foreign_object(path, f"no {', '.join(missing)}"))
