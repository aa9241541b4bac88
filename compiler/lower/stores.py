"""Fields of a header as stores of 1, 2, 4, 8 or 16 octets, in the packet's order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...lang.text.frozen import Frozen
from ..model import Derived, Field, Header
from .fields import SWAP, Value, constant, container, pieces

if TYPE_CHECKING:
    from .headers_out import HeaderOut
    from .lowered import Writer


class Store(Frozen):
    """`octets` (1, 2, 4, 8 or 16) at octet `at`; `text` is C, as it stands in the packet."""

    at: int
    octets: int
    text: str

    def words(self) -> list[str]:
        """Its 16-bit words, for a checksum over the header."""
        odd = " << 8" if self.at % 2 else ""
        if self.octets > 4:
            parts = range(0, self.octets * 8, 32)
            return [f"((u64)(u32)(({self.text}) >> {shift}){odd})" for shift in parts]
        return [f"((u64)(u{self.octets * 8})({self.text}){odd})"]

    def into(self, key: str) -> str:
        """The statement that puts it into an array of 64-bit words of that C name."""
        shift = self.at % 8 * 8
        moved = f"(u64){self.text} << {shift}" if shift else f"(u64){self.text}"
        return f"{key}[{self.at // 8}] |= {moved};"


def stores(out: HeaderOut, group: str | None, payload: str) -> list[Store]:
    """The stores of the fixed part (`group` None) or of an optional group, but for a checksum that
    `put_headers` sums up. `payload` is C text of the octets behind the header."""
    found = []
    for at, octets, fields in _units(out, group):
        if any(out.own_sum(f) for f in fields):
            continue
        found += _unit(out, at, octets, fields, payload)
    return found


def _units(out: HeaderOut, group: str | None) -> list[tuple[int, int, list[Field]]]:
    """Fields that share octets, together: (offset, octets, fields)."""
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


def _unit(out: HeaderOut, at: int, octets: int, fields: list[Field], payload: str) -> list[Store]:
    only = fields[0] if len(fields) == 1 else None
    if only is not None and not _told_parts(out, only):
        value = _value(out, only, payload)
        if value.raw and value.width == only.width == octets * 8:
            return [Store(at, octets, value.text)]
    bits = [bit for f in fields for bit in _bits(out, f, (at + octets) * 8, payload)]
    return _parts(at, octets, bits)


def _split(at: int, octets: int, number: str) -> list[Store]:
    """A number of up to 64 bits in host order as stores, its most significant octets first."""
    return _parts(at, octets, [(Value(number, octets * 8), (1 << octets * 8) - 1, 0)])


def _parts(at: int, octets: int, bits: list[tuple[Value, int, int]]) -> list[Store]:
    """Stores of octets that no integer of C has, each of the bits that lie in it."""
    found = []
    for done, size in pieces(octets, most=16 if octets == 16 else 8):
        low, full = (octets - done - size) * 8, (1 << size * 8) - 1
        here = [(v, m, s - low) for v, m, s in bits if _meets(m, s - low, size * 8)]
        number = f"(u{size * 8})({_joined(here, full)})" if size < octets else _joined(here, full)
        text = f"{SWAP[size]}({number})" if size > 1 else number
        found.append(Store(at + done, size, text))
    return found


def _meets(mask: int, shift: int, width: int) -> bool:
    return shift < width and shift + mask.bit_length() > 0


def _joined(bits: list[tuple[Value, int, int]], full: int) -> str:
    """A number of the bits of `full`, in host order; a negative shift is one to the right."""
    whole, texts = 0, []
    for v, mask, shift in bits:
        if is_known(v):
            number = int(v.text, 0) & mask
            whole |= (number << shift if shift >= 0 else number >> -shift) & full
        else:
            texts.append(_moved(v, mask, shift))
    if whole or not texts:
        texts.append(constant(whole, 1).text if whole >> 64 else f"{whole:#x}")
    return " | ".join(texts)


def put_value(w: Writer, pointer: str, f: Field, value: Value) -> None:
    """Write a field of the fixed part of a header that is there; its neighbours stay."""
    first, last = f.offset // 8, (f.offset + f.width - 1) // 8
    octets, end = last + 1 - first, (last + 1) * 8
    if f.width == octets * 8 == value.width and value.raw:
        stored = [Store(first, octets, value.text)]
    elif f.width == octets * 8:
        stored = _split(first, octets, value.host())
    else:
        shift, ones = end - f.offset - f.width, (1 << f.width) - 1
        kept = container(pointer, first, octets)
        mask = ((1 << octets * 8) - 1) & ~(ones << shift)
        number = f"((u64){kept} & {mask:#x}) | ((u64)({value.host()} & {ones:#x}) << {shift})"
        name = w.fresh("octets")
        w.put(f"u64 {name} = {number};")
        stored = _split(first, octets, name)
    for s in stored:
        w.put(f"PUT{s.octets * 8}({pointer}, {s.at}, {s.text});")


def put_summed(w: Writer, pointer: str, header: Header, field: Field, value: Value) -> str:
    """Write a field as `put_value` does; C name of by how much sums over it change (RFC 1624)."""
    covered, change = words_of(header, field), w.fresh("change")
    w.put(f"u64 {change} = {sum_of(pointer, covered, '~')};")
    put_value(w, pointer, field, value)
    w.put(f"{change} += {sum_of(pointer, covered, '')};")
    return change


def words_of(header: Header, field: Field) -> list[tuple[int, int]]:
    """(octet, octets) of the aligned words that a field lies in; of the last word of a header (or
    group) of an odd number of octets the one that is the header's."""
    behind = header.minimum if field.group is None else header.group(field.group).width // 8
    at, end = field.offset // 16 * 2, (field.offset + field.width + 15) // 16 * 2
    found = []
    while at < end:
        left = min(end, behind) - at
        size = 4 if left >= 4 else min(left, 2)
        found.append((at, size))
        at += max(size, 2)
    return found


