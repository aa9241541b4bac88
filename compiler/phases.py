"""The whole path of a pipeline, from text to bundle, in a screenful."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from pathlib import Path

from ..lang.diagnostics import Diagnostic, Diagnostics, Label, Refused
from ..lang.parser import parse, read
from ..lang.writing import write_files
from . import manifest as m
from .check import check
from .layout import MAX_PORTS
from .lower import Join, lower
from .lowered import Unit
from .lowering.reads import walk
from .lowering.shape import Unsupported
from .model import Bridge, Forward, Pipeline


def check_file(path: Path, found: Diagnostics | None = None) -> Pipeline:
    """Read, parse, check. Raises `Refused` with everything that is wrong; warnings are left in
    `found`. What passes here loads."""
    pipeline = check(parse(read(path)), found=found)
    lower_pipeline(pipeline)
    return pipeline


def lower_pipeline(pipeline: Pipeline, join: Join = "staged") -> Unit:
    try:
        return lower(pipeline, pipeline.span.source.file, join)
    except Unsupported as error:
        label = Label(error.span or pipeline.span, "not compiled yet")
        raise Refused([Diagnostic("H0303", str(error), (label,))]) from error


@dataclass(frozen=True)
class Bundle:
    """What a compilation gives: `c` is for people, `object` was built from it with `#line`s."""

    manifest: m.Manifest
    c: str
    object: bytes


def compile_pipeline(pipeline: Pipeline, join: Join = "staged") -> Bundle:
    """Lower, emit, build. Raises `Refused`."""
    from .clang import compile_c
    from .emit import emit

    unit = lower_pipeline(pipeline, join)
    built = compile_c(emit(unit, lines=True), pipeline.name, pipeline.span)
    manifest = replace(manifest_of(pipeline, unit), digest=hashlib.sha256(built).hexdigest())
    return Bundle(manifest, emit(unit, lines=False), built)


def manifest_of(pipeline: Pipeline, unit: Unit) -> m.Manifest:
    """The contract for the runtime; the digest is filled in when the object is built."""
    stages = tuple(stage.body for stage in pipeline.stages)
    return m.Manifest(
        format=m.FORMAT,
        pipeline=pipeline.name,
        source=unit.source,
        digest="",
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
        scratch=m.Scratch(egress=0, steered=4 if unit.steers else None),
        max_ports=MAX_PORTS,
        states=unit.states,
        forwards=any(isinstance(part, Forward | Bridge) for part in walk(stages)),
        doc=pipeline.doc,
    )


def write_bundle(bundle: Bundle, directory: Path) -> list[Path]:
    """Put a bundle into a directory (made if need be): C, the header it includes, object,
    manifest. Raises `Refused` (H0309), with what was there as it was."""
    from .emit import TEMPLATES

    directory.mkdir(parents=True, exist_ok=True)
    name = bundle.manifest.pipeline
    files = {
        f"{name}.bpf.c": bundle.c.encode(),
        "helio.bpf.h": (TEMPLATES / "helio.bpf.h").read_bytes(),
        f"{name}.bpf.o": bundle.object,
        "manifest.json": bundle.manifest.to_json().encode(),
    }
    write_files({directory / file: content for file, content in files.items()})
    return [directory / file for file in files]
