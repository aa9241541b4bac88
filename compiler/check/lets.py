"""`let`: names for values of a packet."""

from __future__ import annotations

from dataclasses import replace

from ...lang import tree
from .. import model
from . import errors
from .changes import Changed
from .flow import Scope, State
from .matches import check_free
from .names import WORDS
from .stage_names import StageNames
from .stage_program import Program
from .values import KINDS, Value


def let(program: Program, written: tree.Let, state: State, scope: Scope) -> Changed:
    """What stands behind it in the block, and at the top of a stage in later ones, may read it."""
    name = written.name
    free = name.text not in WORDS and check_free(program, name, scope)
    if name.text in WORDS:
        program.report(errors.name_taken(name, WORDS[name.text]))
    value = StageNames(program, state, scope).expressions.value(written.value)
    if value is not None and value.kind == "bytes":
        program.report(errors.wrong_kind(value.span, KINDS["bytes"], "a number"))
        value = None
    if value is None or not free:
        program.unsure = True
        if free:
            program.lets[written.span] = None
        return Changed(None, state)
    local = model.Local(_place(program, name.text, value, scope), value.width, value.kind)
    expr = value.expr if value.literal else local  # a mere number stays one
    what = f"`{name.text}`"
    known = replace(value, expr=expr, span=name.span, what=what, declared=name.span)
    program.lets[written.span] = known
    return Changed(model.Let(local, value.expr, written.span), state)


def _place(program: Program, name: str, value: Value, scope: Scope) -> str:
    """A name that nothing around has, and no value of another type: where blocks name alike what
    they keep, one place holds it."""
    made, number = name, 2
    type_ = value.width, value.kind
    while made in scope.taken or program.locals.setdefault(made, type_) != type_:
        made, number = f"{name}_{number}", number + 1
    return made


def known_behind(program: Program, written: tree.Statement, scope: Scope) -> Scope:
    """The scope of what stands behind a statement in its block."""
    if not isinstance(written, tree.Let) or written.span not in program.lets:
        return scope
    value = program.lets[written.span]
    values = {**scope.values, written.name.text: value}
    kept = value.expr.name if value and isinstance(value.expr, model.Local) else ""
    return replace(scope, values=values, taken=scope.taken | {kept})
