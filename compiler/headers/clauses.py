"""Expressions in the clauses of a header: sizes, extents, counts, of the header at a pointer."""

from __future__ import annotations

from ..ir.expr import Call, Cast, binary
from ..ir.expr import Expr as Made
from ..ir.types import U64
from ..ir.values import Value, constant
from ..model import Arithmetic, Const, Expr, Header, Own
from .context import Context
from .fields import field_value


def clause(context: Context, expr: Expr, pointer: Made, header: Header) -> Value:
    """The value of a clause of the header at `pointer`."""
    match expr:
        case Const(known, width):
            return constant(known, max(width, 1))
        case Own(name):
            return field_value(pointer, header.field(name))
        case Arithmetic(_, left, right):
            values = [clause(context, each, pointer, header) for each in (left, right)]
            return arithmetic(context, expr, *values)
    raise AssertionError(expr)


def arithmetic(context: Context, expr: Arithmetic, a: Value, b: Value) -> Value:
    """In 64 bits; a card multiplies by a function of its own."""
    shifts = any(isinstance(e, Const) and e.value.bit_count() < 2 for e in (expr.left, expr.right))
    if context.card and expr.operator == "*" and not shifts and max(a.width, b.width) <= 32:
        return Value(Call("times", (a.host(), b.host()), U64), 64)
    return Value(binary(expr.operator, Cast(U64, a.host()), b.host()), 64)
