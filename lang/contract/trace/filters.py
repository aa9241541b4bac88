"""Trace filters: conditions over the fields that a packet's parser finds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .decode import Recorded
from .schema import Field, Node


@dataclass(frozen=True)
class Has:
    """The packet has the node."""

    node: Node


@dataclass(frozen=True)
class Within:
    """A field, under `mask`, is `low` to `high`, or with `otherwise` is there and is not. Never of
    a packet that lacks it."""

    node: Node
    field: Field
    mask: int
    low: int
    high: int
    otherwise: bool = False


@dataclass(frozen=True)
class Ends:
    """The packet's verdict."""

    verdict: str


@dataclass(frozen=True)
class Not:
    operand: Filter


@dataclass(frozen=True)
class All:
    operands: tuple[Filter, ...]


@dataclass(frozen=True)
class Any:
    operands: tuple[Filter, ...]


Filter = Has | Within | Ends | Not | All | Any


def passes(condition: Filter, recorded: Recorded) -> bool:
    """Of what stands in the record: the first bytes of the frame, as it arrived."""
    offsets = dict(recorded.trace.path)
    return _passes(condition, recorded, offsets)


def _passes(condition: Filter, recorded: Recorded, offsets: Mapping[str, int]) -> bool:
    match condition:
        case Has(node):
            return node.name in offsets
        case Within(node, field, mask, low, high, otherwise):
            value = _value(node, field, recorded.frame, offsets)
            return value is not None and (low <= value & mask <= high) != otherwise
        case Ends(verdict):
            return recorded.trace.verdict == verdict
        case Not(operand):
            return not _passes(operand, recorded, offsets)
        case All(operands):
            return all(_passes(each, recorded, offsets) for each in operands)
        case Any(operands):
            return any(_passes(each, recorded, offsets) for each in operands)


def _value(node: Node, field: Field, frame: bytes, offsets: Mapping[str, int]) -> int | None:
    """None where the packet lacks the field, or the record does not reach so far."""
    start = offsets.get(node.name)
    if start is None:
        return None
    at = start * 8
    if field.group:
        group = _group(node, field.group, frame, start * 8)
        if group is None:
            return None
        at += group
    return _bits(frame, at + field.offset, field.width)


def _group(node: Node, name: str, frame: bytes, start: int) -> int | None:
    """Bits from the header's start to an optional group."""
    at = node.fixed
    flags = {f.name: f for f in node.fields}
    for group in node.groups:
        found = [flags[flag] for flag in group.flags if flag in flags]
        there = not group.flags or any(_bits(frame, start + f.offset, f.width) for f in found)
        if group.name == name:
            return at if there else None
        at += group.width if there else 0
    return None


def _bits(frame: bytes, at: int, width: int) -> int | None:
    end = at + width
    if end > len(frame) * 8:
        return None
    number = int.from_bytes(frame[at // 8 : (end + 7) // 8], "big")
    return number >> -end % 8 & ((1 << width) - 1)
