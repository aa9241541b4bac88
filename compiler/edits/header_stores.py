"""The fields of a header that is written, as stores."""

from __future__ import annotations

from ..headers.stores import Store, joined_stores
from ..ir.expr import Cast, Expr
from ..ir.expr_builders import total
from ..ir.types import U16
from ..ir.values import Value
from ..model import Derived, Field
from .header_out import HeaderOut


def stores(out: HeaderOut, group: str | None, payload: Expr) -> list[Store]:
    """The stores of the fixed part (`group` None) or of an optional group, but for a checksum that
    `put_headers` sums up. `payload`: the bytes behind the header."""
    found = []
    for at, size, fields in _units(out, group):
        if any(out.own_sum(f) for f in fields):
            continue
        found += _unit(out, at, size, fields, payload)
    return found


def _units(out: HeaderOut, group: str | None) -> list[tuple[int, int, list[Field]]]:
    """Fields that share bytes, together: (offset, bytes, fields)."""
    whole = [f for f in out.header.fields if f.group == group and f.part_of is None and f.width]
    units: list[tuple[int, int, list[Field]]] = []
    pending: list[Field] = []
    for f in sorted(whole, key=lambda f: f.offset):
        pending.append(f)
        if (f.offset + f.width) % 8 == 0:
            first = pending[0].offset // 8
            units.append((first, (f.offset + f.width) // 8 - first, pending))
            pending = []
    return units


def _unit(out: HeaderOut, at: int, size: int, fields: list[Field], payload: Expr) -> list[Store]:
    only = fields[0] if len(fields) == 1 else None
    if only is not None and not _own_parts(out, only):
        value = _value(out, only, payload)
        if value.raw and value.width == only.width == size * 8:
            return [Store(at, size, value.expr)]
    bits = [bit for f in fields for bit in _bits(out, f, (at + size) * 8, payload)]
    return joined_stores(at, size, bits)


def _bits(out: HeaderOut, f: Field, end: int, payload: Expr) -> list[tuple[Value, int, int]]:
    """(value, mask, shift) of a field and of its parts with a value of their own, `end`
    being the bit behind the unit."""
    parts = _own_parts(out, f)
    shift = end - f.offset - f.width
    kept = (1 << f.width) - 1
    found = []
    for p in parts:
        at = f.offset + f.width - p.offset - p.width
        ones = (1 << p.width) - 1
        kept &= ~(ones << at)
        found.append((_value(out, p, payload), ones, shift + at))
    if kept:
        found.append((_value(out, f, payload), kept, shift))
    return found


def _own_parts(out: HeaderOut, f: Field) -> list[Field]:
    """Parts of a divided field that have a value of their own: by default where the whole has none
    that was given."""
    named = out.given.keys() | {name for name, _ in out.writes} | out.header.flags
    parts = (p for p in out.header.fields if p.part_of == f.name)
    return [
        p for p in parts
        if p.name in named or (f.name not in named and p.default is not None)
    ]  # fmt: skip


def _value(out: HeaderOut, f: Field, payload: Expr) -> Value:
    value = out.value_of(f)
    if value is not None:
        return value
    assert isinstance(f.default, Derived)
    own = [out.size()] if "header" in f.default.over else []
    length = total([*own, payload, f.default.plus or 0])
    return Value(Cast(U16, length), f.width)
