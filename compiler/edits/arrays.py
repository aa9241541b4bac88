"""Arrays of headers that are written."""

from __future__ import annotations

from ..headers.fields import pieces
from ..headers.frame import END
from ..ir.builder import Builder
from ..ir.edits import ArrayValues
from ..ir.expr import Expr, Name, expr, load, number
from ..ir.expr_builders import choose
from ..ir.nodes import Opaque
from ..ir.types import U64


def by_count(array: ArrayValues, values: list[int]) -> Expr:
    """A number that follows from how many values there are."""
    step = values[2] - values[1] if len(values) > 2 else 0
    start = values[1] - step
    if any(v != start + n * step for n, v in enumerate(values) if n):
        found: Expr = number(values[-1])
        for n, v in reversed(list(enumerate(values[:-1]))):
            found = choose(array.count.is_(n), v, found)
        return found
    linear = array.count * step
    linear = linear + start if start >= 0 else linear - -start
    return linear if values[0] == start else choose(array.count, linear, values[0])


def put_array(w: Builder, array: ArrayValues, where: Name, size: int) -> None:
    """Write the values, of so many bytes each, one behind the other from `where` on."""
    for i in range(array.most):
        with w.when(array.count > i):
            w.assume_not(where + (i + 1) * size > END)
            at = expr(i * size)
            if array.backwards:
                index = w.local(U64, "at", array.count - (i + 1))
                w.put(Opaque(index, "clang knows its bound, the verifier does not"))
                w.assume_not(index >= array.most)
                w.put(Opaque(index, "computed with only here, where it is bounded"))
                at = index * size
            for done, piece in pieces(size, most=16):
                value = load(array.first, at + done, piece * 8)
                w.store(where, i * size + done, piece * 8, value)
