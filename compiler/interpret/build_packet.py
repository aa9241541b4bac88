"""Headers written from values: what a `push` writes, what a packet test describes.

Lengths and checksums are derived, optional groups are there if one of their fields is given.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from ..model import TAIL, Derived, Expr, Field, Group, Header, NameBytes, Own
from ..model.checksums import UPPER_LAYER
from ..model.header_sizes import first_field
from .evaluate import evaluate
from .header_view import HeaderView, Value, checksum, put


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
        """Its bytes with the derived fields still zero (unless they were given)."""
        return _plain(self)

    @property
    def size(self) -> int:
        return len(self.plain)

    def derived(self, what: str) -> list[tuple[Field, Derived]]:
        """The lengths or checksums that are present and were not given. A size that was given may
        leave no room for them."""
        there = HeaderView(self.header, self.plain)

        def is_there(field: Field) -> bool:
            at = there.offset(field)
            return at is not None and 0 <= at <= self.size * 8 - field.width

        return [
            (field, field.default)
            for field in self.header.fields
            if isinstance(field.default, Derived)
            and field.default.what == what
            and field.name not in self.values
            and is_there(field)
        ]


def build(headings: Sequence[Heading], content: bytes) -> bytes:
    """The headings' bytes, outermost first, in front of `content`, which they describe. The
    content is not returned with them."""
    lengths = [h.size for h in headings]
    finished = b""
    for i in reversed(range(len(headings))):
        heading = headings[i]
        data = heading.plain
        behind = sum(lengths[i + 1 :]) + len(content)
        for field, derived in heading.derived("length"):
            value = (len(data) if "header" in derived.over else 0) + behind + derived.plus
            data = _with(heading.header, data, field, value)
        outer = [HeaderView(h.header, h.plain) for h in headings[:i]]
        sums = heading.derived("checksum")
        data = with_sums(outer, HeaderView(heading.header, data), finished + content, sums)
        finished = data + finished
    return finished


def _with(header: Header, data: bytes, field: Field, value: int) -> bytes:
    at = HeaderView(header, data).offset(field)
    assert at is not None
    return put(data, at, field.width, value)


def with_sums(
    outer: Sequence[HeaderView],
    view: HeaderView,
    payload: bytes,
    sums: Sequence[tuple[Field, Derived]],
) -> bytes:
    """The header with these checksums computed, which it has, in the order of the declaration: each
    over those before it and over 0 in place of itself and those behind it."""
    header, data = view.header, view.data
    for field, _ in sums:
        data = _with(header, data, field, 0)
    for field, derived in sums:
        covered = data if "header" in derived.over else b""
        covered += payload if "payload" in derived.over else b""
        if "pseudo" in derived.over:
            covered = _pseudo_header(outer, header, len(covered)) + covered
        total = checksum(covered)
        if header.protocol == "udp" and not total:
            total = 0xFFFF  # RFC 768
        data = _with(header, data, field, total)
    return data


def _pseudo_header(outer: Sequence[HeaderView], covered: Header, length: int) -> bytes:
    """The pseudo header of the nearest IP header in front (RFC 9293 section 3.1, RFC 8200 section
    8.1). It names the upper layer, whatever extension headers lie between, and the last of the
    destinations where a segment routing header has further ones."""
    last = None
    for ip in reversed(outer):
        upper = UPPER_LAYER.get(covered.protocol)
        if ip.header.protocol == "srh" and ip.number("segments_left"):
            segments = ip.get("segments")
            last = segments[0] if isinstance(segments, tuple) and segments else last
        if ip.header.protocol == "ipv4":
            addresses = ip.number("src") << 32 | ip.number("dst")
            tail = (upper or ip.number("protocol")) << 16 | length & 0xFFFF
            return addresses.to_bytes(8, "big") + tail.to_bytes(4, "big")
        if ip.header.protocol == "ipv6":
            target = ip.number("dst") if last is None else last
            addresses = ip.number("src") << 128 | target
            tail = length << 32 | (upper or ip.number("next_header"))
            return addresses.to_bytes(32, "big") + tail.to_bytes(8, "big")
    return b""


# ---- one header -----------------------------------------------------------------------------


def _plain(heading: Heading) -> bytes:
    header, rest = heading.header, _rest(heading)
    values = _numbers(heading)
    groups = [g for g in header.groups if not g.flags or any(values.get(f) for f in g.flags)]
    for group in groups:
        values |= _counted(heading, group, values)
    plain = header.fixed // 8 + sum(_bytes_of(heading, group, values) for group in groups)
    sized, size = _size(heading, values, plain + len(rest))
    values |= sized
    starts, behind = _starts(heading, groups, values, size)
    number = 0
    for field in header.fields:  # a part comes after its whole, and wins where it was given
        if field.group in starts and field.width:
            given = heading.values.get(field.name)
            elements = given if isinstance(given, tuple) else (values.get(field.name),)
            for i, value in enumerate(elements):
                offset = starts[field.group] + field.offset + i * field.width
                shift = size * 8 - offset - field.width
                mask = ((1 << field.width) - 1) << shift
                if value is not None:
                    number = number & ~mask | (value << shift) & mask
    room = size - (behind + header.tail) // 8
    number |= int.from_bytes(rest.ljust(room, b"\0")[:room], "big") << header.tail
    return number.to_bytes(size, "big")


def _numbers(heading: Heading) -> dict[str, int]:
    """What is known of each field: as given, else a flag by what its group was given, else by the
    edge, else by default."""
    header = heading.header
    known = heading.values.keys() | set(heading.computed)
    wholes = known | dict(heading.writes).keys()
    defaults = {
        f.name: f.default for f in header.fields
        if isinstance(f.default, int) and f.part_of not in wholes
    }  # fmt: skip
    groups = {f.group for f in header.fields if f.name in known}
    alone = (g.flags[0] for g in header.groups if g.name in groups and len(g.flags) == 1)
    given = {name: v for name, v in heading.values.items() if isinstance(v, int)}
    return defaults | dict(heading.writes) | dict.fromkeys(alone, 1) | given


def _starts(
    heading: Heading, groups: Sequence[Group], values: Mapping[str, int], size: int
) -> tuple[dict[str | None, int], int]:
    """The bit at which each part of the header starts, and the one behind all but the tail."""
    starts: dict[str | None, int] = {None: 0}
    at = heading.header.fixed
    for group in groups:
        if group.name == TAIL:
            starts[TAIL] = size * 8 - group.width
        else:
            starts[group.name] = at
            at += _bytes_of(heading, group, values) * 8
    return starts, at


def _bytes_of(heading: Heading, group: Group, values: Mapping[str, int]) -> int:
    """Bytes of a group: of an array, by the elements given, else by its count."""
    count = 1
    if group.count is not None:
        given = _array(heading, group)
        count = _evaluated(group.count, values) if given is None else len(given)
    return group.width * count // 8


def _array(heading: Heading, group: Group) -> tuple[int, ...] | None:
    """The elements that are given."""
    names = (f.name for f in heading.header.fields if f.group == group.name)
    value = heading.values.get(next(names, ""))
    return value if isinstance(value, tuple) else None


def _rest(heading: Heading) -> bytes:
    return next((v for v in heading.values.values() if isinstance(v, bytes)), b"")


def _counted(heading: Heading, group: Group, values: Mapping[str, int]) -> dict[str, int]:
    """The field that says how many elements an array has, as it is for those that are given; 0
    where it cannot say so."""
    given = _array(heading, group)
    if group.count is None or given is None:
        return {}
    name = first_field(group.count)
    unsaid = {name: 0} if name and name not in heading.values else {}
    return _solved(heading, group.count, values, lambda count: count == len(given)) or unsaid


def _size(heading: Heading, values: Mapping[str, int], plain: int) -> tuple[dict[str, int], int]:
    """The field that says the size, as it is for `plain` bytes or a few more, and the bytes to
    write. A size that was given is kept even if it lies."""
    size = heading.header.size
    if size is None:
        return {}, plain
    found = _solved(heading, size, values, lambda said: plain <= said < 1 << 17)
    return found, _evaluated(size, {**values, **found}) if found else plain


def _solved(
    heading: Heading, expr: Expr, values: Mapping[str, int], fits: Callable[[int], bool]
) -> dict[str, int]:
    """The least value of the first field of the expression for which it is as wanted; none if the
    field was given."""
    name = first_field(expr)
    if not name or name in heading.values:
        return {}
    for value in range(1 << heading.header.field(name).width):
        if fits(_evaluated(expr, {**values, name: value})):
            return {name: value}
    return {}


def _evaluated(expr: Expr, values: Mapping[str, int]) -> int:
    def own(leaf: Expr) -> int:
        if isinstance(leaf, NameBytes):
            return 1  # the root's
        assert isinstance(leaf, Own)
        return values.get(leaf.field, 0)

    return evaluate(expr, own)
