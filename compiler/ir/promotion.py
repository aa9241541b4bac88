"""Where C would compute something else than the representation says. Its unsigned integers of less
than 32 bits are promoted to `int`: what becomes negative there is a number of 32 bits here, and is
extended with its sign, compared by it and shifted with it."""

from __future__ import annotations

from collections.abc import Iterator

from . import expr as e
from . import nodes as n
from .expr import Expr
from .types import COMPARISONS, Array, Int, Operator, Pointer, Type, bits_of

_BY_SIZE = ("<", "<=", ">", ">=")
_WITH_SIGN = (">>", "/", "%")
_SHIFTS = ("<<", ">>")
#: Functions whose numbers are `int`.
_TAKE_INT = {"bpf_xdp_adjust_head", "bpf_xdp_adjust_tail", "move_begin"}


def misread(s: n.Statement, own: tuple[Expr, ...]) -> Iterator[Expr]:
    """Values of a statement, of which `own` are all expressions, that are perhaps negative in C
    where that matters. Who reads the words of a trace cuts them off."""
    if isinstance(s, n.Trace):
        return
    match s:
        case n.Let(name, value) if value is not None:
            yield from _widened(name.type, value)
        case n.LetArray(name, values) if isinstance(name.type, Array):
            for value in values:
                yield from _widened(name.type.of, value)
        case n.Set(place, value):
            yield from _widened(place.type, value)
        case n.Store(_, _, bits, value):
            yield from _widened(Int(bits), value)
    for x in own:
        yield from _operands(x)


def _operands(x: Expr) -> Iterator[Expr]:
    match x:
        case e.Binary("&&" | "||"):
            return
        case e.Binary(operator, left, right) if operator in _SHIFTS:
            if operator == ">>" and may_be_negative(left):
                yield left
        case e.Binary(operator, left, right):
            yield from _widened(right.type, left)
            yield from _widened(left.type, right)
            signed = operator in _WITH_SIGN or (operator in _BY_SIZE and _is_int(right))
            if signed and _is_int(left):
                yield from (side for side in (left, right) if may_be_negative(side))
        case e.Cast(type_, operand):
            yield from _widened(type_, operand)
        case e.Choice(_, then, otherwise):
            yield from _widened(otherwise.type, then)
            yield from _widened(then.type, otherwise)
        case e.Which(subject) if may_be_negative(subject):
            yield subject
        case e.Call(function, arguments) if function not in _TAKE_INT:
            yield from filter(may_be_negative, arguments)
        case e.TableCall(_, _, arguments) | e.RegisterCall(_, _, arguments):
            yield from filter(may_be_negative, arguments)
        case e.StateCall(_, _, arguments):
            yield from filter(may_be_negative, arguments)


def _widened(type_: Type, value: Expr) -> Iterator[Expr]:
    """The value, where the type it becomes would take its sign."""
    if (isinstance(type_, Pointer) or bits_of(type_) > 32) and may_be_negative(value):
        yield value


def _is_int(x: Expr) -> bool:
    """Whether C has it as an `int`."""
    match x:
        case e.Number(value, type_):
            return type_.bits <= 32 and not value >> 31
        case e.Binary(operator, left, right) if operator not in COMPARISONS:
            return _is_int(left) and (operator in _SHIFTS or _is_int(right))
        case e.Unary("~" | "-", operand):
            return _is_int(operand)
        case e.Choice(_, then, otherwise):
            return _is_int(then) and _is_int(otherwise)
        case e.Cast(signed=True) | e.Event() | e.NotNull() | e.Unary() | e.Binary():
            return True
    return isinstance(x.type, Int) and x.type.bits < 32


def may_be_negative(x: Expr) -> bool:
    """Whether it is an `int` that may be less than 0."""
    if not _is_int(x):
        return False
    match x:
        case e.Cast(_, operand, signed):
            return signed and not (_is_int(operand) and not may_be_negative(operand))
        case e.Unary("~" | "-"):
            return True
        case e.Binary(operator, left, right) if operator not in COMPARISONS:
            return operator == "-" or _binary(operator, left, right)
        case e.Choice(_, then, otherwise):
            return may_be_negative(then) or may_be_negative(otherwise)
    return False


def _binary(operator: Operator, left: Expr, right: Expr) -> bool:
    """`+`, `*` and `<<` reach the sign where the bits of what they join do."""
    if operator == "&":
        return may_be_negative(left) and may_be_negative(right)
    if operator in (">>", "/", "%"):
        return may_be_negative(left)
    most = {"+": max(_most(left), _most(right)) * 2, "*": _most(left) * _most(right)}
    if operator == "<<":
        most["<<"] = _most(left) << (right.value if isinstance(right, e.Number) else 31)
    return bool(most.get(operator, 0) >> 31) or may_be_negative(left) or may_be_negative(right)


def _most(x: Expr) -> int:
    """What an `int` that is not negative comes to at most."""
    match x:
        case e.Number(value):
            return value
        case e.Binary("&", left, right):
            return min(_most(left), _most(right))
        case e.Binary(">>", left, e.Number(by)):
            return _most(left) >> by
        case e.Binary("+", left, right):
            return _most(left) + _most(right)
        case e.Binary("*", left, right):
            return _most(left) * _most(right)
        case e.Binary("<<", left, e.Number(by)):
            return _most(left) << by
        case e.Binary("|", left, right):
            return max(_most(left), _most(right)) * 2
        case e.Choice(_, then, otherwise):
            return max(_most(then), _most(otherwise))
        case e.Binary(operator) if operator in COMPARISONS:
            return 1
        case e.Unary("!") | e.NotNull():
            return 1
        case e.Event():
            return 0xFFFF
    return (1 << bits_of(x.type)) - 1
