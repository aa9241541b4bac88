"""`min(a, b, …)` and `max(a, b, …)`: the least and the greatest of some numbers."""

from __future__ import annotations

from functools import reduce

from ...lang import tree
from ...lang.text.diagnostics import Diagnostic, Diagnostics, error
from .. import model
from ..model.arithmetic import COMPUTED, interval
from . import errors
from .expressions import Expressions
from .values import KINDS, WIDEST, Value, seen_of

EXTREMES: dict[str, model.Operator] = {"min": "min", "max": "max"}


def extreme_call(call: tree.Call, within: Expressions, found: Diagnostics) -> Value | None:
    """Of two numbers or more; None where it has reported an error."""
    values = [within.value(argument) for argument in call.arguments]
    known = [value for value in values if value is not None and _is_number(value, found)]
    if len(known) < len(values):
        return None
    if len(known) < 2:
        found.add(_too_few(call))
        return None
    return reduce(lambda a, b: _of_two(call, a, b), known)


def _is_number(value: Value, found: Diagnostics) -> bool:
    if value.kind != "uint":
        help = "addresses have no order: compare them with `=`, or ask for a prefix by `in`"
        found.add(errors.wrong_kind(value.span, KINDS[value.kind], "a number", help=help))
    elif value.width > WIDEST:
        found.add(errors.unsupported(value.span, "computing with more than 64 bits"))
    return value.kind == "uint" and value.width <= WIDEST


def _of_two(call: tree.Call, left: Value, right: Value) -> Value:
    """As wide as the wider of them, where mere numbers do not count, or as the outcome needs."""
    sign = EXTREMES[call.function.text]
    low, high = interval(sign, (left.low, left.high), (right.low, right.high))
    at_all = interval(sign, left.range, right.range)
    widths = [value.width for value in (left, right) if not value.literal]
    width = max(1, at_all[1].bit_length(), *widths)
    made: model.Expr = model.Arithmetic(sign, left.expr, right.expr, width)
    if isinstance(left.expr, model.Const) and isinstance(right.expr, model.Const):
        made = model.Const(COMPUTED[sign](left.expr.value, right.expr.value), width)
    what = f"`{call.span.text}`"
    whole = seen_of(left, right)
    seen = None if whole is None else interval(sign, *whole)[1]
    return Value(made, width, "uint", low, high, call.span, what, at_all=at_all, seen=seen)


def one_of_two(
    call: tree.Call, condition: model.Condition, then: Value, otherwise: Value, found: Diagnostics
) -> Value | None:
    """`pick(C, a, b)`: as wide as the wider one, where mere numbers do not count, or as both may
    need."""
    kind = then.kind
    if otherwise.kind != kind:
        known = errors.wrong_kind(otherwise.span, KINDS[otherwise.kind], KINDS[kind], then.span)
        found.add(known)
        return None
    if kind in ("bytes", *model.NAME_KINDS):
        found.add(errors.unsupported(call.span, f"picking {KINDS[kind]}", "a rule matches them"))
        return None
    values = (then, otherwise)
    low, high = min(v.low for v in values), max(v.high for v in values)
    at_all = min(v.range[0] for v in values), max(v.range[1] for v in values)
    width = max(1, at_all[1].bit_length(), *(v.width for v in values if not v.literal))
    seen = (
        None
        if then.seen is None and otherwise.seen is None
        else max(v.high if v.seen is None else v.seen for v in values)
    )
    expr = model.Pick(condition, then.expr, otherwise.expr, width, kind)
    what = f"`{call.span.text}`"
    return Value(expr, width, kind, low, high, call.span, what, at_all=at_all, seen=seen)


# ---- errors ---------------------------------------------------------------------------------


def _too_few(call: tree.Call) -> Diagnostic:
    name = call.function.text
    return error(
        "H0446",
        f"`{name}` takes two numbers or more",
        (call.span, "the least of what?" if name == "min" else "the greatest of what?"),
        help=f"write them with commas: `{name}(R[0][a], R[1][b])`, `{name}(user.ttl, 64)`",
    )
