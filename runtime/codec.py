"""A rule as octets, by the manifest: its record and its lookup patterns (its image: images.py)."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator
from itertools import product
from typing import NamedTuple

from ..compiler import manifest as m
from ..compiler.requests.rules import Member, Reference, Rule
from ..compiler.requests.spread import spread_slots

SEQUENCE_BITS = 48
_YOUNGEST = (1 << SEQUENCE_BITS) - 1

#: The cell of a rule of a kind that is no group, by its id.
CellOf = Callable[[str, int], int]
#: `struct next_hop` for a port's number and an address (4 or 16 octets).
NextHopOf = Callable[[int, bytes], bytes]

Pattern = tuple[int, int]
"""(mask, key) as big-endian integers of the key's octets, the tuple's number left out."""

Bound = tuple[int, int]
"""What `struct entry` says of a key: (priority, rank). The higher wins: priority, then the more
specific (bits that a rule pins down), then the older."""


_Put = Callable[[memoryview, int, int], None]
_Refer = Callable[[memoryview, int, Reference, CellOf], None]
_NUMBER = struct.Struct("<I")


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
        self._blank = bytes(kind.record_size)
        self._values: dict[str, list[_Put]] = {}
        self._references: dict[str, _Refer] = {}
        self._next_hops: list[tuple[int, int, str]] = []
        self._slots: list[int] = []
        self._compile(kind.record)

    # ---- lookup -----------------------------------------------------------------------------

    def priority_of(self, value: int) -> int:
        """What `struct entry` calls priority, of an element's value: higher wins."""
        if self.kind.priority is None:
            return 0
        return 0xFFFFFFFF - value if self.kind.priority[0] == "precedence" else value

    def lookup(self, rule: Rule) -> tuple[list[Pattern], Bound]:
        """The rule's lookup patterns, one or those that its ranges come to, and what they are
        worth. No patterns where its elements contradict each other (`tos` and `dscp` in the same
        octet)."""
        mask = self._group
        key = rule.id << self.kind.group_position if self.kind.group_position is not None else 0
        bits, agrees = 0, True
        ranges: list[list[Pattern]] = []
        for name, (form, value, other) in rule.match:
            width, position, ones, presence = self._fields[name]
            if form == "value":
                bits += width
                more = ones
            elif form == "prefix":
                bits += other
                more = ((1 << other) - 1) << (position + width - other)
            elif form == "mask":
                bits += other.bit_count()
                more = other << position
            else:
                bits += width - (other - value).bit_length()
                ranges.append(_prefixed(value, other, width, position))
                value = more = 0
            value <<= position
            if mask & more and (key ^ value) & mask & more:
                agrees = False
            mask |= more | presence
            key |= value | presence
        rank = bits << SEQUENCE_BITS | (_YOUNGEST - rule.sequence)
        bound = self.priority_of(rule.priority), rank
        if ranges:
            return list(_joined(mask, key, ranges)) if agrees else [], bound
        return [(mask, key)] if agrees else [], bound

    # ---- records ----------------------------------------------------------------------------

    def record(
        self, into: memoryview, at: int, rule: Rule, cell_of: CellOf, next_hop_of: NextHopOf
    ) -> None:
        """Write the rule's record, `record_size` octets."""
        into[at : at + len(self._blank)] = self._blank
        if self._values:
            for name, matcher in rule.match:
                for put in self._values.get(name, ()):
                    put(into, at, matcher.value)
            for name, value in rule.values:
                for put in self._values.get(name, ()):
                    put(into, at, value)
        for name, to in rule.references:
            if name in self._references:
                self._references[name](into, at, to, cell_of)
        if rule.target is not None and "" in self._references:
            self._references[""](into, at, rule.target, cell_of)
        for start, end, name in self._next_hops:
            wanted = self.next_hop_wanted(rule, name)
            if wanted is not None:
                into[at + start : at + end] = next_hop_of(*wanted)
        if rule.members and self.kind.spread is not None:
            self._spread(into, at, rule.members, cell_of)

    def _spread(
        self, into: memoryview, at: int, members: tuple[Member, ...], cell_of: CellOf
    ) -> None:
        assert self.kind.spread is not None
        cells = {member.id: cell_of(self.kind.spread.kind, member.id) for member in members}
        ids = spread_slots(members)
        for start in self._slots:
            struct.pack_into(f"<{len(ids)}I", into, at + start, *[cells[i] for i in ids])

    def direct(self, kind: str) -> bool:
        """Whether references to this kind are ids, not cells."""
        return kind == "port" or kind in self._grouped

    @property
    def has_next_hop(self) -> bool:
        return any(member.kind == "next_hop" for member in self.kind.record)

    def next_hop_wanted(self, rule: Rule, element: str) -> tuple[int, bytes] | None:
        """(port, address) of a next hop's "PORT via ADDRESS"; None where the rule has not both."""
        port_name, address_name = element.split(" via ")
        to = dict(rule.references).get(port_name)
        address = _value_of(rule, dict(rule.values), address_name)
        if to is None or to.kind != "port" or address is None:
            return None
        return to.id, address.to_bytes(self._elements[address_name].width // 8, "big")

    def _compile(self, members: Iterable[m.Member]) -> None:
        """Note where the record has what."""
        referring: dict[str, list[m.Member]] = {}
        for member in members:
            name, start, end = member.element, member.offset, member.offset + member.size
            if member.kind == "value":
                self._values.setdefault(name, []).append(_value(start, member.size))
            elif member.kind == "next_hop":
                self._next_hops.append((start, end, name))
            elif member.kind == "slots":
                self._slots.append(start)
            else:
                referring.setdefault(name, []).append(member)
                if member.kind == "present":
                    self._values.setdefault(name, []).append(_present(start))
        for name, some in referring.items():
            self._references[name] = self._reference(some)

    def _reference(self, members: Iterable[m.Member]) -> _Refer:
        """Writes what members say of one reference: its number, its kind, that it is there."""
        numbers = [member.offset for member in members if member.kind == "reference"]
        tags = [(member.offset, {kind: 1 + i for i, kind in enumerate(member.choices)})
                for member in members if member.kind == "tag"]  # fmt: skip
        present = [member.offset for member in members if member.kind == "present"]
        direct = {"port", *self._grouped}

        def refer(into: memoryview, at: int, to: Reference, cell_of: CellOf) -> None:
            kind, number = to
            if numbers:
                number = number if kind in direct else cell_of(kind, number)
            for start in numbers:
                _NUMBER.pack_into(into, at + start, number)
            for start, tag_of in tags:
                into[at + start] = tag_of[kind]
            for start in present:
                into[at + start] = 1

        return refer


def _value(start: int, size: int) -> _Put:
    def put(into: memoryview, at: int, number: int) -> None:
        into[at + start : at + start + size] = number.to_bytes(size, "big")

    return put


def _present(start: int) -> _Put:
    def put(into: memoryview, at: int, number: int) -> None:
        into[at + start] = 1

    return put


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


def _prefixed(low: int, high: int, width: int, position: int) -> list[Pattern]:
    """The patterns that a range at a place in the key comes to."""
    return [
        (((1 << length) - 1) << (position + width - length), value << position)
        for value, length in prefixes(low, high, width)
    ]


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
