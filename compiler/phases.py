"""The whole path of a pipeline, from text to bundle, in a screenful."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ..lang.diagnostics import Diagnostic, Diagnostics, Label, Refused
from ..lang.parser import parse, read
from ..lang.writing import write_files
from . import manifest as m
from .anatomy import anatomy_of
from .check import check
from .layout import MAX_PORTS
from .lower import Join, Target, lower
from .lowered import Unit
from .lowering.reads import walk
from .lowering.shape import Unsupported
from .model import Bridge, Forward, Pipeline
from .tracing.schema import FORMAT, Schema, TracedBuild

if TYPE_CHECKING:
    from .targets.conform import Report


def check_file(path: Path, found: Diagnostics | None = None) -> Pipeline:
    """Read, parse, check. Raises `Refused` with everything that is wrong; warnings are left in
    `found`. What passes here loads."""
    pipeline = check(parse(read(path)), found=found)
    lower_pipeline(pipeline)
    return pipeline


def lower_pipeline(
    pipeline: Pipeline, join: Join = "staged", traced: bool = False, target: Target = "host"
) -> Unit:
    try:
        unit = lower(pipeline, pipeline.span.source.file, join, traced, target)
    except Unsupported as error:
        if target != "host":
            from .targets.faults import not_on_a_card

            raise Refused([not_on_a_card(error.span or pipeline.span, str(error))]) from error
        label = Label(error.span or pipeline.span, "not compiled yet")
        raise Refused([Diagnostic("H0303", str(error), (label,))]) from error
    return unit


@dataclass(frozen=True)
class Bundle:
    """What a compilation gives: `c` is for people, `object` was built from it with `#line`s. Of a
    card's programs `reports` says how they fare there."""

    manifest: m.Manifest
    c: str
    object: bytes
    traced: TracedBuild | None = None
    reports: tuple[Report, ...] = ()


def compile_pipeline(pipeline: Pipeline, join: Join = "staged", traced: bool = False) -> Bundle:
    """Lower, emit, build; with `traced`, a traced build as well, at the same time. Raises
    `Refused`."""
    from .emit import emit

    units = [lower_pipeline(pipeline, join, tracing) for tracing in (False, True)[: 1 + traced]]
    with ThreadPoolExecutor() as pool:  # clang is a process of its own
        built = list(pool.map(partial(_build, pipeline), units))
    digests = [_digest(each) for each in built]
    manifest = manifest_of(pipeline, units[0], digests[0])
    told = units[-1].traced
    tracing = None
    if told is not None:
        schema = Schema(FORMAT, pipeline.name, digests[1], digests[0], told.nodes, told.points)
        tracing = TracedBuild(built[1], schema)
    return Bundle(manifest, emit(units[0], lines=False), built[0], tracing)


def _build(pipeline: Pipeline, unit: Unit, flags: Sequence[str] = ()) -> bytes:
    from .clang import compile_c
    from .emit import emit

    return compile_c(emit(unit, lines=True), pipeline.name, pipeline.span, flags)


def compile_for_card(pipeline: Pipeline, on_host: bool = False) -> Bundle:
    """Programs for a Netronome NIC. What it cannot do is refused before anything is lowered; what
    was compiled is held against it again. `on_host`: the same for the host's kernel, to be tested
    there. Raises `Refused`."""
    from .emit import emit
    from .targets.judging import judged
    from .targets.nfp import FLAGS, refusals, without_sizes

    if found := refusals(pipeline):
        raise Refused(found)
    pipeline = without_sizes(pipeline)
    unit = lower_pipeline(pipeline, target="nfp")
    flags = [*FLAGS, "-DON_HOST"] if on_host else FLAGS
    built = _build(pipeline, unit, flags)
    reports = () if on_host else judged(built, pipeline)
    manifest = manifest_of(pipeline, unit, _digest(built))
    return Bundle(manifest, emit(unit, lines=False), built, reports=reports)


def _digest(built: bytes) -> str:
    return hashlib.sha256(built).hexdigest()


def manifest_of(pipeline: Pipeline, unit: Unit, digest: str = "") -> m.Manifest:
    """The contract for the runtime; `digest` is that of the object, where it is built."""
    return m.Manifest(
        format=m.FORMAT,
        pipeline=pipeline.name,
        source=unit.source,
        digest=digest,
        join=unit.join,
        roles=pipeline.roles,
        default=pipeline.default,
        elements=tuple(
            m.Element(
                e.name,
                e.number,
                e.type,
                e.width,
                e.kind,
                dict(e.symbols),
                e.references,
                e.doc,
                e.most,
            )
            for e in pipeline.elements
        ),
        rules=tuple(t.manifest for t in unit.tables),
        counters=unit.counters,
        programs=tuple(m.Program(p.name, p.stage, p.role, p.slot) for p in unit.programs),
        scratch=m.Scratch(egress=0, steered=4 if unit.steers and unit.target == "host" else None),
        max_ports=MAX_PORTS,
        states=unit.states,
        target=unit.target,
        atomic="request" if unit.target == "host" else "rule",
        forwards=any(isinstance(part, Forward | Bridge) for part in walk(pipeline.stages)),
        doc=pipeline.doc,
        anatomy=anatomy_of(pipeline),
    )


def write_bundle(bundle: Bundle, directory: Path) -> list[Path]:
    """Put a bundle into a directory (made if need be): C, the header it includes, object,
    manifest, and what a traced build adds. Raises `Refused` (H0309), with what was there as it
    was."""
    from .emit import TEMPLATES

    directory.mkdir(parents=True, exist_ok=True)
    name = bundle.manifest.pipeline
    files = {
        f"{name}.bpf.c": bundle.c.encode(),
        "helio.bpf.h": (TEMPLATES / "helio.bpf.h").read_bytes(),
        f"{name}.bpf.o": bundle.object,
        "manifest.json": bundle.manifest.to_json().encode(),
    }
    tracing = (f"{name}.trace.bpf.o", "trace.json")
    if bundle.traced is not None:
        contents = bundle.traced.object, bundle.traced.schema.to_json().encode()
        files |= dict(zip(tracing, contents, strict=True))
    write_files({directory / file: content for file, content in files.items()})
    for stale in (directory / file for file in tracing if file not in files):
        stale.unlink(missing_ok=True)
    return [directory / file for file in files]
