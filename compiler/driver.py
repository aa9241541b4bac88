"""The whole path of a pipeline, from text to bundle, in a screenful."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ..lang.contract.manifest import manifest as m
from ..lang.contract.trace.schema import FORMAT, Schema, TracedBuild
from ..lang.syntax.parser import parse, read
from ..lang.text.diagnostics import Diagnostic, Diagnostics, Label, Refused
from ..lang.text.writing import write_files
from .backend.budget import over_budget, untraced
from .backend.effort import too_much
from .check.program import check
from .lower.anatomy import anatomy_of
from .lower.layout import MAX_PORTS
from .lower.lowered import Unit
from .lower.reads import answers, walk
from .lower.shape import Unsupported
from .lower.unit import Join, Target, lower
from .model import Bridge, Forward, Pipeline

if TYPE_CHECKING:
    from concurrent.futures import Executor, Future

    from .nfp.conform import Report


def check_file(path: Path, found: Diagnostics | None = None) -> Pipeline:
    """Read, parse, check. Raises `Refused` with everything that is wrong; warnings are left in
    `found`. What passes here loads."""
    pipeline = check(parse(read(path)), found=found)
    lower_pipeline(pipeline)
    return pipeline


def lower_pipeline(
    pipeline: Pipeline,
    join: Join = "staged",
    traced: bool = False,
    target: Target = "host",
    frugal: bool = False,
) -> Unit:
    """What the templates turn into C. Where the verifier would have too much to follow, it keeps in
    memory what the parser found; where that is still too much, it is frugal. Raises `Refused`."""
    lowered = partial(_lowered, pipeline, join, traced, target)
    unit = lowered(frugal)
    if frugal:  # it was held against the budget as it was: it has the same maps and loops
        return unit
    if found := over_budget(pipeline, unit):
        raise Refused(found)
    if too_much(unit) and any(program.ways is not None for program in unit.programs):
        unit = lowered(in_memory=True)
    return lowered(frugal=True) if too_much(unit) else unit


def _lowered(
    pipeline: Pipeline,
    join: Join,
    traced: bool,
    target: Target,
    frugal: bool = False,
    in_memory: bool = False,
) -> Unit:
    try:
        source = pipeline.span.source.file
        return lower(pipeline, source, join, traced, target, frugal, in_memory)
    except Unsupported as error:
        if target != "host":
            from .nfp.faults import not_on_a_card

            raise Refused([not_on_a_card(error.span or pipeline.span, str(error))]) from error
        label = Label(error.span or pipeline.span, "not compiled yet")
        help_ = "all else is sound: leave this out, or say it another way"
        raise Refused([Diagnostic("H0303", str(error), (label,), help_)]) from error


@dataclass(frozen=True)
class Bundle:
    """What a compilation gives: `c` is for people, `object` was built from it with `#line`s. Of a
    card's programs `reports` says how they fare there. `warnings`: why it is not traced, where only
    the traced build is more than the kernel takes."""

    manifest: m.Manifest
    c: str
    object: bytes
    traced: TracedBuild | None = None
    reports: tuple[Report, ...] = ()
    warnings: tuple[Diagnostic, ...] = ()


def compile_pipeline(pipeline: Pipeline, join: Join = "staged", traced: bool = False) -> Bundle:
    """Lower, emit, build; with `traced`, a traced build as well, at the same time, unless it is
    more than the kernel takes. Raises `Refused`."""
    with building(pipeline, join, traced) as build:
        return build.bundle()


class Build:
    """A compilation under way: a clang for each object, side by side."""

    def __init__(self, pipeline: Pipeline) -> None:
        self._pipeline = pipeline
        self._warnings: tuple[Diagnostic, ...] = ()
        self._built: list[Future[tuple[Unit, bytes]]] = []

    def start(self, pool: Executor, join: Join, traced: bool) -> None:
        """Begin. Raises `Refused`."""
        from .backend.building import built
        from .backend.emit import emit

        pipeline = self._pipeline
        units = [lower_pipeline(pipeline, join)]
        if traced:
            try:
                units.append(lower_pipeline(pipeline, join, traced=True))
            except Refused as error:
                self._warnings = tuple(map(untraced, error.diagnostics))
        for unit in reversed(units):  # the traced one takes clang longest
            frugal = partial(lower_pipeline, pipeline, join, unit.traced is not None, frugal=True)
            self._built.insert(0, pool.submit(built, pipeline, unit, frugal))
        self._unit, self._c = units[0], emit(units[0], lines=False)

    def object(self) -> bytes:
        """As soon as it is there, while clang may still be at the traced one. Raises `Refused`."""
        return _result(self._built[0])[1]

    def bundle(self) -> Bundle:
        """All of it. Raises `Refused`."""
        from .backend.emit import emit

        (unit, plain), *others = map(_result, self._built)
        manifest = manifest_of(self._pipeline, unit, _digest(plain))
        tracing = None
        for traced, octets in others:
            told = traced.traced
            assert told is not None
            of = Schema(
                FORMAT, unit.name, _digest(octets), manifest.digest, told.nodes, told.points
            )
            tracing = TracedBuild(octets, of)
        c = self._c if unit is self._unit else emit(unit, lines=False)
        return Bundle(manifest, c, plain, tracing, warnings=self._warnings)


def _result(built: Future[tuple[Unit, bytes]]) -> tuple[Unit, bytes]:
    """What a thread built. A signal that comes just before a lock is waited for does not end that
    wait, so it is none without an end."""
    from concurrent.futures import wait

    while not wait([built], 0.1).done:
        pass
    return built.result()


@contextmanager
def building(pipeline: Pipeline, join: Join = "staged", traced: bool = False) -> Iterator[Build]:
    """Begin to compile. Raises `Refused`."""
    from concurrent.futures import ThreadPoolExecutor

    from .backend.clang import stop, stoppable

    with stoppable(), ThreadPoolExecutor() as pool:  # its threads wait for clang
        build = Build(pipeline)
        try:
            build.start(pool, join, traced)
            yield build
        except BaseException:  # an interrupt within an import may come as another
            stop()
            raise


def compile_for_card(pipeline: Pipeline, on_host: bool = False) -> Bundle:
    """Programs for a Netronome NIC. What it cannot do is refused before anything is lowered; what
    was compiled is held against it again. `on_host`: the same for the host's kernel, to be tested
    there. Raises `Refused`."""
    from .backend.clang import TooDeep, compile_c
    from .backend.emit import emit
    from .backend.stack import too_deep
    from .nfp.judging import judged
    from .nfp.nfp import FLAGS, refusals, without_sizes

    if found := refusals(pipeline):
        raise Refused(found)
    pipeline = without_sizes(pipeline)
    unit = lower_pipeline(pipeline, target="nfp")
    flags = [*FLAGS, "-DON_HOST"] if on_host else FLAGS
    try:
        built = compile_c(emit(unit, lines=True), pipeline.name, pipeline.span, flags)
    except TooDeep:
        raise Refused(too_deep(pipeline, unit, {})) from None
    reports = () if on_host else judged(built, pipeline)
    manifest = manifest_of(pipeline, unit, _digest(built))
    return Bundle(manifest, emit(unit, lines=False), built, reports=reports)


def _digest(built: bytes) -> str:
    from hashlib import sha256

    return sha256(built).hexdigest()


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
                tuple(m.Reserved(r.name, r.value, r.reason) for r in e.reserved),
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
        answers=answers(pipeline),
        doc=pipeline.doc,
        anatomy=anatomy_of(pipeline),
    )


def write_bundle(bundle: Bundle, directory: Path) -> list[Path]:
    """Put a bundle into a directory (made if need be): C, the header it includes, object,
    manifest, and what a traced build adds. Raises `Refused` (H0309), with what was there as it
    was."""
    from .backend.emit import TEMPLATES

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
