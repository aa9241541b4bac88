"""Builds a unit's object. Only clang knows how much stack its programs take: where that is too
much, they are built again with values spilled to the scratch record."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...lang.text.diagnostics import Diagnostic, Refused
from ..ir.unit import Unit
from ..model import Pipeline
from .clang import TooDeep, compile_c
from .emit import emit
from .stack_usage import depths, too_deep


def built(
    pipeline: Pipeline, unit: Unit, spilled: Callable[[], Unit], flags: Sequence[str] = ()
) -> tuple[Unit, bytes]:
    """The object, and what it was built of: the unit, or if that needs too much stack the `spilled`
    one, which is slower. `flags`: more of clang's. Raises `Refused`, H0336 where that needs too
    much as well."""
    code, found = _tried(pipeline, unit, flags)
    if found:
        unit = spilled()
        code, found = _tried(pipeline, unit, flags)
    if found:
        raise Refused(found)
    return unit, code


def _tried(pipeline: Pipeline, unit: Unit, flags: Sequence[str]) -> tuple[bytes, list[Diagnostic]]:
    """The unit's object, and what is wrong with the stack of its programs."""
    try:
        code = compile_c(emit(unit, lines=True), pipeline.name, pipeline.span, flags)
    except TooDeep as error:
        own = {program.name for program in unit.programs}
        blamed = own & error.names or own
        return b"", too_deep(pipeline, unit, dict.fromkeys(own - blamed, 0))
    return code, too_deep(pipeline, unit, depths(code))
