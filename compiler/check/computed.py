"""Arithmetic: of what values, in how many bits, and what the outcome may be. What was tested
further up only makes bounds tighter: what a value is, and how wide, follows from declarations."""

from __future__ import annotations

from ...lang import tree
from ...lang.text.diagnostics import Diagnostic, Diagnostics, error
from .. import model
from ..model.arithmetic import COMPUTED, Interval, interval
from . import errors
from .ranges import Facts, excluded, narrowed, surely_above
from .values import KINDS, WIDEST, Value, of_width, seen_of

#: What each operator computes, if that is less or more than the number it wraps or stops.
_WRAPS: dict[str, model.Operator] = {"+%": "+", "-%": "-", "*%": "*"}
_STOPS: dict[str, model.Operator] = {"+|": "+", "-|": "-"}
_BITWISE = ("&", "|", "^")
#: By which a number of bytes becomes another.
_LENGTHS = ("+", "-", "*", "+|", "-|")
_MOST = (1 << WIDEST) - 1


def computed(
    expr: tree.Binary, left: Value | None, right: Value | None, tested: Facts, found: Diagnostics
) -> Value | None:
    """`a + b` and the like. `tested`: comparisons that hold here."""
    if left is None or right is None:
        return None
    if expr.operator in _BITWISE and left.kind == right.kind != "uint":
        return _of_addresses(expr, left, right, found)
    if "uint" not in (left.kind, right.kind) and left.kind != right.kind:
        kinds = KINDS[right.kind], KINDS[left.kind]
        found.add(errors.wrong_kind(right.span, *kinds, left.span, "mask with one of its kind"))
        return None
    if not all(_is_number(side, expr, found) for side in (left, right)):
        return None
    a, b = (narrowed(tested, side.expr, side.low, side.high) for side in (left, right))
    if not _allowed(expr, right, b, tested, found):
        return None
    return _of_numbers(expr, (left, right), (a, b), tested, found)


def complement(expr: tree.Unary, operand: Value | None, found: Diagnostics) -> Value | None:
    """`~a`, in the width of the operand; of a number alone, in 64 bits."""
    if operand is None:
        return None
    if operand.kind == "bytes" or (operand.kind == "uint" and operand.width > WIDEST):
        found.add(errors.wrong_kind(operand.span, KINDS[operand.kind], "a number"))
        return None
    width = WIDEST if operand.literal and operand.kind == "uint" else operand.width
    ones = (1 << width) - 1
    what = f"`{expr.span.text}`"
    if operand.literal:
        known = operand.low ^ ones
        made: model.Expr = model.Const(known, width)
        return Value(made, width, operand.kind, known, known, expr.span, what)
    made = model.Arithmetic("^", operand.expr, model.Const(ones, width), width, operand.kind)
    least, most = operand.range
    low, high, at_all = ones - operand.high, ones - operand.low, (ones - most, ones - least)
    return Value(made, width, operand.kind, low, high, expr.span, what, at_all=at_all)


def _of_addresses(expr: tree.Binary, left: Value, right: Value, found: Diagnostics) -> Value | None:
    """`user.dst & 255.255.255.0`."""
    if left.kind == "bytes":
        found.add(errors.unsupported(expr.span, "computing with runs of bytes"))
        return None
    operator: model.Operator = expr.operator  # type: ignore[assignment]
    if left.literal and right.literal:
        known, what = COMPUTED[operator](left.low, right.low), f"`{expr.span.text}`"
        constant = model.Const(known, left.width)
        return Value(constant, left.width, left.kind, known, known, expr.span, what)
    made = model.Arithmetic(operator, left.expr, right.expr, left.width, left.kind)
    return of_width(made, left.width, left.kind, expr.span, f"`{expr.span.text}`", None)


