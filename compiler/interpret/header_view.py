"""A header's fields in its bytes, and the Internet checksum."""

from __future__ import annotations

from ...lang.contract.base.domain_names import bytes_of_name
from ..model import TAIL, Expr, Field, Group, Header, NameBytes, Own
from .evaluate import evaluate
from .walk_options import BadOptions, starts_of

#: Of a field: a number, bytes (`bytes[rest]`), or the elements of an array.
Value = int | bytes | tuple[int, ...]


class HeaderView:
    """The bytes of one header and where its fields are in them. Not to be changed. `data` may be
    shorter than the whole header while that is being parsed; a field beyond it reads None."""

    __slots__ = ("_number", "_options", "_starts", "data", "header")

    def __init__(self, header: Header, data: bytes) -> None:
        self.header = header
        self.data = data
        self._number = int.from_bytes(data, "big")
        self._starts: dict[str, int] | None = None
        self._options: dict[str, int] | None = None

    @property
    def starts(self) -> dict[str, int]:
        """Bit at which each present group starts, by its name; "" is the end of them, but for the
        tail, which ends with the data."""
        if self._starts is None:
            self._starts, at = {}, self.header.fixed
            for group in self.header.groups:
                if group.name == TAIL:
                    self._starts[TAIL] = len(self.data) * 8 - group.width
                elif not group.flags or any(map(self.number, group.flags)):
                    self._starts[group.name] = at
                    at += group.width * self.count(group)
            self._starts[""] = at
        return self._starts

    @property
    def options(self) -> dict[str, int]:
        """Bit at which each option starts that the header has, by its name. Raises `BadOptions`."""
        if self._options is None:
            self._options = {}
            options, begin = self.header.options, self.starts[""] // 8
            if options is not None:
                end = len(self.data) - self.header.tail // 8
                if options.within is not None:
                    within = evaluate(options.within, self.own)
                    if within > end - begin:
                        raise BadOptions
                    end = begin + within
                found = starts_of(options, self.data, begin, end)
                self._options = {name: at * 8 for name, at in found.items()}
        return self._options

    def count(self, group: Group) -> int:
        """Elements of an array; 1 of any other group."""
        if group.count is None:
            return 1
        return evaluate(group.count, self.own)

    def own(self, expr: Expr) -> int:
        """What a clause of the header reads."""
        if isinstance(expr, NameBytes):
            return bytes_of_name(self.data[expr.at :])
        assert isinstance(expr, Own), expr
        return self.number(expr.field)

    @property
    def sum_of_parts(self) -> int:
        """Bytes of the fixed part and the groups that are present."""
        return (self.starts[""] + self.header.tail) // 8

    def get(self, name: str) -> Value | None:
        """A field's value; None where its group is absent."""
        return self.get_field(self.header.field(name))

    def get_field(self, field: Field) -> Value | None:
        at, array = self.offset(field), self.header.array(field)
        option = self.header.option(field.group) if field.kind == "text" else None
        count = self.count(array) if array else self.number(option.text) if option else 1
        if at is None or at + field.width * count > len(self.data) * 8:
            return None
        if array is not None or option is not None:
            return tuple(self._bits(at + field.width * i, field.width) for i in range(count))
        if not field.width:
            return self.data[at // 8 : len(self.data) - self.header.tail // 8]
        return self._bits(at, field.width)

    def number(self, name: str) -> int:
        """A field's value as a number; 0 where its group is absent."""
        value = self.get(name)
        if isinstance(value, bytes):
            return int.from_bytes(value, "big")
        return value if isinstance(value, int) else 0

    def element(self, name: str, index: int) -> int:
        """An element of an array; 0 beyond its end."""
        value = self.get(name)
        return value[index] if isinstance(value, tuple) and index < len(value) else 0

    def offset(self, field: Field) -> int | None:
        """Bits from the start of the header; None where the field's group is absent."""
        if field.group is None:
            return field.offset if field.width else self.starts[""]
        of = self.options if self.header.option(field.group) else self.starts
        start = of.get(field.group)
        return None if start is None else start + field.offset

    @property
    def fields(self) -> dict[str, Value]:
        """Every named field that is present, in the header's order."""
        found = {}
        for field in self.header.fields:
            value = None if field.name.startswith("_") else self.get_field(field)
            if value is not None:
                found[field.name] = value
        return found

    def _bits(self, offset: int, width: int) -> int:
        return (self._number >> (len(self.data) * 8 - offset - width)) & ((1 << width) - 1)


def put(data: bytes, offset: int, width: int, value: int) -> bytes:
    """`data` with the `width` bits at bit `offset` replaced."""
    shift = len(data) * 8 - offset - width
    mask = ((1 << width) - 1) << shift
    number = int.from_bytes(data, "big") & ~mask | (value << shift) & mask
    return number.to_bytes(len(data), "big")


def ones_sum(data: bytes) -> int:
    """Ones' complement sum of the 16-bit words, an odd byte padded with zero (RFC 1071)."""
    if len(data) % 2:
        data += b"\0"
    total = int.from_bytes(data, "big")
    # 2^16 = 1 modulo 0xffff, so the words' sum is the number itself; 0 only of zeros.
    return (total - 1) % 0xFFFF + 1 if total else 0


def checksum(data: bytes) -> int:
    """The Internet checksum of `data` (its own field zero)."""
    return ones_sum(data) ^ 0xFFFF


def updated(old_sum: int, old: bytes, new: bytes) -> int:
    """The checksum after aligned bytes went from `old` to `new` (RFC 1624 equation 3)."""
    total = (old_sum ^ 0xFFFF) + (ones_sum(old) ^ 0xFFFF) + ones_sum(new)
    return ((total - 1) % 0xFFFF + 1 if total else 0) ^ 0xFFFF


def followed(old_sum: int, old: bytes, new: bytes) -> int:
    """The checksum after aligned words went from `old` to `new` (RFC 1624 equation 3); a last byte
    alone counts as padded with zero."""
    odd = bytes(len(old) % 2)
    old, new = old + odd, new + odd
    words = zip(old[::2], old[1::2], strict=True), zip(new[::2], new[1::2], strict=True)
    before, after = ([high << 8 | low for high, low in each] for each in words)
    total = (old_sum ^ 0xFFFF) + sum(w ^ 0xFFFF for w in before) + sum(after)
    return ((total - 1) % 0xFFFF + 1 if total else 0) ^ 0xFFFF


def is_fragment(ip: HeaderView) -> bool:
    """More fragments to come, or not the first (RFC 791, RFC 8200 section 4.5). What is both first
    and last is none (RFC 6946)."""
    return bool(ip.number("more_fragments") or ip.number("fragment_offset"))
