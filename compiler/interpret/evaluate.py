"""Values of model expressions and truth of conditions, given how to read their leaves.

Arithmetic is that of unsigned 64-bit numbers, as the generated programs have it.
"""

from __future__ import annotations

import operator
from collections.abc import Callable

from ..model import (
    Among,
    And,
    Arithmetic,
    Compare,
    Condition,
    Const,
    Expr,
    Not,
    Or,
)
from ..model.arithmetic import COMPUTED

#: Reads a leaf: a field, an attribute, a layer 4 port, a hash.
Read = Callable[[Expr], int]
#: Decides a leaf condition: presence, locality, the port's role.
Ask = Callable[[Condition], bool]
Compared = list[tuple[Condition, int, int]]

_COMPARE: dict[str, Callable[[int, int], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def evaluate(expr: Expr, read: Read) -> int:
    """The expression's value."""
    if isinstance(expr, Const):
        return expr.value
    if isinstance(expr, Arithmetic):
        left, right = evaluate(expr.left, read), evaluate(expr.right, read)
        return COMPUTED[expr.operator](left, right) & (1 << max(64, expr.width)) - 1
    return read(expr)


def holds(condition: Condition, read: Read, ask: Ask, compared: Compared | None = None) -> bool:
    """Whether the condition is true; operands from left to right, no further than needed.
    `compared`: where comparisons are noted, and what stood left and right; of other conditions,
    whether they held."""
    if isinstance(condition, Compare):
        left, right = evaluate(condition.left, read), evaluate(condition.right, read)
        if compared is not None:
            compared.append((condition, left, right))
        return _COMPARE[condition.operator](left, right)
    if isinstance(condition, Among):
        value = evaluate(condition.subject, read)
        held = any(low <= value <= high for low, high in condition.ranges)
        if compared is not None:
            compared.append((condition, value, held))
        return held
    if isinstance(condition, Not):
        return not holds(condition.operand, read, ask, compared)
    if isinstance(condition, And):
        return all(holds(c, read, ask, compared) for c in condition.operands)
    if isinstance(condition, Or):
        return any(holds(c, read, ask, compared) for c in condition.operands)
    held = ask(condition)
    if compared is not None:
        compared.append((condition, held, 0))
    return held
