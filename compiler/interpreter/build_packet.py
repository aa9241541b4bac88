"""Headers written from values: what a `push` writes, what a packet test describes.

Lengths and checksums are derived, optional groups are there if one of their fields is given.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from ..model import Arithmetic, Derived, Expr, Field, Header, Own
from ..sums import UPPER_LAYER
from .evaluate import evaluate
from .octets import Octets, Value, checksum, put


@dataclass(frozen=True, eq=False)
class Heading:
    """A header to be written. `name`: its node's. `values`: as given, by field; `writes`: what the
    edge to the next header says. Fields in neither take their defaults; without one they are 0.
    `computed`: checksums that are asked for, so that their group is there."""

    name: str
    header: Header
    values: Mapping[str, Value]
    writes: tuple[tuple[str, int], ...] = ()
    computed: tuple[str, ...] = ()

    @cached_property
    def plain(self) -> bytes:
        """Its octets with the derived fields still zero (unless they were given)."""
        return _plain(self)

    @property
    def size(self) -> int:
        return len(self.plain)

    def derived(self, what: str) -> list[tuple[Field, Derived]]:
        """The fields of this sort that are present and were not given."""
        there = Octets(self.header, self.plain)
        return [
            (field, field.default)
            for field in self.header.fields
            if isinstance(field.default, Derived)
            and field.default.what == what
            and field.name not in self.values
            and there.offset(field) is not None
        ]


def build(headings: Sequence[Heading], content: bytes) -> bytes:
    """The headings' octets, outermost first, in front of `content`, which they describe. The
    content is not returned with them."""
    lengths = [h.size for h in headings]
    finished = b""
    for i in reversed(range(len(headings))):
        heading = headings[i]
        data = heading.plain
        behind = sum(lengths[i + 1 :]) + len(content)
        for field, derived in heading.derived("length"):
            value = (len(data) if "header" in derived.over else 0) + behind
            data = _with(heading, data, field, value)
        for field, derived in heading.derived("checksum"):
            covered = data if "header" in derived.over else b""
            covered += finished + content if "payload" in derived.over else b""
            if "pseudo" in derived.over:
                covered = _pseudo(headings[:i], heading, len(covered)) + covered
            data = _with(heading, data, field, _checksum(heading, covered))
        finished = data + finished
    return finished


def _with(heading: Heading, data: bytes, field: Field, value: int) -> bytes:
    at = Octets(heading.header, data).offset(field)
    assert at is not None
    return put(data, at, field.width, value)


def _checksum(heading: Heading, covered: bytes) -> int:
    total = checksum(covered)
    return 0xFFFF if heading.header.protocol == "udp" and total == 0 else total  # RFC 768


def _pseudo(outer: Sequence[Heading], covered: Heading, length: int) -> bytes:
    """The pseudo header of the nearest IP header in front (RFC 9293 section 3.1, RFC 8200 section
    8.1: there it names the upper layer, whatever extension headers lie between)."""
    for heading in reversed(outer):
        ip = Octets(heading.header, heading.plain)
        if heading.header.protocol == "ipv4":
            addresses = ip.number("src") << 32 | ip.number("dst")
            tail = ip.number("protocol") << 16 | length & 0xFFFF
            return addresses.to_bytes(8, "big") + tail.to_bytes(4, "big")
        if heading.header.protocol == "ipv6":
            addresses = ip.number("src") << 128 | ip.number("dst")
            upper = UPPER_LAYER.get(covered.header.protocol, ip.number("next_header"))
            return addresses.to_bytes(32, "big") + (length << 32 | upper).to_bytes(8, "big")
    return b""


# ---- one header -----------------------------------------------------------------------------


def _plain(heading: Heading) -> bytes:
    header = heading.header
    given = {name: v for name, v in heading.values.items() if isinstance(v, int)}
    groups = {g.flag for g in header.groups if _has_group(heading, g.flag)}
    values = _defaults(header) | dict(heading.writes) | dict.fromkeys(groups, 1) | given
    rest = _rest(heading)
    size_field, size_value, size = _size(heading, values, groups, len(rest))
    if size_field:
        values[size_field] = size_value
    at = header.fixed
    bases: dict[str | None, int] = {None: 0}
    for group in header.groups:
        if group.flag in groups:
            bases[group.flag] = at
            at += group.width
    number = 0
    for field in header.fields:  # a part comes after its whole, and wins where it was given
        if field.name in values and field.width and field.group in bases:
            offset = bases[field.group] + field.offset
            shift = size * 8 - offset - field.width
            mask = ((1 << field.width) - 1) << shift
            number = number & ~mask | (values[field.name] << shift) & mask
    tail = rest.ljust(size - at // 8, b"\0")
    number |= int.from_bytes(tail[: size - at // 8], "big")
    return number.to_bytes(size, "big")


def _has_group(heading: Heading, flag: str) -> bool:
    if flag in heading.values:
        return bool(heading.values[flag])
    told = heading.values.keys() | set(heading.computed)
    return any(f.group == flag and f.name in told for f in heading.header.fields)


def _defaults(header: Header) -> dict[str, int]:
    return {f.name: f.default for f in header.fields if isinstance(f.default, int)}


def _rest(heading: Heading) -> bytes:
    return next((v for v in heading.values.values() if isinstance(v, bytes)), b"")


def _size(
    heading: Heading, values: Mapping[str, int], groups: set[str], rest: int
) -> tuple[str, int, int]:
    """The field that says the size, its value, and the octets to write. A size that was given
    is kept even if it lies."""
    header = heading.header
    plain = (header.fixed + sum(g.width for g in header.groups if g.flag in groups)) // 8
    if header.size is None:
        return "", 0, plain + rest
    name = _size_field(header.size)
    if not name or name in heading.values:
        return "", 0, plain + rest
    for value in range(1 << header.field(name).width):
        tried = {**values, name: value}
        said = evaluate(header.size, lambda e, tried=tried: _own(e, tried))  # type: ignore[misc]
        if plain + rest <= said < 1 << 17:
            return name, value, said
    return "", 0, plain + rest


def _own(expr: Expr, values: Mapping[str, int]) -> int:
    assert isinstance(expr, Own)
    return values.get(expr.field, 0)


def _size_field(expr: Expr) -> str:
    """The first field that a size clause reads."""
    if isinstance(expr, Own):
        return expr.field
    if isinstance(expr, Arithmetic):
        return _size_field(expr.left) or _size_field(expr.right)
    return ""
