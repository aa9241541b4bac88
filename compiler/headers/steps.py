"""Steps of a traced packet's way."""

from __future__ import annotations

from ...lang.contract.trace.schema import Point, Slot
from ..ir.expr import ZERO, Cast, Expr
from ..ir.nodes import Trace
from ..ir.types import U64
from ..ir.values import Value
from .context import Context


def step(context: Context, point: Point, *words: Expr) -> None:
    context.writer.put(Trace(point, words))


def words_of(value: Value, slot: Slot) -> list[Expr]:
    """Each word of a value, whether it is given first, if the slot says that."""
    host = value.host()
    words: list[Expr] = [Cast(U64, host)]
    if slot.width > 64:
        words.append(Cast(U64, host >> 64) if value.size == 16 else ZERO)
    if slot.given:
        assert value.given is not None
        return [value.given, *words]
    return words
