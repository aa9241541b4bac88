"""A rule as octets, by the manifest: record, image, lookup patterns, and back.

An *image* is the control plane's own copy of a rule, by record slot, little-endian and packed:

    sequence u64, owner u64, id u32, priority u32, flags u32 (1: there is a rule), cell u32
    name            64 octets of UTF-8, zero-padded                 (kinds with names)
    a match element form u8 (0: none), value, other                 (octets of its width each)
    a given element tag u8 (0: none, 1: a value, 2 + n: a reference to its n-th choice), then the
                    value, or the reference's id
    target          tag u8 (0: none, else 1 + index), id u32        (kinds with alternatives)
    members         count u8, then id u32 and weight u32 of each    (spreads)
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any, NamedTuple

from ..compiler import manifest as m
from ..compiler.requests.rules import Matcher, Member, Reference, Rule
from ..compiler.requests.spread import spread_slots

NAME_OCTETS = 64
FORMS = ("value", "prefix", "mask", "range")
_HEAD = "<QQIIII"
_NAME_AT = 6
_LIVE = 1
_LETTERS = {1: "B", 2: "H", 4: "I", 8: "Q", 16: "16s"}
_FORM_CODE = {"value": 1, "prefix": 2, "mask": 3, "range": 4}
SEQUENCE_BITS = 48
_YOUNGEST = (1 << SEQUENCE_BITS) - 1

#: The cell of a rule of a kind that is no group, by its id.
CellOf = Callable[[str, int], int]
#: `struct next_hop` for a port's number and an address.
NextHopOf = Callable[[int, int], bytes]

Pattern = tuple[int, int]
"""(mask, key) as big-endian integers of the key's octets, the tuple's number left out."""


_NOTHING: dict[str, Any] = {}


class TooLong(ValueError):
    """A name has more octets than an image keeps."""


class _Field(NamedTuple):
    """Where a match element stands in the key."""

    width: int
    position: int
    ones: int
    presence: int


class _Given(NamedTuple):
    """A given element in the image: the field of its tag, its octets, the kinds it may refer to."""

    at: int
    octets: int
    references: tuple[str, ...]


class KindCodec:
    """Everything about the octets of one rule kind."""

    def __init__(self, manifest: m.Manifest, kind: m.RuleKind) -> None:
        self.kind = kind
        self._elements = {e.name: e for e in manifest.elements}
        self._grouped = {r.name for r in manifest.rules if r.grouped}
        self._fields = {x.element: _field(x) for x in kind.match}
        self._group = 0 if kind.group_position is None else 0xFFFFFFFF << kind.group_position
        self._members = [self._writer(member) for member in kind.record]
        self._image_parts()

    # ---- lookup -----------------------------------------------------------------------------

    def rank(self, rule: Rule) -> int:
        """What `struct entry` calls rank: more specific first, then older."""
        bits = 0
        fields = self._fields
        for name, (form, value, other) in rule.match:
            if form == "value":
                bits += fields[name].width
            elif form == "prefix":
                bits += other
            elif form == "mask":
                bits += other.bit_count()
            else:
                bits += fields[name].width - (other - value).bit_length()
        return bits << SEQUENCE_BITS | (_YOUNGEST - rule.sequence)

    def priority(self, rule: Rule) -> int:
        """What `struct entry` calls priority: higher wins."""
        return self.priority_of(rule.priority)

    def priority_of(self, value: int) -> int:
        """The same of an element's value."""
        if self.kind.priority is None:
            return 0
        return 0xFFFFFFFF - value if self.kind.priority[0] == "precedence" else value

    def patterns(self, rule: Rule) -> list[Pattern]:
        """The rule's lookup patterns: one, or those that its ranges come to. None where its
        elements contradict each other (`tos` and `dscp` in the same octet)."""
        mask = self._group
        key = rule.id << self.kind.group_position if self.kind.group_position is not None else 0
        ranges: list[list[Pattern]] = []
        for name, (form, value, other) in rule.match:
            width, position, ones, presence = self._fields[name]
            if form == "value":
                more = ones
            elif form == "prefix":
                more = ((1 << other) - 1) << (position + width - other)
            elif form == "mask":
                more = other << position
            else:
                ranges.append(
                    [
                        (((1 << n) - 1) << (position + width - n), v << position)
                        for v, n in prefixes(value, other, width)
                    ]
                )
                mask |= presence
                key |= presence
                continue
            value <<= position
            if mask & more and (key ^ value) & mask & more:
                return []
            mask |= more | presence
            key |= value | presence
        if not ranges:
            return [(mask, key)]
        return list(_joined(mask, key, ranges))

    # ---- records ----------------------------------------------------------------------------

    def record(self, rule: Rule, cell_of: CellOf, next_hop_of: NextHopOf) -> bytearray:
        """The rule's record, `record_size` octets."""
        octets = bytearray(self.kind.record_size)
        values = dict(rule.values) if rule.values else _NOTHING
        references = dict(rule.references) if rule.references else _NOTHING
        context = _Context(rule, values, references, cell_of, next_hop_of)
        for write in self._members:
            write(octets, context)
        return octets

    def direct(self, kind: str) -> bool:
        """Whether references to this kind are ids, not cells."""
        return kind == "port" or kind in self._grouped

    def given_octets(self, name: str) -> int:
        """Octets of a given element in the image."""
        return self._given[name].octets

    def given_kinds(self, name: str) -> tuple[str, ...]:
        """The kinds that a given element may refer to, as the image numbers them."""
        return self._given[name].references

    @property
    def has_next_hop(self) -> bool:
        return any(member.kind == "next_hop" for member in self.kind.record)

    def next_hop_wanted(self, rule: Rule, element: str) -> tuple[int, int] | None:
        """(port, address) of a next hop's "PORT via ADDRESS"; None where the rule has not both."""
        port_name, address_name = element.split(" via ")
        to = dict(rule.references).get(port_name)
        address = _value_of(rule, dict(rule.values), address_name)
        if to is None or to.kind != "port" or address is None:
            return None
        return to.id, address

    def _writer(self, member: m.Member) -> Callable[[bytearray, _Context], None]:
        at, end, name = member.offset, member.offset + member.size, member.element
        size = member.size

        def value(octets: bytearray, c: _Context) -> None:
            found = _value_of(c.rule, c.values, name)
            if found:
                octets[at:end] = found.to_bytes(size, "big")

        def present(octets: bytearray, c: _Context) -> None:
            if _value_of(c.rule, c.values, name) is not None or name in c.references:
                octets[at] = 1

        tags = {kind: 1 + i for i, kind in enumerate(member.choices)}
        direct = {"port", *self._grouped}

        def tag(octets: bytearray, c: _Context) -> None:
            to = c.references.get(name) if name else c.rule.target
            if to is not None:
                octets[at] = tags[to.kind]

        def reference(octets: bytearray, c: _Context) -> None:
            to = c.references.get(name) if name else c.rule.target
            if to is not None:
                number = to.id if to.kind in direct else c.cell_of(*to)
                octets[at:end] = number.to_bytes(4, "little")

        def next_hop(octets: bytearray, c: _Context) -> None:
            wanted = self.next_hop_wanted(c.rule, name)
            if wanted is not None:
                octets[at:end] = c.next_hop_of(*wanted)

        def slots(octets: bytearray, c: _Context) -> None:
            if c.rule.members and self.kind.spread is not None:
                kind = self.kind.spread.kind
                cells = {member.id: c.cell_of(kind, member.id) for member in c.rule.members}
                ids = spread_slots(c.rule.members)
                octets[at:end] = struct.pack(f"<{len(ids)}I", *[cells[i] for i in ids])

        return {
            "value": value, "present": present, "tag": tag,
            "reference": reference, "next_hop": next_hop, "slots": slots,
        }[member.kind]  # fmt: skip

    # ---- images -----------------------------------------------------------------------------

    def _image_parts(self) -> None:
        """One packed structure for the whole image, its fields when there is nothing in them, and
        where each part begins."""
        kind, form = self.kind, _HEAD
        blank: list[Any] = [0, 0, 0, 0, _LIVE, 0]
        if kind.named:
            form += f"{NAME_OCTETS}s"
            blank.append(b"")
        self._matched = {}
        for match in kind.match:
            octets = octets_of(match.width)
            self._matched[match.element] = len(blank), octets
            form += "B" + 2 * _LETTERS[octets]
            blank += (0, _wide(0, octets), _wide(0, octets))
        self._given = {}
        for name in kind.gives:
            element = self._elements[name]
            octets = max(4, octets_of(element.width))
            self._given[name] = _Given(len(blank), octets, element.references)
            form += "B" + _LETTERS[octets]
            blank += (0, _wide(0, octets))
        self._target_at = len(blank)
        if kind.alternatives:
            form += "BI"
            blank += (0, 0)
        self._members_at = len(blank)
        if kind.spread:
            form += "B" + "II" * kind.spread.most
            blank += [0] * (1 + 2 * kind.spread.most)
        self._image, self._blank, self.image_form = struct.Struct(form), blank, form
        if self._image.size > kind.image_size:
            raise m.ManifestError(f"images of {kind.name} do not fit their map")

    def image(self, rule: Rule, cell: int) -> bytes:
        """The rule's image: what is behind it in its slot is never read. Raises TooLong."""
        out = self._blank.copy()
        out[0], out[1], out[2], out[3], out[5] = (
            rule.sequence, rule.owner, rule.id, rule.priority, cell,
        )  # fmt: skip
        if rule.name:
            name = rule.name.encode()
            if len(name) > NAME_OCTETS:
                raise TooLong(rule.name)
            out[_NAME_AT] = name
        matched = self._matched
        for element, (form, value, other) in rule.match:
            at, octets = matched[element]
            out[at] = _FORM_CODE[form]
            out[at + 1], out[at + 2] = (value, other) if octets < 16 else (
                _wide(value, octets), _wide(other, octets))  # fmt: skip
        for element, value in rule.values:
            at, octets, _ = self._given[element]
            out[at], out[at + 1] = 1, value if octets < 16 else _wide(value, octets)
        for element, to in rule.references:
            at, octets, kinds = self._given[element]
            out[at], out[at + 1] = 2 + kinds.index(to.kind), _wide(to.id, octets)
        if rule.target is not None:
            at = self._target_at
            out[at] = 1 + self.kind.alternatives.index(rule.target.kind)
            out[at + 1] = rule.target.id
        if rule.members:
            at = self._members_at
            flat = [number for member in rule.members for number in member]
            out[at : at + 1 + len(flat)] = [len(rule.members), *flat]
        return self._image.pack(*out)

    def rule_of(self, image: bytes | memoryview) -> tuple[Rule, int]:
        """An image's rule, and its cell. Raises ValueError where the image holds none."""
        fields = iter(self._image.unpack_from(image))
        sequence, owner, number, priority, flags, cell = (next(fields) for _ in range(6))
        if flags != _LIVE:
            raise ValueError(f"no rule in this image of {self.kind.name}")
        name = next(fields).rstrip(b"\0").decode() if self.kind.named else ""
        match = []
        for element in self._matched:
            form, value, other = next(fields), _narrow(next(fields)), _narrow(next(fields))
            if form:
                match.append((element, Matcher(FORMS[form - 1], value, other)))  # type: ignore[arg-type]
        values, references = [], []
        for element, given in self._given.items():
            tag, value = next(fields), _narrow(next(fields))
            if tag == 1:
                values.append((element, value))
            elif tag:
                references.append((element, Reference(given.references[tag - 2], value)))
        target: Reference | None = None
        members: tuple[Member, ...] = ()
        if self.kind.alternatives:
            tag, to = next(fields), next(fields)
            target = Reference(self.kind.alternatives[tag - 1], to) if tag else None
        if self.kind.spread:
            members = tuple(Member(next(fields), next(fields)) for _ in range(next(fields)))
        rule = Rule(
            self.kind.name, number, sequence, name, owner, priority,
            tuple(match), tuple(values), tuple(references), target, members,
        )  # fmt: skip
        return rule, cell


