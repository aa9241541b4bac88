"""Functions of C that find the range which a number lies in, by halves: among some hundred ranges
that is eight comparisons. Single numbers that lie close together are bits of one word."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple
from zlib import crc32

from ..ir.expr import Which
from ..ir.types import bits_of
from ..ir.unit import Unit
from ..ir.walk import expressions

_Range = tuple[int, int, int]

#: Ranges that are compared one after the other.
_IN_A_ROW = 3
#: As few as a word of bits pays for: a range is a comparison or two, and this some seven.
_BITS, _WORD = 5, 64


def search_of(x: Which) -> str:
    """The name of its function: another one for other ranges, the same for the same."""
    wide = "_wide" if _wide(x) else ""
    return f"search_{crc32(repr(x.ranges).encode()):08x}{wide}"


def _wide(x: Which) -> bool:
    return bits_of(x.subject.type) > _WORD


def searches(unit: Unit) -> Iterator[str]:
    """All that a unit asks, as lines of C."""
    every = (x for f in unit.every_function for x in expressions(f.body) if isinstance(x, Which))
    for name, x in {search_of(x): x for x in every}.items():
        type_ = "u128" if _wide(x) else "u64"
        yield ""
        yield f"static __always_inline u32 {name}({type_} value)"
        yield "{"
        yield from _search(_groups(x.ranges), 1)
        yield "}"


class _Group(NamedTuple):
    """Ranges that are told by one expression: one, or several numbers as bits of a word."""

    low: int
    high: int
    number: int
    bits: int = 0


def _groups(ranges: Sequence[_Range]) -> list[_Group]:
    found: list[_Group] = []
    at = 0
    while at < len(ranges):
        low, high, number = ranges[at]
        near = at
        while near < len(ranges) and ranges[near][1] < low + _WORD and ranges[near][2] == number:
            near += 1
        if near - at < _BITS:
            found.append(_Group(low, high, number))
            at += 1
            continue
        bits = sum((1 << b + 1) - (1 << a) >> low for a, b, _ in ranges[at:near])
        found.append(_Group(low, ranges[near - 1][1], number, bits))
        at = near
    return found


def _search(groups: Sequence[_Group], depth: int) -> Iterator[str]:
    tabs = "\t" * depth
    if len(groups) > _IN_A_ROW:
        half = len(groups) // 2
        below = list(_search(groups[:half], depth + 1))
        several = len(below) > 1
        yield f"{tabs}if (value < {_number(groups[half].low)}){' {' * several}"
        yield from below
        yield from [f"{tabs}}}"] * several
        yield from _search(groups[half:], depth)
    elif all(group.number == 1 for group in groups):
        yield f"{tabs}return {' || '.join(map(_test, groups))};"
    else:
        for group in groups:
            yield f"{tabs}if ({_test(group, alone=True)})"
            yield f"{tabs}\treturn {group.number};"
        yield f"{tabs}return 0;"


def _test(group: _Group, alone: bool = False) -> str:
    low, high = _number(group.low), _number(group.high)
    if group.bits:
        by = f"value - {low}"
        said = f"{by} < {group.high - group.low + 1} && {group.bits:#x}ULL >> ({by}) & 1"
    elif group.low == group.high:
        return f"value == {low}"
    elif not group.low:
        return f"value <= {high}"
    else:
        said = f"value >= {low} && value <= {high}"
    return said if alone else f"({said})"


def _number(value: int) -> str:
    if value >> _WORD:
        return f"((u128){value >> _WORD:#x}ULL << {_WORD} | {value & (1 << _WORD) - 1:#x}ULL)"
    text = str(value) if value < 256 else f"{value:#x}"
    return f"{text}ULL" if value >> 31 else text
