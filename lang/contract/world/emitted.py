"""Records of events that packets raised: what stands in them, and how that is written."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol, cast

from ...text.literals import AddressKind, shown_address
from ..manifest.manifest import EVENT_HEAD, EventField, EventKind
from .environment import Emitted

_HEAD = struct.Struct("<QQ")
_IDENTITY = struct.Struct("<QI")
#: Bits of a rule's id, below its sequence.
ID_BITS = 32


class Unreadable(Exception):
    """A record that no known build wrote, or not whole."""


class _Field(Protocol):
    @property
    def name(self) -> str: ...


class Limited(Protocol):
    """An event, as the compiler or the manifest has it."""

    @property
    def name(self) -> str: ...
    @property
    def fields(self) -> Sequence[_Field]: ...
    @property
    def rate(self) -> int: ...
    @property
    def each(self) -> int: ...
    @property
    def by(self) -> Sequence[str]: ...


class EventRecord(NamedTuple):
    """`time`: nanoseconds of CLOCK_MONOTONIC."""

    kind: EventKind
    time: int
    content: bytes

    @property
    def values(self) -> tuple[int, ...]:
        """Of its fields, in the order declared."""
        return values_of(self.kind, self.content)

    @property
    def emitted(self) -> Emitted:
        return Emitted(self.kind.name, self.values)


def by_tag(kinds: Iterable[EventKind]) -> dict[int, EventKind]:
    return {kind.tag: kind for kind in kinds}


def decode(record: bytes, kinds: Mapping[int, EventKind]) -> EventRecord:
    """Raises `Unreadable`."""
    if len(record) < EVENT_HEAD:
        raise Unreadable(f"{len(record)} bytes are no record")
    tag, time = _HEAD.unpack_from(record)
    kind = kinds.get(tag)
    if kind is None:
        raise Unreadable(f"no event has the tag {tag:#x}")
    if len(record) != kind.size:
        raise Unreadable(f"{kind.name} has {kind.size} bytes, and this record {len(record)}")
    return EventRecord(kind, time, record)


def encode(kind: EventKind, time: int, values: Sequence[int]) -> EventRecord:
    """As a program writes it; `values` in the order declared."""
    record = bytearray(kind.size)
    _HEAD.pack_into(record, 0, kind.tag, time)
    for field, value in zip(kind.fields, values, strict=True):
        if field.type == "rule":
            _IDENTITY.pack_into(record, field.offset, *split_identity(value))
        else:
            record[field.offset : field.offset + field.size] = value.to_bytes(field.size, "big")
    return EventRecord(kind, time, bytes(record))


def values_of(kind: EventKind, record: bytes) -> tuple[int, ...]:
    return tuple(_value(field, record) for field in kind.fields)


def _value(field: EventField, record: bytes) -> int:
    if field.type == "rule":
        return identity(*_IDENTITY.unpack_from(record, field.offset))
    return int.from_bytes(record[field.offset : field.offset + field.size], "big")


def identity(sequence: int, id_: int) -> int:
    """A rule as a value: no other rule ever has its sequence."""
    return sequence << ID_BITS | id_


def split_identity(value: int) -> tuple[int, int]:
    """Sequence and id."""
    return value >> ID_BITS, value & ((1 << ID_BITS) - 1)


def limits_of(kind: Limited, values: Sequence[int]) -> list[tuple[tuple[object, ...], int]]:
    """What bounds a record of an event: of all, and of its source."""
    found: list[tuple[tuple[object, ...], int]] = [((kind.name,), kind.rate)]
    if kind.each:
        names = [field.name for field in kind.fields]
        of = tuple(values[names.index(name)] for name in kind.by)
        found.append(((kind.name, *of), kind.each))
    return found


class Namer:
    """What rules and ports are called; here by their numbers."""

    def rule(self, kind: str, sequence: int, id_: int) -> str:
        return f"{kind} {id_}"

    def port(self, number: int) -> str:
        return str(number)


NUMBERS = Namer()


def as_text(kind: EventKind, values: Sequence[int], names: Namer = NUMBERS) -> str:
    """As it is written in the language: `SCAN { src = 10.0.0.1, host = HOST 7 }`."""
    fields = zip(kind.fields, values, strict=True)
    said = ", ".join(f"{field.name} = {shown(field, value, names)}" for field, value in fields)
    return f"{kind.name} {{ {said} }}" if said else f"{kind.name} {{}}"


def shown(field: EventField, value: int, names: Namer = NUMBERS) -> str:
    if field.type == "rule":
        return names.rule(field.rule, *split_identity(value))
    if field.type == "port":
        return names.port(value)
    if field.type in ("ip4", "ip6", "mac"):
        return shown_address(cast(AddressKind, field.type), value)
    return str(value)
