"""Values: an expression with the width of what it stands for, and whether there is one at all."""

from __future__ import annotations

from dataclasses import replace

from ...lang.contract.base.lists import bytes_of
from .expr import Expr, Number, Part, number
from .expr_builders import swap, to_network
from .types import Int, Type, is_network, raw


class Value(Part):
    """An expression of `width` bits. `given`: a condition under which there is a value at all (None
    for always)."""

    expr: Expr
    width: int
    given: Expr | None = None

    @property
    def raw(self) -> bool:
        """Whether it is whole bytes as they stand in the packet, not yet in host order."""
        return is_network(self.expr.type)

    @property
    def size(self) -> int:
        """Bytes of the integer that holds it."""
        return bytes_of(self.width)

    @property
    def is_known(self) -> bool:
        """Whether it is known when the program is compiled."""
        return isinstance(self.expr, Number)

    @property
    def stored(self) -> Type:
        """The type of a variable that holds it."""
        return raw(self.size * 8) if self.raw else Int(self.size * 8)

    def host(self) -> Expr:
        return swap(self.expr) if self.raw else self.expr

    def network_of(self, size: int) -> Expr:
        """As a number of `size` bytes stands in a packet."""
        if self.raw and self.width == size * 8:
            return self.expr
        return to_network(self.host(), size * 8)

    def network(self) -> Expr:
        """As it must stand in a packet of `size` bytes."""
        return self.expr if self.raw else to_network(self.expr, self.size * 8)

    def holding(self, made: Expr) -> Value:
        """The same value, to be had by another expression."""
        return replace(self, expr=made)


def constant(value: int, width: int) -> Value:
    return Value(number(value), width)
