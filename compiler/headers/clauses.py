"""Expressions in the clauses of a header: sizes, extents, counts, of the header at a pointer."""

from __future__ import annotations

from ..ir.expr import CTX, Call, Cast, binary, number
from ..ir.expr import Expr as Made
from ..ir.expr_builders import choose
from ..ir.types import U64, Int
from ..ir.values import Value, constant
from ..model import Arithmetic, Const, Expr, Header, NameBytes, Own
from .context import Context
from .fields import field_value


def clause(context: Context, expr: Expr, pointer: Made, header: Header) -> Value:
    """The value of a clause of the header at `pointer`."""
    match expr:
        case Const(known, width):
            return constant(known, max(width, 1))
        case Own(name):
            return field_value(pointer, header.field(name))
        case NameBytes(at):
            return Value(Call("name_bytes", (CTX, pointer + at)), 32)
        case Arithmetic(_, left, right):
            values = [clause(context, each, pointer, header) for each in (left, right)]
            return arithmetic(context, expr, *values)
    raise AssertionError(expr)


def arithmetic(context: Context, expr: Arithmetic, a: Value, b: Value) -> Value:
    """In 64 bits, or the more that it has; a card multiplies by a function of its own."""
    shifts = any(isinstance(e, Const) and e.value.bit_count() < 2 for e in (expr.left, expr.right))
    if context.card and expr.operator == "*" and not shifts and max(a.width, b.width) <= 32:
        return Value(Call("times", (a.host(), b.host()), U64), 64)
    width = max(64, expr.width)
    left, right = Cast(Int(width), a.host()), b.host()
    match expr.operator:
        case "min":
            return Value(choose(left < right, left, right), width)
        case "max":
            return Value(choose(left > right, left, right), width)
        case "+|":
            most = number((1 << 64) - 1)
            return Value(choose(left > most - right, most, binary("+", left, right)), width)
        case "-|":
            return Value(choose(left > right, binary("-", left, right), 0), width)
        case operator:
            return Value(binary(operator, left, right), width)
