"""Fields, where a pointer says that their header starts."""

from __future__ import annotations

from collections.abc import Iterator

from ..ir.expr import Cast, Expr, load
from ..ir.expr_builders import bits_joined, low_bits, swap
from ..ir.types import U64, U128
from ..ir.values import Value
from ..model import Field

#: Bytes of the integers that C has.
SIZES = (1, 2, 4, 8, 16)


def field_value(pointer: Expr, f: Field, base: int = 0) -> Value:
    """A field of the fixed part (or, with `base`, of a group that starts there)."""
    start = base * 8 + f.offset
    first, last = start // 8, (start + f.width - 1) // 8
    size, shift = last - first + 1, (last + 1) * 8 - (start + f.width)
    if size in SIZES and f.width == size * 8:
        return Value(load(pointer, first, f.width), f.width)
    whole = container(pointer, first, size)
    if f.width == size * 8:  # bytes that no integer of C has
        return Value(whole, f.width)
    return Value(low_bits(whole >> shift, f.width), f.width)


def pieces(count: int, at: int = 0, most: int = 8) -> Iterator[tuple[int, int]]:
    """(byte, bytes) of the integers that so many bytes are moved by: none has more than `most`,
    or lies across such a word of an array in which they start at byte `at`."""
    done = 0
    while done < count:
        left, room = count - done, most - (at + done) % most
        size = next(n for n in (16, 8, 4, 2, 1) if n <= min(left, room))
        yield done, size
        done += size


def container(pointer: Expr, first: int, size: int) -> Expr:
    """`size` bytes at `first` as a number in host order."""
    parts = []
    for at, piece in pieces(size):
        part = swap(load(pointer, first + at, piece * 8))
        left = (size - at - piece) * 8
        parts.append(Cast(U128 if size > 8 else U64, part) << left if left else part)
    return bits_joined(parts)
