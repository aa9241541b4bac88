"""A header's fields in its octets, and the Internet checksum."""

from __future__ import annotations

from ..model import Field, Header

Value = int | bytes


class Octets:
    """The octets of one header and where its fields are in them. Not to be changed. `data` may be
    shorter than the whole header while that is being parsed; a field beyond it reads None."""

    __slots__ = ("_number", "_starts", "data", "header")

    def __init__(self, header: Header, data: bytes) -> None:
        self.header = header
        self.data = data
        self._number = int.from_bytes(data, "big")
        self._starts: dict[str, int] | None = None

    @property
    def starts(self) -> dict[str, int]:
        """Bit at which each present optional group starts, by its flag; "" is the end of them."""
        if self._starts is None:
            self._starts, at = {}, self.header.fixed
            for group in self.header.groups:
                if self._bits(self.header.field(group.flag).offset, 1):
                    self._starts[group.flag] = at
                    at += group.width
            self._starts[""] = at
        return self._starts

    @property
    def sum_of_parts(self) -> int:
        """Octets of the fixed part and the groups that are present."""
        return self.starts[""] // 8

    def get(self, name: str) -> Value | None:
        """A field's value: bytes for `bytes[rest]`; None where its group is absent."""
        return self.get_field(self.header.field(name))

    def get_field(self, field: Field) -> Value | None:
        at = self.offset(field)
        if at is None or at + field.width > len(self.data) * 8:
            return None
        return self._bits(at, field.width) if field.width else self.data[at // 8 :]

    def number(self, name: str) -> int:
        """A field's value as a number; 0 where its group is absent."""
        value = self.get(name)
        return int.from_bytes(value, "big") if isinstance(value, bytes) else value or 0

    def offset(self, field: Field) -> int | None:
        """Bits from the start of the header; None where the field's group is absent."""
        if field.group is None:
            return field.offset if field.width else self.starts[""]
        start = self.starts.get(field.group)
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
    """Ones' complement sum of the 16-bit words, an odd octet padded with zero (RFC 1071)."""
    if len(data) % 2:
        data += b"\0"
    total = int.from_bytes(data, "big")
    # 2^16 = 1 modulo 0xffff, so the words' sum is the number itself; 0 only of zeros.
    return (total - 1) % 0xFFFF + 1 if total else 0


def checksum(data: bytes) -> int:
    """The Internet checksum of `data` (its own field zero)."""
    return ones_sum(data) ^ 0xFFFF


def updated(old_sum: int, old: bytes, new: bytes) -> int:
    """The checksum after aligned octets went from `old` to `new` (RFC 1624 equation 3)."""
    total = (old_sum ^ 0xFFFF) + (ones_sum(old) ^ 0xFFFF) + ones_sum(new)
    return ((total - 1) % 0xFFFF + 1 if total else 0) ^ 0xFFFF