def sum_of(pointer: str, pieces: list[tuple[int, int]], sign: str) -> str:
    """C text of a sum of words; with `~`, of their complements."""
    return " + ".join(
        f"(u64)(u{max(n, 2) * 8}){sign}RAW{n * 8}({pointer}, {at})" for at, n in pieces
    )


def placed(value: Value, at: int, octets: int, shift: int) -> list[Store]:
    """A value as stores into a key's `octets` octets from `at` on, its lowest bit at bit `shift` of
    them; none of the stores across a 64-bit word."""
    if value.raw and shift == 0 and value.width == octets * 8 and at % 8 + octets <= 8:
        return [Store(at, octets, value.text)]
    whole = "u128" if value.width > 64 else "u64"
    number = f"(({whole}){value.host()} << {shift})" if shift else f"({whole}){value.host()}"
    found = []
    for done, piece in pieces(octets, at):
        text = f"(u{piece * 8})({number} >> {(octets - done - piece) * 8})"
        found.append(Store(at + done, piece, f"{SWAP[piece]}({text})" if piece > 1 else text))
    return found


def is_known(value: Value) -> bool:
    return value.text.isdigit() or value.text.startswith("0x")


def _moved(value: Value, mask: int, shift: int) -> str:
    whole = mask == (1 << mask.bit_length()) - 1 and value.width <= mask.bit_length()
    text = value.host() if whole else f"({value.host()} & {mask:#x})"
    if shift < 0:  # perhaps by more bits than the type of the value has
        wide = "u128" if value.width > 64 else "u64"
        return f"(({wide}){text} >> {-shift})"
    wide = "u128" if shift + mask.bit_length() > 64 else "u64"
    return f"(({wide}){text} << {shift})" if shift else text


def _bits(out: HeaderOut, f: Field, end: int, payload: str) -> list[tuple[Value, int, int]]:
    """(value, mask, shift) of a field and of its parts that are told, `end` being the bit behind
    the unit."""
    parts = _told_parts(out, f)
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


def _told_parts(out: HeaderOut, f: Field) -> list[Field]:
    """Parts of a divided field that have a value of their own: by default where the whole has none
    that was told."""
    told = out.given.keys() | {name for name, _ in out.writes} | out.header.flags
    parts = (p for p in out.header.fields if p.part_of == f.name)
    return [
        p for p in parts
        if p.name in told or (f.name not in told and p.default is not None)
    ]  # fmt: skip


def _value(out: HeaderOut, f: Field, payload: str) -> Value:
    value = out.value_of(f)
    if value is not None:
        return value
    assert isinstance(f.default, Derived)
    own = f"{out.size_text()} + " if "header" in f.default.over else ""
    plus = f" + {f.default.plus}" if f.default.plus else ""
    return Value(f"(u16)({own}{payload}{plus})", f.width)
