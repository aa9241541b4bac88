"""What a packet, or a rule, has to have for a condition to come out the other way."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from ...lang.contract.world.environment import Environment
from ..model import (
    Among,
    And,
    Announced,
    Arithmetic,
    Arrival,
    Attribute,
    Compare,
    Condition,
    Const,
    Expr,
    First,
    HasOption,
    If,
    IsLocal,
    IsMulticast,
    Layer4,
    Not,
    Or,
    Packet,
    Pick,
    PortIs,
    Present,
    Ranges,
    Recalled,
    Statement,
)
from ..model.walk import walk


class Leaf(NamedTuple):
    """That what an expression reads is `value`: a field of the packet, the port that it comes by,
    an element of a rule, a slot of an entry."""

    of: Packet | Layer4 | Announced | Arrival | Attribute | Recalled
    value: int


class Option(NamedTuple):
    """That the header of a node has an option."""

    node: str
    option: str


class Header(NamedTuple):
    """That the packet has a node, or has it no more."""

    node: str


class Arriving(NamedTuple):
    """That it comes by a port of the role, or of another one."""

    role: str


Wanted = Leaf | Option | Header | Arriving
#: Of each comparison that a packet came to: what stood left and right; of another condition whether
#: it held.
Operands = Mapping[int, tuple[int, int]]

_GROUPS = {"ip4": 0xE0000005, "ip6": (0xFF02 << 112) | 1, "mac": 0x01005E000005}


def wanted(decides: object, seen: Operands, environment: Environment) -> tuple[Wanted, ...]:
    """What would have each condition in it come out the other way; of those that the packet did not
    come to, what would have them hold."""
    found = dict[Wanted, None]()
    conditions = [part.condition for part in walk(decides) if isinstance(part, If)]
    if not isinstance(decides, Statement):
        conditions.append(decides)  # type: ignore[arg-type]
    for condition in conditions:
        found |= dict.fromkeys(_turning(condition, not _held(condition, seen), seen, environment))
    return tuple(found)


def _held(condition: object, seen: Operands) -> bool | None:
    """Whether it held; None where the packet did not come to it."""
    match condition:
        case Not(operand):
            held = _held(operand, seen)
            return None if held is None else not held
        case And(operands) | Or(operands):
            decisive = isinstance(condition, Or)
            outcomes = [_held(each, seen) for each in operands]
            return decisive if decisive in outcomes else None if None in outcomes else not decisive
        case Among():
            met = seen.get(id(condition))
            return None if met is None else bool(met[1])
        case Compare(operator):
            both = seen.get(id(condition))
            return None if both is None else _HOLDS[operator](*both)
    noted = seen.get(id(condition))
    return None if noted is None else bool(noted[0])


def _turning(part: object, to: bool, seen: Operands, environment: Environment) -> Iterable[Wanted]:
    """What would make it so, of each part of it that is not so."""
    match part:
        case Not(operand):
            yield from _turning(operand, not to, seen, environment)
        case And(operands) | Or(operands):
            for each in operands:
                yield from _turning(each, to, seen, environment)
        case _ if _held(part, seen) is to:
            return
        case Compare(_, HasOption(node, option)) if to:
            yield Option(node, option)
        case Compare(operator, left, right):
            yield from _either(operator, left, right, seen.get(id(part)))
        case Among(subject, ranges):
            value, _ = seen.get(id(part), (ranges[0][0], 0))
            yield from leaves(subject, ranges[0][0] if to else _outside(ranges, value))
        case Present(node):
            yield Header(node)
        case PortIs(role):
            yield Arriving(role)
        case IsMulticast(Packet() as address):
            yield Leaf(address, _GROUPS[address.kind] if to else _host(address.kind, environment))
        case IsLocal(Packet() as address):
            hosts = environment.local6 if address.kind == "ip6" else environment.local
            host = _host(address.kind, environment)
            yield Leaf(address, min(hosts, default=host) if to else host)


def _outside(ranges: Ranges, value: int) -> int:
    """The number behind the range that a value is in."""
    return next(high for low, high in ranges if low <= value <= high) + 1


def _host(kind: str, environment: Environment) -> int:
    """An address of one host that is another one."""
    if kind == "mac":
        return int.from_bytes(environment.ports[0].mac, "big")
    known = environment.neighbours6 if kind == "ip6" else environment.neighbours
    return min((host for _, host in known), default=1)


def _either(
    operator: str, left: Expr, right: Expr, operands: tuple[int, int] | None
) -> Iterator[Wanted]:
    """Either side changed, so that the comparison comes out the other way."""
    if operands is None:
        if isinstance(right, Const):
            yield from leaves(left, _beside(operator, right.value, False))
        return
    a, b = operands
    holds = _HOLDS[operator](a, b)
    yield from leaves(left, _beside(operator, b, holds))
    yield from leaves(right, _beside(_TURNED.get(operator, operator), a, holds))


_HOLDS = {
    "=": int.__eq__, "!=": int.__ne__, "<": int.__lt__, "<=": int.__le__,
    ">": int.__gt__, ">=": int.__ge__,
}  # fmt: skip
_TURNED = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}


def _beside(operator: str, other: int, holds: bool) -> int:
    """A left side that makes the comparison false where it `holds`, else true."""
    if operator in ("=", "!="):
        return other + 1 if holds == (operator == "=") else other
    below = other if operator in ("<=", ">") else other - 1  # on both sides of the bound
    return below + 1 if holds == (operator in ("<", "<=")) else below


def leaves(expr: Expr, value: int) -> Iterator[Leaf]:
    """What is read, and has to be what for the expression to have that value; where it can be
    said."""
    match expr:
        case _ if value < 0:
            return
        case Arrival():
            yield Leaf(expr, value)
        case Packet() | Layer4() | Announced() | Attribute() | Recalled():
            yield Leaf(expr, value & (1 << expr.width) - 1)
        case First(options):
            for option in options:
                yield from leaves(option, value)
        case Pick(_, then, otherwise):
            yield from leaves(then, value)
            yield from leaves(otherwise, value)
        case Arithmetic(operator, left, Const(known)):
            yield from leaves(left, _undone(operator, value, known))
        case Arithmetic("+", left, right):  # of two that are read: one is 0 often enough
            yield from leaves(left, value)
            yield from leaves(right, value)


def _undone(operator: str, value: int, known: int) -> int:
    """What comes to `value` by the operator and a constant; below 0 where nothing does."""
    match operator:
        case "+":
            return value - known
        case "-":
            return value + known
        case "*" | "/" if known:
            return value // known if operator == "*" else value * known
        case "<<":
            return value >> known
        case ">>":
            return value << known
        case "^":
            return value ^ known
        case "&" | "|" | "%" | "min" | "max" | "+|" | "-|":
            return value
    return -1


def operands(compared: Iterable[tuple[Condition, int, int]]) -> dict[int, tuple[int, int]]:
    """By the comparison itself, the same object in the pipeline: the last time that it was made."""
    return {id(condition): (left, right) for condition, left, right in compared}
