"""Expressions that are made of others: sums, tests joined, choices, numbers in another width or
order."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from typing import Literal

from .expr import ONE, ZERO, Binary, Cast, Choice, Expr, Number, Operand, Swap, binary, expr
from .types import U64, Int, bits_of


def total(parts: Iterable[Operand]) -> Expr:
    """Their sum; numbers are one, where the first of them stands, or behind all if that is less
    than 0."""
    found, known, first = list[Operand](), 0, -1
    for part in parts:
        if isinstance(part, Number | int):
            known += part if isinstance(part, int) else part.value
            first = len(found) if first < 0 else first
        else:
            found.append(part)
    if first >= 0:
        found.insert(first if known >= 0 else len(found), known)
    return reduce(lambda a, b: binary("+", a, b), found, expr(0))


_MOST_IN_A_ROW = 32


def both(operands: Iterable[Expr]) -> Expr:
    """Whether all of them hold; of none, 1."""
    return _chain("&&", list(operands), ONE)


def either(operands: Iterable[Expr]) -> Expr:
    """Whether one of them holds; of none, 0."""
    return _chain("||", list(operands), ZERO)


def _chain(op: Literal["&&", "||"], operands: list[Expr], nothing: Expr) -> Expr:
    if len(operands) > _MOST_IN_A_ROW:  # those of a large set: nested so deeply nothing walks them
        half = len(operands) // 2
        return Binary(
            op, _chain(op, operands[:half], nothing), _chain(op, operands[half:], nothing)
        )
    return reduce(lambda a, b: Binary(op, a, b), operands) if operands else nothing


def bits_joined(operands: Iterable[Expr]) -> Expr:
    """`|` of all."""
    return reduce(lambda a, b: binary("|", a, b), operands)


def swap(operand: Expr) -> Expr:
    """The other byte order; one byte has none."""
    return operand if bits_of(operand.type) == 8 else Swap(operand)


def to_network(operand: Expr, bits: int) -> Expr:
    """A number of the host's as `bits` bits stand in a packet."""
    if bits == 8:
        return operand
    if isinstance(operand, Number):
        return Swap(Number(operand.value, Int(bits)))
    return Swap(operand if bits_of(operand.type) == bits else Cast(Int(bits), operand))


def choose(test: Expr, then: Operand, otherwise: Operand) -> Expr:
    if isinstance(test, Number):
        return expr(then if test.value else otherwise)
    then, otherwise = expr(then), expr(otherwise)
    return then if then == otherwise else Choice(test, then, otherwise)


def wide(operand: Expr) -> Expr:
    """With 64 bits."""
    return operand if bits_of(operand.type) == 64 else Cast(U64, operand)


def first_of(found: list[tuple[Expr | None, Expr]], nothing: Expr = ZERO) -> Expr:
    """The value behind the first test that holds, or that has none."""
    chosen = nothing
    for test, value in reversed(found):
        chosen = value if test is None else choose(test, value, chosen)
    return chosen


def low_bits(operand: Expr, width: int) -> Expr:
    return operand & ((1 << width) - 1)
