"""Headers written in front of a packet: field values to stores, lengths and checksums derived."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..lowered import Writer
from ..model import Derived, Field, Header
from .values import SWAP, Value


@dataclass(frozen=True)
class HeaderOut:
    """A header to be written: `given` are values by field, `writes` what the edge to the next
    header says. Fields not named take their defaults."""

    node: str
    header: Header
    given: dict[str, Value]
    writes: tuple[tuple[str, int], ...]

    @property
    def variable(self) -> bool:
        return any(self._condition(g.flag) not in ("0", "1") for g in self.header.groups)

    def size_text(self) -> str:
        """C text of its octets."""
        parts = [str(self.header.fixed // 8)]
        for group in self.header.groups:
            c = self._condition(group.flag)
            octets = group.width // 8
            if c != "0":
                parts.append(str(octets) if c == "1" else f"({c} ? {octets} : 0)")
        return " + ".join(parts)

    def _condition(self, flag: str) -> str:
        """C text of whether a group is written: if one of its fields is given a value."""
        given = [
            self.given[f.name]
            for f in self.header.fields
            if f.group == flag and f.name in self.given
        ]
        if not given:
            return "0"
        return "1" if any(not v.given for v in given) else " | ".join(v.given for v in given)

    def value_of(self, f: Field) -> Value | None:
        """The value of a field of the fixed part; None where it is derived later."""
        if f.name in self.given:
            return self.given[f.name]
        if any(g.flag == f.name for g in self.header.groups):
            return Value(self._condition(f.name), 1)
        for name, number in self.writes:
            if name == f.name:
                return Value(f"{number:#x}", f.width)
        if isinstance(f.default, Derived):
            return None
        return Value(f"{f.default or 0:#x}", f.width)


def put_headers(
    w: Writer,
    headers: tuple[HeaderOut, ...],
    start: int,
    extent: str,
    damaged: Callable[[], None],
) -> None:
    """Write headers one behind the other from octet `start` of `data`. `extent` is C text of the
    octets that follow the last one. The caller has checked all up to the fixed part of the first
    variable one."""
    constant = True
    base = str(start)
    for i, out in enumerate(headers):
        name = w.fresh(out.node)
        behind = [h.size_text() for h in headers[i + 1 :]]
        w.put(f"void *{name} = data + {base};")
        if not constant:
            with w.nest(f"if ({name} + {out.header.fixed // 8} > end) {{"):
                damaged()
        _put_header(w, out, name, " + ".join([extent, *behind]), damaged)
        constant = constant and not out.variable
        base = f"{base} + {out.size_text()}"


def _put_header(
    w: Writer, out: HeaderOut, pointer: str, payload: str, damaged: Callable[[], None]
) -> None:
    units = [_unit(w, out, unit, payload) for unit in _units(out.header)]
    summed = [u for u in units if u.text]
    for u in summed:
        w.put(f"PUT{u.octets * 8}({pointer}, {u.at}, {u.text});")
    for f in out.header.fields:
        if isinstance(f.default, Derived) and f.default.what == "checksum" and f.group is None:
            total = " + ".join(s for u in summed for s in u.words())
            w.put(f"PUT16({pointer}, {f.offset // 8}, fold({total}));")
    at = str(out.header.fixed // 8)
    for group in out.header.groups:
        condition = out._condition(group.flag)
        if condition == "0":
            continue
        octets = group.width // 8
        where = w.fresh("group")
        with w.nest(f"if ({condition}) {{"):
            w.put(f"void *{where} = {pointer} + {at};")
            with w.nest(f"if ({where} + {octets} > end) {{"):
                damaged()
            for f in out.header.fields:
                if f.group == group.flag and f.width:
                    v = out.given.get(f.name) or Value(f"{f.default or 0}", f.width)
                    w.put(f"PUT{f.width}({where}, {f.offset // 8}, {v.network()});")
        at = f"{at} + {octets}" if condition == "1" else f"{at} + ({condition} ? {octets} : 0)"


@dataclass(frozen=True)
class _Unit:
    """Whole octets to store: `text` as it stands in the packet; empty for a checksum."""

    at: int
    octets: int
    text: str

    def words(self) -> list[str]:
        """Its 16-bit words for a checksum over the header."""
        if self.octets == 1:
            return [f"((u64)(u8)({self.text}){' << 8' if self.at % 2 else ''})"]
        if self.octets == 2:
            return [f"(u64)(u16)({self.text})"]
        return [f"(u64)(u32)({self.text})"]


def _units(header: Header) -> list[tuple[int, int, list[Field]]]:
    """Fields of the fixed part that share octets, together: (offset, octets, fields)."""
    whole = [f for f in header.fields if f.group is None and f.part_of is None and f.width]
    units: list[tuple[int, int, list[Field]]] = []
    pending: list[Field] = []
    for f in sorted(whole, key=lambda f: f.offset):
        pending.append(f)
        if (f.offset + f.width) % 8 == 0:
            first = pending[0].offset // 8
            units.append((first, (f.offset + f.width) // 8 - first, pending))
            pending = []
    return units


def _unit(w: Writer, out: HeaderOut, unit: tuple[int, int, list[Field]], payload: str) -> _Unit:
    at, octets, fields = unit
    if len(fields) == 1 and not _parts(out, fields[0]):
        f = fields[0]
        v = out.value_of(f)
        if v is None:
            assert isinstance(f.default, Derived)
            if f.default.what == "checksum":
                return _Unit(at, octets, "")
            own = f"{out.size_text()} + " if "header" in f.default.over else ""
            v = Value(f"(u16)({own}{payload})", f.width)
        return _Unit(at, octets, v.network())
    parts = []
    for f in fields:
        shift = (at + octets) * 8 - f.offset - f.width
        for piece, piece_shift in _pieces(out, f):
            moved = shift + piece_shift
            if piece not in ("0", "0x0"):
                parts.append(f"(u{octets * 8})({piece}) << {moved}" if moved else piece)
    text = " | ".join(parts) or "0"
    return _Unit(at, octets, f"{SWAP[octets]}({text})" if octets > 1 else f"({text})")


def _parts(out: HeaderOut, f: Field) -> list[Field]:
    """Parts of a divided field that are given on their own, where the whole is not."""
    if f.name in out.given:
        return []
    return [p for p in out.header.fields if p.part_of == f.name and p.name in out.given]


def _pieces(out: HeaderOut, f: Field) -> list[tuple[str, int]]:
    """(C text in host order, shift within the field)."""
    parts = _parts(out, f)
    if not parts:
        v = out.value_of(f)
        return [(v.host() if v else "0", 0)]
    end = f.offset + f.width
    pieces = [(out.given[p.name].host(), end - p.offset - p.width) for p in parts]
    if isinstance(f.default, int):
        kept = f.default
        for p in parts:
            kept &= ~(((1 << p.width) - 1) << (end - p.offset - p.width))
        pieces.append((f"{kept:#x}", 0))
    return pieces
