"""Values: numbers, and fields where a pointer says that their header starts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from ...lang.contract.base.lists import octets_of
from ..ir.expr import Cast, Expr, bits_joined, load, low_bits, number, swap, to_network
from ..ir.types import U64, U128, is_network
from ..model import Field

#: Bytes of the integers that C has.
SIZES = (1, 2, 4, 8, 16)


@dataclass(frozen=True)
class Value:
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
    def octets(self) -> int:
        return octets_of(self.width)

    def host(self) -> Expr:
        return swap(self.expr) if self.raw else self.expr

    def network_of(self, octets: int) -> Expr:
        """As a number of `octets` octets stands in a packet."""
        if self.raw and self.width == octets * 8:
            return self.expr
        return to_network(self.host(), octets * 8)

    def network(self) -> Expr:
        """As it must stand in a packet of `octets` octets."""
        return self.expr if self.raw else to_network(self.expr, self.octets * 8)

    def holding(self, made: Expr) -> Value:
        """The same value, to be had by another expression."""
        return replace(self, expr=made)


def constant(value: int, width: int) -> Value:
    return Value(number(value), width)


def field_value(pointer: Expr, f: Field, base: int = 0) -> Value:
    """A field of the fixed part (or, with `base`, of a group that starts there)."""
    start = base * 8 + f.offset
    first, last = start // 8, (start + f.width - 1) // 8
    size, shift = last - first + 1, (last + 1) * 8 - (start + f.width)
    if size in SIZES and f.width == size * 8:
        return Value(load(pointer, first, f.width), f.width)
    whole = container(pointer, first, size)
    if f.width == size * 8:  # octets that no integer of C has
        return Value(whole, f.width)
    return Value(low_bits(whole >> shift, f.width), f.width)


def pieces(octets: int, at: int = 0, most: int = 8) -> Iterator[tuple[int, int]]:
    """(octet, octets) of the integers that so many octets are moved by: none has more than `most`,
    or lies across such a word of an array in which they start at octet `at`."""
    done = 0
    while done < octets:
        left, room = octets - done, most - (at + done) % most
        size = next(n for n in (16, 8, 4, 2, 1) if n <= min(left, room))
        yield done, size
        done += size


def container(pointer: Expr, first: int, size: int) -> Expr:
    """`size` octets at `first` as a number in host order."""
    parts = []
    for at, piece in pieces(size):
        part = swap(load(pointer, first + at, piece * 8))
        left = (size - at - piece) * 8
        parts.append(Cast(U128 if size > 8 else U64, part) << left if left else part)
    return bits_joined(parts)
