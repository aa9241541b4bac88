"""Sizes that a header says of itself, worked out when it is written."""

from __future__ import annotations

from collections.abc import Callable
from itertools import takewhile

from . import TAIL, Arithmetic, Const, Expr, Header, Own
from .arithmetic import COMPUTED
from .checksums import is_checksum


def solved(header: Header, expr: Expr, fits: Callable[[int], bool]) -> tuple[str, int, int]:
    """The first field of the expression, its least value for which the expression is as wanted, and
    what it then is. All other fields are as by default."""
    name = first_field(expr)
    defaults = {f.name: f.default for f in header.fields if isinstance(f.default, int)}
    for number in range(1 << header.field(name).width) if name else ():
        found = _evaluated(expr, {**defaults, name: number})
        if fits(found):
            return name, number, found
    return "", 0, 0


def worked_out(header: Header) -> set[str]:
    """Fields that are written as the header's size, or the number of an array's elements, asks."""
    said = [header.size, *(g.count for g in header.groups)]
    return {name for name in (first_field(e) for e in said if e is not None) if name}


def computed_from(header: Header) -> set[str]:
    """All fields that these are computed from."""
    said = [header.size, *(g.count for g in header.groups)]
    return {name for e in said if e is not None for name in _fields(e)}


def _fields(expr: Expr) -> list[str]:
    match expr:
        case Own(name):
            return [name]
        case Arithmetic(_, left, right):
            return _fields(left) + _fields(right)
    return []


def first_field(expr: Expr) -> str:
    """The first field that the expression reads; empty if it reads none."""
    return next(iter(_fields(expr)), "")


def _evaluated(expr: Expr, values: dict[str, int]) -> int:
    match expr:
        case Const(number):
            return number
        case Own(name):
            return values.get(name, 0)
        case Arithmetic(operator, left, right):
            return COMPUTED[operator](_evaluated(left, values), _evaluated(right, values))
    raise AssertionError(f"{expr} stands in no header")


def is_even(header: Header) -> bool:
    """Whether the header has an even number of bytes, so that words behind it are aligned."""
    if header.size is None:
        return not any(width % 16 for width in (header.fixed, *(g.width for g in header.groups)))
    return _is_even(header.size)


def _is_even(expr: Expr) -> bool:
    """Whether a number is always even."""
    match expr:
        case Const(number):
            return number % 2 == 0
        case Arithmetic("*", left, right):
            return _is_even(left) or _is_even(right)
        case Arithmetic("+" | "-", left, right):
            return _is_even(left) and _is_even(right)
        case Arithmetic("<<", _, Const(bits)):
            return bits > 0
    return False


def sums_are_even(header: Header) -> bool:
    """Whether each checksum of the header stands at an even byte: as a word for those in front."""
    return all(
        f.offset // 8 % 2 == 0 and (f.group is None or starts_even(header, f.group))
        for f in header.fields
        if is_checksum(f)
    )


def starts_even(header: Header, group: str) -> bool:
    """Whether the group always starts at an even byte of the header."""
    if group == TAIL:
        return is_even(header) and header.tail % 16 == 0
    before = list(takewhile(lambda g: g.name != group, header.groups))
    return not any(width % 16 for width in (header.fixed, *(g.width for g in before)))