class _Context(NamedTuple):
    rule: Rule
    values: dict[str, int]
    references: dict[str, Reference]
    cell_of: CellOf
    next_hop_of: NextHopOf


def octets_of(width: int) -> int:
    """Octets of a value of `width` bits in a record or an image: a power of two."""
    return next(size for size in (1, 2, 4, 8, 16) if size * 8 >= width)


def _field(match: m.Match) -> _Field:
    presence = 0 if match.presence is None else 1 << match.presence
    return _Field(match.width, match.position, ((1 << match.width) - 1) << match.position, presence)


def _value_of(rule: Rule, values: dict[str, int], name: str) -> int | None:
    """An element's value: a given one, or what the rule matches exactly."""
    if name in values:
        return values[name]
    for element, matcher in rule.match:
        if element == name:
            return matcher.value
    return None


def _wide(value: int, octets: int) -> int | bytes:
    return value.to_bytes(16, "little") if octets == 16 else value


def _narrow(value: int | bytes) -> int:
    return int.from_bytes(value, "little") if isinstance(value, bytes) else value


def _joined(mask: int, key: int, ranges: list[list[Pattern]]) -> Iterator[Pattern]:
    for combination in product(*ranges):
        joined_mask, joined_key = mask, key
        for more, value in combination:
            if joined_mask & more and (joined_key ^ value) & joined_mask & more:
                break
            joined_mask |= more
            joined_key |= value
        else:
            yield joined_mask, joined_key


def prefixes(low: int, high: int, width: int) -> list[tuple[int, int]]:
    """The fewest (value, prefix length) that make up low..high, ends included."""
    found = []
    while low <= high:
        # As many low bits as are zero in `low` and as still fit below `high`.
        free = min(
            (low & -low).bit_length() - 1 if low else width, (high - low + 1).bit_length() - 1
        )
        found.append((low, width - free))
        low += 1 << free
    return found
