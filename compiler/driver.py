"""The whole path of a pipeline, from text to bundle, in a screenful."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ..lang.contract.manifest import manifest as m
from ..lang.contract.trace.schema import FORMAT, Schema, TracedBuild
from ..lang.syntax.parser import parse, read
from ..lang.text.atomic_write import write_files
from ..lang.text.diagnostics import Diagnostic, Diagnostics, Refused
from .backend.kernel_limits import over_budget, untraced
from .backend.verifier_cost import too_much
from .check.program import check
from .ir.unit import Unit
from .lower.anatomy import anatomy_of
from .lower.reads import answers, walk
from .lower.trace import to_be_traced
from .lower.unit import Join, Target, lower
from .model import Bridge, Forward, Pipeline
from .passes.drop_unused import drop_unused
from .passes.edit_packets import edit_packets
from .passes.lay_out_state import lay_out_state
from .passes.merge_functions import merge_functions
from .passes.place_state import needs_memory, place_state
from .passes.share_blocks import share_blocks
from .passes.simplify import simplify
from .passes.spill import spill
from .passes.trace_points import trace_points
from .tables.layout import MAX_PORTS

if TYPE_CHECKING:
    from concurrent.futures import Executor, Future

    from .nfp.conform import Report


def check_file(path: Path, found: Diagnostics | None = None) -> Pipeline:
    """Read, parse, check. Raises `Refused` with everything that is wrong; warnings are left in
    `found`. What passes here loads."""
    pipeline = read_pipeline(path, found)
    unit = edited(lowered(pipeline))
    if over_budget(pipeline, unit):  # the passes leave less: only what is near a limit needs them
        placed(pipeline, unit)
    return pipeline


def read_pipeline(path: Path, found: Diagnostics | None = None) -> Pipeline:
    """The same, without asking what the kernel takes: whoever builds the pipeline is told then."""
    return check(parse(read(path)), found=found)


def lower_pipeline(
    pipeline: Pipeline, join: Join = "staged", traced: bool = False, target: Target = "host"
) -> Unit:
    """What the emitter turns into C. Raises `Refused`."""
    return placed(pipeline, lowered(pipeline, join, traced, target))


def lowered(
    pipeline: Pipeline, join: Join = "staged", traced: bool = False, target: Target = "host"
) -> Unit:
    """The pipeline in the intermediate representation, before all passes."""
    unit = lower(pipeline, pipeline.span.source.file, join, target)
    return to_be_traced(unit) if traced else unit


def edited(unit: Unit) -> Unit:
    """A unit after the first passes, which are the same wherever state is kept."""
    return unit if unit.edited else trace_points(edit_packets(unit))


@dataclass(frozen=True)
class Placing:
    """Where a unit keeps what it needs. `memory`: roles whose state is in the scratch record;
    `spilled`: with as little on the stack as there can be, at the price of time."""

    memory: frozenset[str]
    spilled: bool


@dataclass(frozen=True)
class Pass:
    """A step from the lowered unit to what is emitted. `optional`: it is sound to leave it out."""

    name: str
    run: Callable[[Unit, Placing], Unit]
    optional: bool = False


PASSES = (
    # before all others, which know what it makes of a push, a pop or an assignment
    Pass("edit_packets", lambda unit, _: unit if unit.edited else edit_packets(unit)),
    # before all that counts: most programs are not traced
    Pass("trace_points", lambda unit, _: unit if unit.edited else trace_points(unit)),
    # before place_state, which makes the pointers that what it moves is read through
    Pass("spill", lambda unit, where: spill(unit) if where.spilled else unit),
    Pass("place_state", lambda unit, where: place_state(unit, where.memory, where.spilled)),
    Pass("simplify", lambda unit, _: simplify(unit), optional=True),
    Pass("drop_unused", lambda unit, _: drop_unused(unit), optional=True),
    # after drop_unused: what a role does not ask for may be all that differs
    Pass("merge_functions", lambda unit, _: merge_functions(unit), optional=True),
    # after merge_functions: it makes calls alike
    Pass("share_blocks", lambda unit, _: share_blocks(unit), optional=True),
    # last: it counts what functions use
    Pass("lay_out_state", lambda unit, _: lay_out_state(unit)),
)


def placed(pipeline: Pipeline, unit: Unit, without: frozenset[str] = frozenset()) -> Unit:
    """A lowered unit after its passes. Where the verifier would have too much to follow, what the
    parser found is kept in memory; where that is still too much, the stack is spared."""
    unit = edited(unit)
    made = run(pipeline, unit, without=without)
    if found := over_budget(pipeline, made):
        raise Refused(found)
    if too_much(made) and any(program.ways is not None for program in made.programs):
        made = run(pipeline, unit, in_memory=True, without=without)
    return run(pipeline, unit, spilled=True, without=without) if too_much(made) else made


def run(
    pipeline: Pipeline,
    unit: Unit,
    in_memory: bool = False,
    spilled: bool = False,
    without: frozenset[str] = frozenset(),
    stop_after: str = PASSES[-1].name,
) -> Unit:
    """The passes, in their order, up to `stop_after`; `without` some that are optional.
    `in_memory`: with nothing that the parser found in registers."""
    after = after_each_pass(pipeline, unit, in_memory, spilled, without)
    return next(made for name, made in after if name == stop_after)


def after_each_pass(
    pipeline: Pipeline,
    unit: Unit,
    in_memory: bool = False,
    spilled: bool = False,
    without: frozenset[str] = frozenset(),
) -> Iterator[tuple[str, Unit]]:
    """The unit as each of PASSES leaves it, by the pass's name."""
    memory = (r for r in unit.roles if in_memory or spilled or needs_memory(pipeline, r, unit))
    where = Placing(frozenset(memory), spilled)
    for each in PASSES:
        if each.name not in without:
            unit = each.run(unit, where)
        yield each.name, unit


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

    def __init__(self, pipeline: Pipeline, without: frozenset[str]) -> None:
        self._pipeline, self._without = pipeline, without
        self._warnings: tuple[Diagnostic, ...] = ()
        self._built: list[Future[tuple[Unit, bytes]]] = []

    def start(self, pool: Executor, join: Join, traced: bool) -> None:
        """Begin. Raises `Refused`."""
        from .backend.building import built
        from .backend.emit import emit

        pipeline, without = self._pipeline, self._without
        whole = lowered(pipeline, join)
        unit = edited(whole)
        units = [(unit, placed(pipeline, unit, without))]
        if traced:
            try:
                unit = edited(to_be_traced(whole))
                units.append((unit, placed(pipeline, unit, without)))
            except Refused as error:
                self._warnings = tuple(map(untraced, error.diagnostics))
        for unit, made in reversed(units):  # the traced one takes clang longest
            spilled = partial(run, pipeline, unit, spilled=True, without=without)
            self._built.insert(0, pool.submit(built, pipeline, made, spilled))
        self._unit = units[0][1]
        self._c = emit(self._unit, lines=False)

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
def building(
    pipeline: Pipeline,
    join: Join = "staged",
    traced: bool = False,
    without: frozenset[str] = frozenset(),
) -> Iterator[Build]:
    """Begin to compile, without some optional passes. Raises `Refused`."""
    from concurrent.futures import ThreadPoolExecutor

    from .backend.clang import stop, stoppable

    with stoppable(), ThreadPoolExecutor() as pool:  # its threads wait for clang
        build = Build(pipeline, without)
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
    from .backend.stack_usage import too_deep
    from .nfp.nfp import FLAGS, refusals, without_sizes
    from .nfp.refusals import check_card_programs

    if found := refusals(pipeline):
        raise Refused(found)
    pipeline = without_sizes(pipeline)
    unit = lower_pipeline(pipeline, target="nfp")
    flags = [*FLAGS, "-DON_HOST"] if on_host else FLAGS
    try:
        built = compile_c(emit(unit, lines=True), pipeline.name, pipeline.span, flags)
    except TooDeep:
        raise Refused(too_deep(pipeline, unit, {})) from None
    reports = () if on_host else check_card_programs(built, pipeline)
    manifest = manifest_of(pipeline, unit, _digest(built))
    return Bundle(manifest, emit(unit, lines=False), built, reports=reports)


def compile_for_tc(pipeline: Pipeline, join: Join = "staged") -> Bundle:
    """SCHED_CLS programs, with the manifest that those of XDP have; for tests: see targets/tc.py.
    Raises `Refused`."""
    from .backend.building import built
    from .backend.emit import emit

    unit = edited(lowered(pipeline, join, target="tc"))
    spilled = partial(run, pipeline, unit, spilled=True)
    unit, octets = built(pipeline, placed(pipeline, unit), spilled)
    return Bundle(manifest_of(pipeline, unit, _digest(octets)), emit(unit, lines=False), octets)


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
        scratch=m.Scratch(egress=0, steered=4 if unit.steers and unit.target != "nfp" else None),
        max_ports=MAX_PORTS,
        states=unit.states,
        target="nfp" if unit.target == "nfp" else "host",
        atomic="request" if unit.target != "nfp" else "rule",
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
