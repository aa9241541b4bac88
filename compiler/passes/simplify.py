"""Constants are computed, and what changes no bit is left out: casts to the same type, masks of all
bits that there are. Clang does the same; this is for who reads the C, and for what is counted
before clang."""

from __future__ import annotations

from dataclasses import replace

from ..ir.expr import Binary, Cast, Choice, Expr, Number, Swap, Which, binary, number
from ..ir.promotion import may_be_negative
from ..ir.rewrite import rewritten
from ..ir.types import Int, bits_of, is_network
from ..ir.unit import Unit, with_functions


def simplify(unit: Unit) -> Unit:
    made = [replace(f, body=rewritten(f.body, simpler)) for f in unit.functions]
    return with_functions(unit, made)


def simpler(x: Expr) -> Expr:
    """An expression whose parts are as simple as they can be."""
    match x:
        case Cast(Int() as type_, operand, False):
            return _cast(x, type_, operand)
        case Cast(Int(bits) as type_, Number(known), True) if not known >> (bits - 1):
            return Number(known, type_)
        case Binary(operator, Number() as left, Number() as right):
            return binary(operator, left, right)
        case Binary("&", operand, Number(mask)) if _covers(mask, _width(operand)):
            return operand if operand.type == x.type else x
        case Choice(Number(test), then, otherwise):
            return then if test else otherwise
        case Which(Number(value)):
            return number(x.number_of(value))
        case Swap(Number(0)):
            return Number(0, Int(bits_of(x.type), is_network(x.type)))
        case Binary("+" | "-" | "|" | "<<" | ">>", left, Number(0)) if left.type == x.type:
            return left
    return x


def _cast(x: Expr, type_: Int, operand: Expr) -> Expr:
    match operand:
        case Number(value) if not type_.network:
            return Number(value & _ones(type_.bits), type_)
        case Binary("&", inner, Number(mask)) if _covers(mask, type_.bits):
            return simpler(Cast(type_, inner))
        case Cast(Int(bits, False), inner, False) if bits >= type_.bits:
            if not (type_.network and is_network(inner.type)):
                return simpler(Cast(type_, inner))
    # what C has as an `int` below 0 is of that type by the cast alone
    return operand if operand.type == type_ and not may_be_negative(operand) else x


def _width(x: Expr) -> int:
    """How many bits a number may have."""
    match x:
        case Number(value):
            return value.bit_length()
        case Binary(">>", operand, Number(by)):
            return max(0, _width(operand) - by)
        case Binary("&", left, Number(mask)):
            return min(_width(left), mask.bit_length())
        case Cast(Int(bits), operand, False):
            return min(bits, _width(operand))
        case Swap(operand):
            return bits_of(operand.type)
    return bits_of(x.type)


def _covers(mask: int, width: int) -> bool:
    return mask & _ones(width) == _ones(width)


def _ones(width: int) -> int:
    return (1 << width) - 1
