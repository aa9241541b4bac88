"""Elements that hold several values: how many, and all of them, as they are or otherwise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from ...lang import tree
from ...lang.text.diagnostics import Diagnostic, error
from ...lang.text.source import Span
from .. import model
from . import errors
from .stage_program import Program
from .values import Value

#: An element that holds several values, how many at most, and where it is declared.
Held = tuple[model.Attribute, int, Span]
AllOf = Callable[[tree.Path], Held | None]


class SaidItems(NamedTuple):
    """All the values of an element, and where they are asked for."""

    items: model.Items
    span: Span


def count(call: tree.Call, program: Program, all_of: AllOf) -> Value | None:
    """`count(POLICY.sids)`."""
    path = call.arguments[0] if len(call.arguments) == 1 else None
    if not isinstance(path, tree.Path) or path.index is not None:
        program.report(no_list(call.span, "`count` takes one list"))
        return None
    value = all_of(path)
    if value is None:
        return None
    source, most, declared = value
    return Value(model.Count(source, most), 8, "uint", 1, most, call.span,
                 f"`{call.span.text}`", declared)  # fmt: skip


def items(expr: tree.Expr, program: Program, all_of: AllOf) -> SaidItems | None:
    """`POLICY.sids`, `rest(POLICY.sids)`, `reversed(…)` of either."""
    if isinstance(expr, tree.Path) and expr.index is None:
        value = all_of(expr)
        return SaidItems(model.Items(value[0], value[1]), expr.span) if value else None
    if not isinstance(expr, tree.Call):
        program.report(no_list(expr.span, "this is one value"))
        return None
    word = expr.function.text
    if word not in ("rest", "reversed"):
        known = ["rest", "reversed"]
        program.report(errors.no_such_function(expr.function, known))
        return None
    if len(expr.arguments) != 1:
        says = f"`{word}` takes one list"
        program.report(no_list(expr.span, says))
        return None
    within = items(expr.arguments[0], program, all_of)
    if within is None:
        return None
    found = within.items
    if word == "reversed":
        return SaidItems(replace(found, backwards=not found.backwards), expr.span)
    if found.backwards:
        what = "the rest of a reversed list"
        fix = "reverse the rest: `reversed(rest(…))`"
        program.report(errors.unsupported(expr.span, what, fix))
        return None
    if found.skip + 1 >= found.most:
        says = f"of at most {found.most} values nothing is left"
        program.report(no_list(expr.span, says))
        return None
    return SaidItems(replace(found, skip=found.skip + 1), expr.span)


# ---- errors ---------------------------------------------------------------------------------


def no_list(span: Span, says: str, where: Span | None = None) -> Diagnostic:
    return error(
        "H0248",
        "there is no list here",
        (span, says),
        *([(where, "declared here")] if where is not None else []),
        help="an element that holds several values is declared so: `ie sids = 9, ip6[8]`",
    )
