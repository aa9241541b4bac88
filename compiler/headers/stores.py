"""Values as stores of 1, 2, 4, 8 or 16 bytes, in the packet's order."""

from __future__ import annotations

from ...lang.text.frozen import Frozen
from ..ir.builder import Builder
from ..ir.expr import Cast, Expr, Number, as_bytes, element, load, number
from ..ir.expr_builders import bits_joined, to_network, total
from ..ir.types import U16, U32, U64, U128, Int
from ..ir.values import Value
from ..model import Field, Header
from .fields import container, pieces


class Store(Frozen):
    """`size` bytes (1, 2, 4, 8 or 16) at byte `at`, as they stand in the packet."""

    at: int
    size: int
    value: Expr

    def words(self) -> list[Expr]:
        """Its 16-bit words, for a checksum over the header."""
        odd = 8 if self.at % 2 else 0
        if self.size > 4:
            parts = range(0, self.size * 8, 32)
            return [Cast(U64, Cast(U32, as_bytes(self.value) >> shift)) << odd for shift in parts]
        return [Cast(U64, Cast(Int(self.size * 8), self.value)) << odd]

    def put(self, w: Builder, pointer: Expr) -> None:
        """Store it behind a pointer."""
        w.store(pointer, self.at, self.size * 8, self.value)

    def into(self, w: Builder, key: Expr) -> None:
        """Put it into an array of 64-bit words, where there is 0 so far."""
        w.join(element(key, self.at // 8), Cast(U64, self.value) << self.at % 8 * 8)


def _split(at: int, size: int, value: Expr) -> list[Store]:
    """A number of up to 64 bits in host order as stores, its most significant bytes first."""
    return joined_stores(at, size, [(Value(value, size * 8), (1 << size * 8) - 1, 0)])


def joined_stores(at: int, size: int, bits: list[tuple[Value, int, int]]) -> list[Store]:
    """Stores of bytes that no integer of C has, each of the bits that lie in it."""
    found = []
    for done, piece in pieces(size, most=16 if size == 16 else 8):
        low, full = (size - done - piece) * 8, (1 << piece * 8) - 1
        here = [(v, m, s - low) for v, m, s in bits if _meets(m, s - low, piece * 8)]
        joined = _joined(here, full)
        if piece < size and not isinstance(joined, Number):
            joined = Cast(Int(piece * 8), joined)
        found.append(Store(at + done, piece, to_network(joined, piece * 8)))
    return found


def _meets(mask: int, shift: int, width: int) -> bool:
    return shift < width and shift + mask.bit_length() > 0


def _joined(bits: list[tuple[Value, int, int]], full: int) -> Expr:
    """A number of the bits of `full`, in host order; a negative shift is one to the right."""
    whole, parts = 0, list[Expr]()
    for v, mask, shift in bits:
        if isinstance(v.expr, Number):
            known = v.expr.value & mask
            whole |= (known << shift if shift >= 0 else known >> -shift) & full
        else:
            parts.append(_moved(v, mask, shift))
    return bits_joined([*parts, number(whole)]) if whole or not parts else bits_joined(parts)


def put_value(w: Builder, pointer: Expr, f: Field, value: Value) -> None:
    """Write a field of the fixed part of a header that is there; its neighbours stay."""
    first, last = f.offset // 8, (f.offset + f.width - 1) // 8
    size, end = last + 1 - first, (last + 1) * 8
    if f.width == size * 8 == value.width and value.raw:
        stored = [Store(first, size, value.expr)]
    elif f.width == size * 8:
        stored = _split(first, size, value.host())
    else:
        shift, ones = end - f.offset - f.width, (1 << f.width) - 1
        mask = ((1 << size * 8) - 1) & ~(ones << shift)
        kept = Cast(U64, container(pointer, first, size)) & mask
        new = Cast(U64, value.host() & ones) << shift
        stored = _split(first, size, w.local(U64, "joined", kept | new))
    for s in stored:
        s.put(w, pointer)


def put_summed(w: Builder, pointer: Expr, header: Header, field: Field, value: Value) -> Expr:
    """Write a field as `put_value` does. Returns by how much sums over it change (RFC 1624)."""
    covered = words_of(header, field)
    change = w.local(U64, "change", sum_of(pointer, covered, complement=True))
    put_value(w, pointer, field, value)
    w.add(change, sum_of(pointer, covered))
    return change


def words_of(header: Header, field: Field) -> list[tuple[int, int]]:
    """(byte, bytes) of the aligned words that a field lies in; of the last word of a header (or
    group) of an odd number of bytes the one that is the header's."""
    behind = header.minimum if field.group is None else header.group(field.group).width // 8
    at, end = field.offset // 16 * 2, (field.offset + field.width + 15) // 16 * 2
    found = []
    while at < end:
        left = min(end, behind) - at
        size = 4 if left >= 4 else min(left, 2)
        found.append((at, size))
        at += max(size, 2)
    return found


def sum_of(pointer: Expr, pieces: list[tuple[int, int]], complement: bool = False) -> Expr:
    """A sum of words, or of their complements."""

    def word(at: int, size: int) -> Expr:
        read = load(pointer, at, size * 8)
        return Cast(U64, Cast(U16 if size < 4 else U32, ~read if complement else read))

    return total(word(at, size) for at, size in pieces)


def placed(value: Value, at: int, size: int, shift: int) -> list[Store]:
    """A value as stores into a key's `size` bytes from `at` on, its lowest bit at bit `shift` of
    them; none of the stores across a 64-bit word."""
    if value.raw and shift == 0 and value.width == size * 8 and at % 8 + size <= 8:
        return [Store(at, size, value.expr)]
    whole = Cast(U128 if value.width > 64 else U64, value.host()) << shift
    found = []
    for done, piece in pieces(size, at):
        part = Cast(Int(piece * 8), whole >> (size - done - piece) * 8)
        found.append(Store(at + done, piece, to_network(part, piece * 8)))
    return found


def _moved(value: Value, mask: int, shift: int) -> Expr:
    whole = mask == (1 << mask.bit_length()) - 1 and value.width <= mask.bit_length()
    host = value.host() if whole else value.host() & mask
    if shift < 0:  # perhaps by more bits than the type of the value has
        return Cast(U128 if value.width > 64 else U64, host) >> -shift
    if not shift:
        return host
    return Cast(U128 if shift + mask.bit_length() > 64 else U64, host) << shift
