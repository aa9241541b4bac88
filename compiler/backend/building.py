"""Builds a unit's object. Only clang knows how much stack its programs take: where that is too
much, they are built again with values spilled to the scratch record."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from ...lang.text.diagnostics import Diagnostic, Refused
from ..ir.unit import Program, Unit
from ..ir.walk import statements
from ..model import Pipeline
from .clang import TooDeep, compile_c
from .emit import emit
from .stack_usage import depths, too_deep


def built(
    pipeline: Pipeline,
    unit: Unit,
    spilled: Callable[[], Unit],
    flags: Sequence[str] = (),
    foretold: Callable[[Unit], bool] = lambda _: False,
) -> tuple[Unit, bytes]:
    """The object, and what it was built of: the unit, or if that needs too much stack the `spilled`
    one, which is slower. `flags`: more of clang's. `foretold`: whether something else has shown
    that the unit needs too much, which saves clang the attempt. Raises `Refused`, H0336 where the
    spilled one needs too much as well."""
    too_much = foretold(unit)
    code, found = (b"", []) if too_much else _tried(pipeline, unit, flags)
    if too_much or found:
        unit = spilled()
        code, found = _tried(pipeline, unit, flags)
    if found:
        raise Refused(found)
    return unit, code


def largest_is_too_deep(pipeline: Pipeline, unit: Unit, flags: Sequence[str]) -> bool:
    """Whether the largest program of a unit alone needs too much stack: a fraction of the work
    for clang."""
    largest = max(unit.programs, key=_statements)
    return bool(_tried(pipeline, replace(unit, programs=(largest,)), flags)[1])


def _statements(program: Program) -> int:
    return sum(1 for f in program.functions for _ in statements(f.body))


def _tried(pipeline: Pipeline, unit: Unit, flags: Sequence[str]) -> tuple[bytes, list[Diagnostic]]:
    """The unit's object, and what is wrong with the stack of its programs."""
    try:
        code = compile_c(emit(unit, lines=True), pipeline.name, pipeline.span, flags)
    except TooDeep as error:
        own = {program.name for program in unit.programs}
        blamed = own & error.names or own
        return b"", too_deep(pipeline, unit, dict.fromkeys(own - blamed, 0))
    return code, too_deep(pipeline, unit, depths(code))
