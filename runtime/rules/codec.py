"""A rule's record as bytes, by the manifest (its image: images.py; its match: matches.py)."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import numpy as np

from ...lang.contract.manifest import manifest as m
from ...lang.contract.rules.rules import Member, Rule
from ...lang.contract.rules.spread import winners

#: The place of a rule of a kind that is no group, by its id.
PlaceOf = Callable[[str, int], int]
#: `struct next_hop` for a port's number and an address (4 or 16 bytes).
NextHopOf = Callable[[int, bytes], bytes]

_Fields = list[Any]
"""What a record holds, a member each: bytes, or a number."""


class KindCodec:
    """Everything about the bytes of one rule kind."""

    def __init__(self, manifest: m.Manifest, kind: m.RuleKind) -> None:
        self.kind = kind
        self._elements = {e.name: e for e in manifest.elements}
        self._kinds = [r.name for r in manifest.rules]
        self._direct = {"port", *(r.name for r in manifest.rules if r.grouped)}
        self._members = sorted(kind.record, key=lambda member: member.offset)
        self._blank, self._layout = _layout(self._members, kind.record_size)
        self._values: dict[str, list[tuple[int, int]]] = {}
        self._references: dict[str, list[tuple[int, dict[str, int] | None]]] = {}
        self._next_hops: list[tuple[int, str]] = []
        self._slots: list[int] = []
        self._compile(self._members)
        self._target_alone = _target_alone(self._members)

    def record(
        self, into: memoryview, at: int, rule: Rule, place_of: PlaceOf, next_hop_of: NextHopOf
    ) -> None:
        """Write the rule's record, `record_size` bytes."""
        target = rule.target
        if self._target_alone and target is not None:
            to, number = target
            reference = number if to in self._direct else place_of(to, number)
            self._layout.pack_into(into, at, reference, self._target_alone[to])
            return
        fields = self._blank.copy()
        if self._values:
            for name, matcher in rule.match:
                self._give(fields, name, matcher.value)
            for name, value in rule.values:
                self._give(fields, name, value)
        references = rule.references
        if target is not None:
            references = (*references, ("", target))
        for name, (kind, number) in references:
            for i, tags in self._references.get(name, ()):
                if tags is not None:
                    fields[i] = tags[kind]
                else:
                    fields[i] = number if kind in self._direct else place_of(kind, number)
        for i, name in self._next_hops:
            hop = self.next_hop_wanted(rule, name)
            if hop is not None:
                fields[i] = next_hop_of(*hop)
        if rule.members and self.kind.spread is not None:
            slots = self._places(rule.members, self.kind.spread, place_of)
            for i in self._slots:
                fields[i] = slots
        self._layout.pack_into(into, at, *fields)

    def _give(self, fields: _Fields, name: str, value: int) -> None:
        for i, size in self._values.get(name, ()):
            fields[i] = value.to_bytes(size, "big") if size else 1

    @staticmethod
    def _places(members: tuple[Member, ...], spread: m.Spread, place_of: PlaceOf) -> bytes:
        ordered = tuple(sorted(members))
        places = np.array([place_of(spread.kind, member.id) for member in ordered], "<u4")
        return places.tobytes() if spread.listed else places[winners(ordered)].tobytes()

    def direct(self, kind: str) -> bool:
        """Whether references to this kind are ids, not places."""
        return kind in self._direct

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

    def _compile(self, members: list[m.Member]) -> None:
        """Note where the record has what. Of a value: the place of the member, and its bytes (0:
        whether it is there); of a reference: the place, and what it holds for each kind, or None
        for the number."""
        for i, member in enumerate(members):
            name = member.element
            if member.kind == "value":
                self._values.setdefault(name, []).append((i, member.size))
            elif member.kind == "next_hop":
                self._next_hops.append((i, name))
            elif member.kind == "slots":
                self._slots.append(i)
            else:
                tags = {kind: 1 + n for n, kind in enumerate(member.choices)}
                if member.kind == "present":
                    self._values.setdefault(name, []).append((i, 0))
                    tags = dict.fromkeys(("port", *self._kinds), 1)
                place = i, None if member.kind == "reference" else tags
                self._references.setdefault(name, []).append(place)


def _target_alone(members: list[m.Member]) -> dict[str, int]:
    """The tags of a record that says where the rule leads and nothing else; empty if it is none."""
    if [(member.kind, member.element) for member in members] != [("reference", ""), ("tag", "")]:
        return {}
    return {kind: 1 + n for n, kind in enumerate(members[1].choices)}


def _layout(members: list[m.Member], size: int) -> tuple[_Fields, struct.Struct]:
    """An empty record's fields, and how they are packed."""
    blank: _Fields = []
    layout, at = "<", 0
    for member in members:
        layout += f"{member.offset - at}x"
        at = member.offset + member.size
        number = {"tag": "B", "present": "B", "reference": "I"}.get(member.kind)
        layout += number or f"{member.size}s"
        blank.append(0 if number else b"")
    return blank, struct.Struct(f"{layout}{size - at}x")


def _value_of(rule: Rule, values: dict[str, int], name: str) -> int | None:
    """An element's value: a given one, or what the rule matches exactly."""
    if name in values:
        return values[name]
    for element, matcher in rule.match:
        if element == name:
            return matcher.value
    return None
