"""Arithmetic: of what values, in how many bits, and what the outcome may be."""

from __future__ import annotations

from ...lang import tree
from ...lang.text.diagnostics import Diagnostic, Diagnostics, error
from .. import model
from ..model.arithmetic import Interval, interval
from . import errors
from .ranges import Facts, excluded, narrowed, surely_above
from .values import KINDS, WIDEST, Value, of_width

#: What wraps at the width of its wider operand, or stops at the end of it.
_WRAPS = ("+%", "-%", "*%")
_BITWISE = ("&", "|", "^")


def computed(
    expr: tree.Binary, left: Value | None, right: Value | None, tested: Facts, found: Diagnostics
) -> Value | None:
    """`a + b` and the like. `tested`: comparisons that hold here."""
    if left is None or right is None:
        return None
    if expr.operator in _BITWISE and left.kind == right.kind != "uint":
        return _of_addresses(expr, left, right, found)
    if not all(_is_number(side, expr, found) for side in (left, right)):
        return None
    a, b = (narrowed(tested, side.expr, side.low, side.high) for side in (left, right))
    if not _allowed(expr, right, b, tested, found):
        return None
    return _of_numbers(expr, left, right, a, b, tested, found)


def complement(expr: tree.Unary, operand: Value | None, found: Diagnostics) -> Value | None:
    """`~a`, in the width of the operand; of a number alone, in 64 bits."""
    if operand is None:
        return None
    if operand.kind == "bytes" or (operand.kind == "uint" and operand.width > WIDEST):
        found.add(errors.wrong_kind(operand.span, KINDS[operand.kind], "a number"))
        return None
    width = WIDEST if operand.literal and operand.kind == "uint" else operand.width
    ones = (1 << width) - 1
    if operand.literal:
        return _known(expr, operand.low ^ ones, width, operand.kind)
    made = model.Arithmetic(
        "^", operand.expr, model.Const(ones, width), max(WIDEST, width), operand.kind
    )
    low, high = ones - operand.high, ones - operand.low
    return Value(made, width, operand.kind, low, high, expr.span, f"`{expr.span.text}`")


def _of_addresses(expr: tree.Binary, left: Value, right: Value, found: Diagnostics) -> Value | None:
    """`user.dst & 255.255.255.0`."""
    if left.kind == "bytes":
        found.add(errors.unsupported(expr.span, "computing with runs of bytes"))
        return None
    operator: model.Operator = expr.operator  # type: ignore[assignment]
    width = left.width
    made = model.Arithmetic(operator, left.expr, right.expr, max(WIDEST, width), left.kind)
    return of_width(made, width, left.kind, expr.span, f"`{expr.span.text}`", None)


def _is_number(side: Value, expr: tree.Binary, found: Diagnostics) -> bool:
    if side.kind != "uint":
        found.add(
            errors.wrong_kind(
                side.span,
                KINDS[side.kind],
                "a number",
                help="an address is only masked by one of its kind: `user.dst & 255.255.255.0`"
                if expr.operator in _BITWISE
                else "compute with numbers only",
            )
        )
        return False
    if side.width > WIDEST:
        found.add(errors.unsupported(side.span, "computing with more than 64 bits"))
        return False
    return True


def _allowed(
    expr: tree.Binary, right: Value, b: Interval, tested: Facts, found: Diagnostics
) -> bool:
    """Whether the right side is one that the operator takes."""
    if expr.operator in ("<<", ">>") and not (right.literal and right.high < WIDEST):
        found.add(
            errors.unsupported(
                right.span, "shifting by what is not a number below 64", "shift by a number"
            )
        )
        return False
    if expr.operator in ("/", "%") and not b[0] and 0 not in excluded(tested, right.expr):
        found.add(_by_zero(right))
        return False
    return True


def _of_numbers(
    expr: tree.Binary,
    left: Value,
    right: Value,
    a: Interval,
    b: Interval,
    tested: Facts,
    found: Diagnostics,
) -> Value | None:
    operator: model.Operator = expr.operator.rstrip("%|") or expr.operator  # type: ignore[assignment]
    low, high = interval(operator, a, b)
    if operator == "-" and (above := surely_above(tested, left.expr, right.expr)) is not None:
        low = max(low, above)
    ones = (1 << _width(left, right)) - 1
    made: model.Expr = model.Arithmetic(operator, left.expr, right.expr)
    if expr.operator in _WRAPS and (low < 0 or high > ones):
        if ones.bit_length() < WIDEST:
            made = model.Arithmetic("&", made, model.Const(ones, ones.bit_length()))
        low, high = 0, ones
    elif expr.operator == "-|" and low < 0:
        made, low, high = model.Arithmetic("-|", left.expr, right.expr), 0, max(0, high)
    elif expr.operator == "+|" and high > ones and not high >> WIDEST:
        made = model.Arithmetic("min", made, model.Const(ones, ones.bit_length()))
        low, high = min(low, ones), ones
    if not _fits(expr, low, high, found):
        return None
    if left.literal and right.literal:
        return _known(expr, low, max(1, low.bit_length()), "uint")
    least, most = interval(operator, left.range, right.range)
    if expr.operator in _WRAPS and (least < 0 or most > ones):
        least, most = 0, ones
    most = min(most, ones if expr.operator == "+|" else (1 << WIDEST) - 1)
    at_all = max(0, min(least, low)), max(high, most)
    width = max(1, high.bit_length())
    return Value(made, width, "uint", low, high, expr.span, f"`{expr.span.text}`", at_all=at_all)


def _width(left: Value, right: Value) -> int:
    """At which `+%` wraps and `+|` stops: the width of the wider operand that is no mere number."""
    return max((v.width for v in (left, right) if not v.literal), default=WIDEST)


def _fits(expr: tree.Binary, low: int, high: int, found: Diagnostics) -> bool:
    if low < 0:
        found.add(
            errors.overflow(
                expr.span,
                "this may become negative",
                f"as low as {low}",
                "compare the other way round, add to the other side, test it further up (`if A >= "
                "B {…}`), or write `-|`, which stops at 0",
            )
        )
    elif high >> WIDEST:
        found.add(
            errors.overflow(
                expr.span,
                "this may overflow 64 bits",
                f"as high as {high}",
                "compute with narrower fields, or test them further up: `if A < N {…}`",
            )
        )
    return low >= 0 and not high >> WIDEST


def _known(expr: tree.Expr, value: int, width: int, kind: model.Kind) -> Value:
    made = model.Const(value, width)
    return Value(made, width, kind, value, value, expr.span, f"`{expr.span.text}`")


# ---- errors ---------------------------------------------------------------------------------


def _by_zero(right: Value) -> Diagnostic:
    always = not right.high
    return error(
        "H0363",
        f"this {'is' if always else 'may be'} 0, and nothing is divided by 0",
        (right.span, "always 0" if always else f"{right.what} is 0 to {right.high}"),
        help="divide by another number"
        if always
        else f"test it further up: `if {right.span.text} != 0 {{…}}`",
    )
