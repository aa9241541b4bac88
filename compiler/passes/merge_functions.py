"""Functions that do the same are one. Port roles that a pipeline treats alike have many of them.

After `drop_unused`: what one role's stages do not ask for may be all that differs.
"""

from __future__ import annotations

from dataclasses import replace

from ..ir.expr import Expr, HelperCall
from ..ir.names import Names
from ..ir.nodes import Body, Function
from ..ir.rewrite import rewritten
from ..ir.unit import Unit


def merge_functions(unit: Unit) -> Unit:
    """Helpers first: stages that call others of equal bodies differ in that alone."""
    names = Names([*(f.name for f in unit.functions), *(p.name for p in unit.programs)])
    helpers, called = _helpers([f for f in unit.functions if not f.stage])
    stages = _alike([replace(f, body=_calling(f.body, called)) for f in unit.functions if f.stage])
    shared = [_shared(same, names) for same in stages]
    named = {(f.role, f.name): one for same, one in zip(stages, shared, strict=True) for f in same}
    programs = (
        replace(p, functions=tuple(named[f.role, f.name] for f in p.functions))
        for p in unit.programs
    )
    functions = (*helpers, *shared)
    return replace(unit, functions=functions, programs=tuple(programs))


def _helpers(functions: list[Function]) -> tuple[list[Function], dict[str, str]]:
    """One of each, and what is called in the place of others: once more for each time that some are
    alike, as those that call these may be alike then."""
    called: dict[str, str] = {}
    while True:
        alike = _alike(functions)
        merged = {f.name: first.name for first, *others in alike for f in others}
        if not merged:
            return functions, called
        called = {name: merged.get(other, other) for name, other in called.items()} | merged
        functions = [replace(f, body=_calling(f.body, merged)) for f, *_ in alike]


def _alike(functions: list[Function]) -> list[list[Function]]:
    """Those that do the same, together."""
    found: dict[tuple[str, tuple[str, ...], Body], list[Function]] = {}
    for f in functions:
        found.setdefault((f.stage, f.takes, f.body), []).append(f)
    return list(found.values())


def _shared(same: list[Function], names: Names) -> Function:
    """One function for all roles that it is for."""
    first, *others = same
    if not others:
        return first
    roles = "_".join(f.role for f in same)
    return replace(first, name=names.free(f"stage_{roles}_{first.stage}"))


def _calling(body: Body, names: dict[str, str]) -> Body:
    def change(x: Expr) -> Expr:
        if isinstance(x, HelperCall) and x.function in names:
            return replace(x, function=names[x.function])
        return x

    return rewritten(body, change)
