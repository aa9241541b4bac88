"""Functions that do the same are one. Port roles that a pipeline treats alike have many of them.

After `drop_unused`: what one role's stages do not ask for may be all that differs.
"""

from __future__ import annotations

from dataclasses import replace

from ..ir.expr import Expr, HelperCall
from ..ir.names import function_name
from ..ir.nodes import Body, Function
from ..ir.rewrite import rewritten
from ..ir.unit import Unit


def merge_functions(unit: Unit) -> Unit:
    """Helpers first: stages that call others of equal bodies differ in that alone."""
    helpers = _merged([f for f in unit.functions if not f.stage])
    names = {f.name: kept.name for f, kept in helpers}
    stages = [replace(f, body=_calling(f.body, names)) for f in unit.functions if f.stage]
    merged = _merged(stages)
    named = {(f.role, f.name): _shared(kept, stages) for f, kept in merged}
    functions = [kept for _, kept in helpers] + list(named.values())
    programs = (
        replace(p, functions=tuple(named[f.role, f.name] for f in p.functions))
        for p in unit.programs
    )
    return replace(unit, functions=tuple(dict.fromkeys(functions)), programs=tuple(programs))


def _merged(functions: list[Function]) -> list[tuple[Function, Function]]:
    """Each with the first that does the same."""
    first: dict[tuple[str, tuple[str, ...], Body], Function] = {}
    return [(f, first.setdefault((f.stage, f.takes, f.body), f)) for f in functions]


def _shared(kept: Function, stages: list[Function]) -> Function:
    """A stage's function, called by all roles that it is for."""
    same = kept.stage, kept.takes, kept.body
    roles = [f.role for f in stages if (f.stage, f.takes, f.body) == same]
    return replace(kept, name=function_name(f"stage_{'_'.join(roles)}_{kept.stage}"))


def _calling(body: Body, names: dict[str, str]) -> Body:
    def change(x: Expr) -> Expr:
        return replace(x, function=names[x.function]) if isinstance(x, HelperCall) else x

    return rewritten(body, change)
