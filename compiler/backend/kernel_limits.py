"""What a kernel takes of one program, and of programs in a row, held against a lowered unit: what
`check` accepts is to load. Where it depends on clang how many there will be (instructions, bytes
of stack) the bound is well below the kernel's."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple

from ...lang.contract.manifest.manifest import VECTOR_KEYS
from ...lang.text.diagnostics import Diagnostic, Label
from ...lang.text.source import Span
from ..ir.nodes import Function
from ..ir.unit import Program, Unit
from ..ir.walk import asked_in, helpers_of, looked_up_in, operations, states_of, tables_of
from ..model import Bridge, Forward, Hash, Pipeline, Stage, State
from ..model.walk import walk
from ..tables.layout import Table

STAGES = 32  # MAX_TAIL_CALL_CNT of Linux 5.10: a packet goes through one more program at most
MAPS = 64  # MAX_USED_MAPS, of one program
MOST_FOLLOWED = 1_000_000  # BPF_COMPLEXITY_LIMIT_INSNS
OPERATIONS = 19_000  # up to 25,000 instructions, of which a jump reaches 32,767
HASHED = 128  # bytes in one hash: they lie on the stack, which has 512 with those of look-ups
ENTRY = 128  # bytes of a state's entry, which is made there
KEY = 88  # bytes of a state's key, likewise

#: What any traced program has: events, scratch, control, the next stages, and three of the trace's.
_ALWAYS = 7
_SENDING = 7  # ports, their numbers, egress, neighbours and local addresses of both versions


def over_budget(pipeline: Pipeline, unit: Unit) -> list[Diagnostic]:
    """What of the unit no kernel would take; in the words of the pipeline."""
    if unit.target == "nfp":
        return []
    found = list(_too_many_stages(pipeline)) if unit.join == "staged" else []
    for program in unit.programs if _may_be_over(pipeline, unit) else ():
        found += _program(pipeline, unit, program)
    found += _stack(pipeline, unit)
    return list(dict.fromkeys(found))


def _too_many_stages(pipeline: Pipeline) -> Iterator[Diagnostic]:
    stages = [s for s in pipeline.stages if s.name != "parser"]
    if len(stages) > STAGES:
        yield _refused(
            f"{len(stages)} stages run one after the other",
            stages[STAGES].span,
            f"the kernel goes on from program to program {STAGES} times at most",
            "join some: stages that a packet passes one after the other may be one",
        )


def too_long(pipeline: Pipeline, unit: Unit) -> dict[str, float]:
    """The stages that are too much for one program each, and by how many times."""
    found: dict[str, float] = {}
    if unit.target == "nfp" or not _may_be_over(pipeline, unit):
        return found
    for program in unit.programs:
        cost, stage = _cost(pipeline, unit, program), program.functions[-1].stage
        times = max(cost.operations / OPERATIONS, cost.maps / MAPS)
        if times > 1:
            found[stage] = max(times, found.get(stage, 0))
    return found


# ---- one program ----------------------------------------------------------------------------


class _Cost(NamedTuple):
    """What a program takes: of `maps`, those of so many rule kinds."""

    operations: int
    maps: int
    kinds: int


def _cost(pipeline: Pipeline, unit: Unit, program: Program) -> _Cost:
    called = _called(unit, program)
    prefixes = set[str]().union(*map(tables_of, called))
    used = [t for t in unit.tables if t.manifest.prefix in prefixes]
    asked = set[str]().union(*map(asked_in, called))
    maps = _ALWAYS + _beside(pipeline, unit)
    maps += sum(_maps(t) if t.manifest.prefix in asked else 1 for t in used)  # 1: its records
    maps += len(set[str]().union(*map(states_of, called)))
    return _Cost(_operations(unit, called), maps, len(used))


def _operations(unit: Unit, functions: Iterable[Function]) -> int:
    words = {s.prefix: (s.key_size + s.entry_size) // 8 for s in unit.states}
    return sum(operations(function, words) for function in functions)


def _may_be_over(pipeline: Pipeline, unit: Unit) -> bool:
    """Whether all of the unit in one program would be more than the kernel takes."""
    maps = _ALWAYS + _beside(pipeline, unit) + sum(map(_maps, unit.tables))
    maps += len(unit.states) + len(unit.registers)
    whole = _operations(unit, unit.functions)
    return maps > MAPS or whole > OPERATIONS


def _program(pipeline: Pipeline, unit: Unit, program: Program) -> Iterator[Diagnostic]:
    stage = next(s for s in pipeline.stages if s.name == program.functions[-1].stage)
    what, help_ = (
        f"stage `{stage.part_of or stage.name}`",
        "move some of it into a stage of its own",
    )
    where = stage.span
    if len(stage.body.statements) == 1:  # what is more is divided: lower/divide.py
        what, where = f"a statement of {what}", getattr(stage.body.statements[0], "span", where)
    if unit.join == "fused":
        what, help_, where = "all stages in one program", "compile without `--fuse`", stage.span
    cost = _cost(pipeline, unit, program)
    if cost.operations > OPERATIONS:
        says = f"some {cost.operations:,} operations; at most {OPERATIONS:,}"
        yield _refused(f"{what} is too long for the kernel", where, says, help_)
    if cost.maps > MAPS:
        says = f"of {cost.kinds} rule kinds, {cost.maps} maps; at most {MAPS} for a program"
        title = f"{what} asks too many tables for the kernel"
        yield _refused(title, where, says, f"ask a part of them elsewhere: {help_}")


def looked_up(unit: Unit, program: Program) -> int:
    """How many instructions the verifier follows in a program's look-ups, at most: it follows the
    function of each table once."""
    asked = set[str]().union(*map(looked_up_in, _called(unit, program)))
    return sum(_walked(t) for t in unit.tables if t.manifest.prefix in asked)


def _called(unit: Unit, program: Program) -> list[Function]:
    """The program's stages, and the helpers that they call."""
    called = set[str]().union(*map(helpers_of, program.functions))
    helpers = (f for f in unit.functions if not f.stage)
    return [*program.functions, *(f for f in helpers if f.name in called)]


