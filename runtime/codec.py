"""A rule as octets, by the manifest: its record and its lookup patterns (its image: images.py)."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator
from itertools import product
from typing import Any, NamedTuple

from ..compiler import manifest as m
from ..compiler.requests.rules import Reference, Rule
from ..compiler.requests.spread import spread_slots

SEQUENCE_BITS = 48
_YOUNGEST = (1 << SEQUENCE_BITS) - 1

#: The cell of a rule of a kind that is no group, by its id.
CellOf = Callable[[str, int], int]
#: `struct next_hop` for a port's number and an address.
NextHopOf = Callable[[int, int], bytes]

Pattern = tuple[int, int]
"""(mask, key) as big-endian integers of the key's octets, the tuple's number left out."""


Values = dict[str, int]
References = dict[str, Reference]
_Getter = Callable[[Rule, Values, References, CellOf, NextHopOf], int | bytes]
_NOTHING: dict[str, Any] = {}


class _Field(NamedTuple):
    """Where a match element stands in the key."""

    width: int
    position: int
    ones: int
    presence: int


class KindCodec:
    """Everything about the octets of one rule kind."""

    def __init__(self, manifest: m.Manifest, kind: m.RuleKind) -> None:
        self.kind = kind
        self._elements = {e.name: e for e in manifest.elements}
        self._grouped = {r.name for r in manifest.rules if r.grouped}
        self._fields = {x.element: _field(x) for x in kind.match}
        self._group = 0 if kind.group_position is None else 0xFFFFFFFF << kind.group_position
        members = sorted(kind.record, key=lambda member: member.offset)
        self._record = _layout(members, kind.record_size)
        self._members = [self._getter(member) for member in members]

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

    def priority_of(self, value: int) -> int:
        """What `struct entry` calls priority, of an element's value: higher wins."""
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

    def record(
        self, into: memoryview, at: int, rule: Rule, cell_of: CellOf, next_hop_of: NextHopOf
    ) -> None:
        """Write the rule's record, `record_size` octets."""
        values = dict(rule.values) if rule.values else _NOTHING
        references = dict(rule.references) if rule.references else _NOTHING
        context = rule, values, references, cell_of, next_hop_of
        self._record.pack_into(into, at, *[get(*context) for get in self._members])

    def direct(self, kind: str) -> bool:
        """Whether references to this kind are ids, not cells."""
        return kind == "port" or kind in self._grouped

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

    def _getter(self, member: m.Member) -> _Getter:
        """What stands in the record for a member, as `_layout` takes it."""
        name, size, absent = member.element, member.size, bytes(member.size)
        tags = {kind: 1 + i for i, kind in enumerate(member.choices)}
        direct = {"port", *self._grouped}

        def value(rule: Rule, values: Values, *_: Any) -> bytes:
            found = _value_of(rule, values, name)
            return found.to_bytes(size, "big") if found else absent

        def present(rule: Rule, values: Values, references: References, *_: Any) -> int:
            return _value_of(rule, values, name) is not None or name in references

        def tag(rule: Rule, _: Values, references: References, *__: Any) -> int:
            to = references.get(name) if name else rule.target
            return 0 if to is None else tags[to.kind]

        def reference(
            rule: Rule, _: Values, references: References, cell_of: CellOf, __: NextHopOf
        ) -> int:
            to = references.get(name) if name else rule.target
            if to is None:
                return 0
            kind, number = to
            return number if kind in direct else cell_of(kind, number)

        def next_hop(
            rule: Rule, _: Values, __: References, ___: CellOf, next_hop_of: NextHopOf
        ) -> bytes:
            wanted = self.next_hop_wanted(rule, name)
            return absent if wanted is None else next_hop_of(*wanted)

        def slots(rule: Rule, _: Values, __: References, cell_of: CellOf, ___: NextHopOf) -> bytes:
            if not rule.members or self.kind.spread is None:
                return absent
            kind = self.kind.spread.kind
            cells = {member.id: cell_of(kind, member.id) for member in rule.members}
            ids = spread_slots(rule.members)
            return struct.pack(f"<{len(ids)}I", *[cells[i] for i in ids])

        getters: dict[str, _Getter] = {
            "value": value, "present": present, "tag": tag,
            "reference": reference, "next_hop": next_hop, "slots": slots,
        }  # fmt: skip
        return getters[member.kind]


def _layout(members: Iterable[m.Member], size: int) -> struct.Struct:
    """A record whose members are packed in the order of their offsets, with zeros between."""
    form = "<"
    for member in members:
        form += "x" * (member.offset - struct.calcsize(form))
        form += {"present": "?", "tag": "B", "reference": "I"}.get(member.kind, f"{member.size}s")
    return struct.Struct(form + "x" * (size - struct.calcsize(form)))


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
