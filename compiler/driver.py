"""The path of a pipeline from text to what is emitted: the passes, in their order."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ..lang.syntax.parser import parse, read
from ..lang.text.diagnostics import Diagnostics, Refused
from ..lang.text.frozen import kept
from .backend.kernel_limits import over_budget, too_long
from .backend.verifier_cost import too_much
from .check.program import check
from .check.resolve import Load, load_file
from .ir.unit import Unit
from .lower.divide import divided
from .lower.trace import to_be_traced
from .lower.unit import Join, Target, lower
from .model import Pipeline
from .passes.drop_unused import drop_unused
from .passes.edit_packets import edit_packets
from .passes.fold_constants import fold_constants
from .passes.join_checksums import join_checksums
from .passes.join_parsers import join_parsers
from .passes.lay_out_state import lay_out_state
from .passes.merge_functions import merge_functions
from .passes.place_state import needs_memory, place_state
from .passes.share_blocks import share_blocks
from .passes.simplify import simplify
from .passes.spill import spill
from .passes.trace_points import trace_points
from .passes.usual_path import usual_path
from .tc_limits import refusals


def check_file(path: Path, found: Diagnostics | None = None) -> Pipeline:
    """Read, parse, check. Raises `Refused` with everything that is wrong; warnings are left in
    `found`. What passes here loads."""
    pipeline = read_pipeline(path, found)
    fitting(pipeline)
    return pipeline


def read_pipeline(path: Path, found: Diagnostics | None = None, load: Load = load_file) -> Pipeline:
    """The same, without asking what the kernel takes: a build reports that."""
    return check(parse(read(path)), load, found)


def in_programs(pipeline: Pipeline, join: Join, target: Target = "host") -> Pipeline:
    """A stage a program: those that are too much for one are divided, as far as that can be."""
    return _divided(pipeline) if join == "staged" and target != "nfp" else pipeline


@kept
def _divided(pipeline: Pipeline) -> Pipeline:
    while over := _too_long(pipeline):
        made = divided(pipeline, over)
        if made is None:
            break
        pipeline = made
    return pipeline


def _too_long(pipeline: Pipeline) -> dict[str, float]:
    """Stages that are, and by how many times; the passes leave less, but never half."""
    unit = edited(_unit(pipeline, "staged", "host"))
    over = too_long(pipeline, unit)
    if all(times > 2 for times in over.values()):
        return over
    return too_long(pipeline, _passed(pipeline, unit))


def fitting(pipeline: Pipeline) -> Unit:
    """The pipeline after its first passes. Raises `Refused` where no kernel takes it."""
    unit = edited(lowered(pipeline))
    # The passes leave less: only what is near a limit needs them.
    if over_budget(_divided(pipeline), unit):
        placed(pipeline, unit)
    if pipeline.at and (found := refusals(pipeline)):
        raise Refused(found)
    return unit


def lower_pipeline(
    pipeline: Pipeline, join: Join = "staged", traced: bool = False, target: Target = "host"
) -> Unit:
    """What the emitter turns into C. Raises `Refused`."""
    return placed(pipeline, lowered(pipeline, join, traced, target))


def lowered(
    pipeline: Pipeline, join: Join = "staged", traced: bool = False, target: Target = "host"
) -> Unit:
    """The pipeline in the intermediate representation, before all passes."""
    unit = _unit(in_programs(pipeline, join, target), join, target)
    return to_be_traced(unit) if traced else unit


def _unit(pipeline: Pipeline, join: Join, target: Target) -> Unit:
    """Of a pipeline as it is, with a program for each of its stages."""
    units = _lowered(pipeline)
    if (join, target) not in units:
        units[join, target] = lower(pipeline, pipeline.span.source.file, join, target)
    return units[join, target]


@kept
def _lowered(_: Pipeline) -> dict[tuple[Join, Target], Unit]:
    """What was lowered by now: `check` lowers, too, and who runs packets beside a build."""
    return {}


def edited(unit: Unit, without: frozenset[str] = frozenset()) -> Unit:
    """A unit after the first passes, which are the same wherever state is kept; as it is where one
    of them is left out, which `run` sees to."""
    return unit if unit.edited or "join_checksums" in without else _edited(unit)


@kept
def _edited(unit: Unit) -> Unit:
    return trace_points(edit_packets(join_checksums(unit)))


def _unless_edited(run: Callable[[Unit], Unit], unit: Unit) -> Unit:
    return unit if unit.edited else run(unit)


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
    # before edit_packets, behind which checksums are stores like others
    Pass("join_checksums", lambda unit, _: _unless_edited(join_checksums, unit), optional=True),
    # before all that follow, which know what it makes of a push, a pop or an assignment
    Pass("edit_packets", lambda unit, _: _unless_edited(edit_packets, unit)),
    # before all that counts: most programs are not traced
    Pass("trace_points", lambda unit, _: _unless_edited(trace_points, unit)),
    # before place_state, which makes the pointers that what it moves is read through
    Pass("spill", lambda unit, where: spill(unit) if where.spilled else unit),
    Pass("place_state", lambda unit, where: place_state(unit, where.memory, where.spilled)),
    # behind place_state: the places that it tests and computes are those in memory
    Pass("usual_path", lambda unit, where: usual_path(unit, where.memory), optional=True),
    # before simplify, which computes what is left of the expressions
    Pass("fold_constants", lambda unit, _: fold_constants(unit), optional=True),
    Pass("simplify", lambda unit, _: simplify(unit), optional=True),
    Pass("drop_unused", lambda unit, _: drop_unused(unit), optional=True),
    # after drop_unused: what a role does not ask for may be all that differs
    Pass("merge_functions", lambda unit, _: merge_functions(unit), optional=True),
    # after merge_functions: it makes calls alike
    Pass("share_blocks", lambda unit, _: share_blocks(unit), optional=True),
    # after all that changes functions: it counts what they use
    Pass("lay_out_state", lambda unit, _: lay_out_state(unit)),
    # last: what it makes is only printed
    Pass("join_parsers", lambda unit, _: join_parsers(unit), optional=True),
)


def placed(pipeline: Pipeline, unit: Unit, without: frozenset[str] = frozenset()) -> Unit:
    """A lowered unit after its passes. Where the verifier would have too much to follow, what the
    parser found is kept in memory; where that is still too much, the stack is spared."""
    unit = edited(unit, without)
    made = _placed(unit)
    if without not in made:
        made[without] = _place(pipeline, unit, without)
    return made[without]


@kept
def _placed(_: Unit) -> dict[frozenset[str], Unit]:
    """What was placed by now, by what was left out."""
    return {}


def _place(pipeline: Pipeline, unit: Unit, without: frozenset[str]) -> Unit:
    pipeline = in_programs(pipeline, unit.join, unit.target)
    made = _passed(pipeline, unit, without)
    if found := over_budget(pipeline, made):
        raise Refused(found)
    if too_much(made) and any(program.ways is not None for program in made.programs):
        made = run(pipeline, unit, in_memory=True, without=without)
    return run(pipeline, unit, spilled=True, without=without) if too_much(made) else made


def _passed(pipeline: Pipeline, unit: Unit, without: frozenset[str] = frozenset()) -> Unit:
    """After the passes, with as much in registers as may be: what is placed, and asked whether a
    stage is too long."""
    passed = _passed_by(unit)
    if without not in passed:
        passed[without] = run(pipeline, unit, without=without)
    return passed[without]


@kept
def _passed_by(_: Unit) -> dict[frozenset[str], Unit]:
    """What the passes made by now, by what was left out."""
    return {}


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