def _is_number(side: Value, expr: tree.Binary, found: Diagnostics) -> bool:
    if side.kind != "uint":
        found.add(
            errors.wrong_kind(
                side.span,
                KINDS[side.kind],
                "a number",
                help="an address is only masked by one of its kind: `user.dst & 255.255.255.0`"
                if expr.operator in _BITWISE
                else "a range has two dots: `user.src in 10.0.0.1..10.0.0.9`"
                if expr.operator == "-"
                else "of addresses only bits are computed: `&`, `|`, `^`, `~`",
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
        title = "shifting by what is not a number below 64"
        found.add(errors.unsupported(right.span, title, "shift by a number from 0 to 63"))
        return False
    maybe_zero = not b[0] and (not b[1] or 0 not in excluded(tested, right.expr))
    if expr.operator in ("/", "%") and maybe_zero:
        found.add(_by_zero(right))
        return False
    return True


def _of_numbers(
    expr: tree.Binary,
    sides: tuple[Value, Value],
    bounds: tuple[Interval, Interval],
    tested: Facts,
    found: Diagnostics,
) -> Value | None:
    left, right = sides
    widths = [v.width for v in sides if not v.literal]
    bits = max(widths, default=0)
    ones = (1 << (bits or WIDEST)) - 1
    low, high = _outcome(expr.operator, *bounds, ones)
    above = surely_above(tested, left.expr, right.expr) if expr.operator == "-" else None
    low = low if above is None else max(low, above)
    least, most = _outcome(expr.operator, left.range, right.range, ones)
    if not _fits(expr, low, high, found, left):
        return None
    at_all = max(0, min(least, low)), max(high, min(most, _MOST))
    width = max(1, at_all[1].bit_length(), _width(expr.operator, left, bits))
    made: model.Expr = model.Const(low, width)
    if not (left.literal and right.literal):
        made = _made(expr.operator, left, right, ones, width)
    what = f"`{expr.span.text}`"
    # Of others than sums and products nobody expects as much as a frame has.
    whole = seen_of(left, right) if expr.operator in _LENGTHS else None
    seen = None if whole is None else _outcome(expr.operator, *whole, ones)[1]
    return Value(made, width, "uint", low, high, expr.span, what, at_all=at_all, seen=seen)


def _width(operator: str, left: Value, bits: int) -> int:
    """The least width of an outcome, where its operands have one: of what can come to more bits
    there is none. `bits`: of the wider operand that is no mere number."""
    if operator in ("/", "%", ">>"):
        return 0 if left.literal else left.width
    return 0 if operator in ("+", "*", "<<") else bits


def _outcome(operator: str, a: Interval, b: Interval, ones: int) -> Interval:
    """Where the outcome lies; of what neither wraps nor stops perhaps below 0, or above 64 bits."""
    low, high = interval(_WRAPS.get(operator) or _STOPS.get(operator) or operator, a, b)
    if operator in _WRAPS and (low < 0 or high > ones):
        return (low & ones, low & ones) if low == high else (0, ones)
    if operator == "+|":
        return min(low, ones), min(high, ones)
    return (max(0, low), max(0, high)) if operator == "-|" else (low, high)


def _made(operator: str, left: Value, right: Value, ones: int, width: int) -> model.Expr:
    """The expression: all that may wrap or stop is computed in 64 bits first."""
    a, b = left.expr, right.expr
    if operator == "-|":
        return model.Arithmetic("-|", a, b, width)
    if operator == "+|" and ones == _MOST:
        return model.Arithmetic("+|", a, b, width)
    if operator == "+|":
        return model.Arithmetic("min", model.Arithmetic("+", a, b), _all(ones), width)
    if operator not in _WRAPS:
        plain: model.Operator = operator  # type: ignore[assignment]
        return model.Arithmetic(plain, a, b, width)
    if ones == _MOST:
        return model.Arithmetic(_WRAPS[operator], a, b, width)
    return model.Arithmetic("&", model.Arithmetic(_WRAPS[operator], a, b), _all(ones), width)


def _all(ones: int) -> model.Const:
    return model.Const(ones, ones.bit_length())


def _fits(expr: tree.Binary, low: int, high: int, found: Diagnostics, left: Value) -> bool:
    in_place = ""
    if isinstance(left.expr, model.Recalled | model.Register):
        change = f"`{left.span.text} -= {expr.right.span.text}`"
        in_place = f"; what is kept is changed by {change}, one step, which stops at 0"
    if low < 0 and isinstance(left.expr, model.RuleCount | model.Register):
        # another number each time that it is read
        named = f"let count = {left.span.text}"
        says = f"as low as {low}: it is read again here, and a test is of what was read there"
        help = f"name it once, `{named}`, and test that; or write `-|`, which stops at 0{in_place}"
        found.add(errors.overflow(expr.span, "this may become negative", says, help))
    elif low < 0:
        found.add(
            errors.overflow(
                expr.span,
                "this may become negative",
                f"as low as {low}",
                "compare the other way round, add to the other side, test it further up (`if A >= "
                f"B {{…}}`), or write `-|`, which stops at 0{in_place}",
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
