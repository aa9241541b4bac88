"""A rule as octets, by the manifest: its record and its lookup patterns (its image: images.py)."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
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
        self._members = [self._writer(member) for member in kind.record]

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


class _Context(NamedTuple):
    rule: Rule
    values: dict[str, int]
    references: dict[str, Reference]
    cell_of: CellOf
    next_hop_of: NextHopOf


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