def _beside(pipeline: Pipeline, unit: Unit) -> int:
    """Maps that are no tables."""
    sends = any(isinstance(part, Forward | Bridge) for part in walk(pipeline.stages))
    return (
        _SENDING * sends
        + 2 * (bool(unit.asks_local) and not sends)
        + 2 * (unit.replies + unit.steers)
        + bool(unit.probe_words)
        + 2 * bool(unit.ring)
        + any(rule.counts for rule in pipeline.rules)
        + any(rule.meters for rule in pipeline.rules)
        + any(table.manifest.cached for table in unit.tables)
    )


def _maps(table: Table) -> int:
    """Maps of a rule kind: cells, records and images; and what a key is looked up in."""
    return 3 + (0 if table.key is None else 3 + bool(table.manifest.filter))


def _walked(table: Table) -> int:
    """A look-up, the loop over its tuples, of which each is a call of what was followed before, and
    that over pairs of words of bit vectors: as measured, rounded up."""
    if table.key is None:
        return 0
    pairs = table.manifest.vectors // VECTOR_KEYS
    return 6_000 + 500 * table.key.words + 15 * table.manifest.tuples + 4_000 * pairs


# ---- the stack ------------------------------------------------------------------------------


def _stack(pipeline: Pipeline, unit: Unit) -> Iterator[Diagnostic]:
    for state, laid in zip(pipeline.states, unit.states, strict=True):
        for what, size, most in (("key", laid.key_size, KEY), ("entry", laid.entry_size, ENTRY)):
            if size > most:
                yield _wide_state(state, what, size, most)
    for stage in pipeline.stages:
        yield from _hashes(stage)


def _wide_state(state: State, what: str, size: int, most: int) -> Diagnostic:
    title = f"`{state.name}` keeps too much for the stack of a program"
    says = f"its {what} has {size} bytes; at most {most}"
    return _refused(title, state.span, says, "keep less of it, or in two states")


def _hashes(stage: Stage) -> Iterator[Diagnostic]:
    at = stage.span
    for part in walk(stage.body):
        at = getattr(part, "span", at)  # of the statement that it stands in
        if isinstance(part, Hash):
            size = sum((getattr(a, "width", 64) + 7) // 8 for a in part.arguments)
            if size > HASHED:
                says = f"{size} bytes; at most {HASHED}"
                title = "a hash is over too much for the stack of a program"
                yield _refused(title, at, says, "leave out what distinguishes flows least")


def _refused(title: str, span: Span, says: str, help_: str) -> Diagnostic:
    """At what is named in the span's first line."""
    end = span.start + len(span.text.split("\n")[0].split(" {")[0])
    return Diagnostic("H0335", title, (Label(span.source.span(span.start, end), says),), help_)


def untraced(found: Diagnostic) -> Diagnostic:
    """A warning in place of what only the traced build is refused for."""
    help_ = f"`--no-trace` says that none is wanted; to have one, {found.help}"
    title = f"no traced build: with tracing, {found.title}"
    return replace(found, title=title, help=help_, severity="warning")
