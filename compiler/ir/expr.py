"""Expressions: values without effects, each with its type. Operators of Python build them, and fold
what is known: `site.offset(node) + 8`.

Integers follow the rules of C: narrower operands are widened to 32 bits.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

from ...lang.text.frozen import Frozen, kept
from .names import constant_name
from .types import (
    BYTES,
    U32,
    U64,
    Array,
    Int,
    Operator,
    Pointer,
    Type,
    bits_of,
    is_network,
    raw,
    type_of,
    wider,
)


class Expr(Frozen):
    """What all expressions can do. Numbers of Python may stand on either side of an operator."""

    if TYPE_CHECKING:

        @property
        def type(self) -> Type: ...

    def __add__(self, other: Operand) -> Expr:
        return binary("+", self, other)

    def __radd__(self, other: int) -> Expr:
        return binary("+", number(other), self)

    def __sub__(self, other: Operand) -> Expr:
        return binary("-", self, other)

    def __mul__(self, other: Operand) -> Expr:
        return binary("*", self, other)

    def __and__(self, other: Operand) -> Expr:
        return binary("&", self, other)

    def __or__(self, other: Operand) -> Expr:
        return binary("|", self, other)

    def __lshift__(self, other: Operand) -> Expr:
        return binary("<<", self, other)

    def __rshift__(self, other: Operand) -> Expr:
        return binary(">>", self, other)

    def __lt__(self, other: Operand) -> Expr:
        return binary("<", self, other)

    def __le__(self, other: Operand) -> Expr:
        return binary("<=", self, other)

    def __gt__(self, other: Operand) -> Expr:
        return binary(">", self, other)

    def __ge__(self, other: Operand) -> Expr:
        return binary(">=", self, other)

    def __invert__(self) -> Expr:
        return Unary("~", self)

    def is_(self, other: Operand) -> Expr:
        """`==`."""
        return binary("==", self, other)

    def is_not(self, other: Operand) -> Expr:
        """`!=`."""
        return binary("!=", self, other)


Operand = Expr | int


class Part(Frozen):
    """What statements hold of several expressions that belong together."""


# ---- leaves ---------------------------------------------------------------------------------


class Number(Expr):
    """Known when the program is compiled; `name`: what C calls it, if there is a name for it."""

    value: int
    type: Int = U32
    name: str = ""


class Name(Expr):
    """A local variable, or an argument."""

    name: str
    type: Type = U32


class Symbol(Expr):
    """What C knows under a name everywhere: a constant, a map."""

    name: str
    type: Type = U32


class Event(Expr):
    """The index of a counter in the map `events`; `symbol`: its name in C."""

    index: int
    group: str
    reason: str
    symbol: str

    @property
    def type(self) -> Type:
        return U32


class State(Expr):
    """A member of what is known of a packet: `st->member`, or where stages that come later find it,
    `st->scratch->member`."""

    member: str
    type: Type = U32
    scratch: bool = False


class StatePointer(Expr):
    """A pointer that is kept in the state, at `place`; where that is not so, it can be made
    `again`. It may be null, but for one that is `sure`: there the checker saw that it is not."""

    place: State
    again: Expr
    sure: bool = False

    @property
    def type(self) -> Type:
        return self.place.type


CTX = Name("ctx", Pointer("struct xdp_md"))
ST = Name("st", Pointer("struct state"))
ROLE = Name("role")  # of a program: see passes/join_parsers.py


# ---- memory ---------------------------------------------------------------------------------


class Load(Expr):
    """So many bits from byte `at` behind a pointer on, as they stand there."""

    base: Expr
    at: Expr
    bits: int

    @property
    def type(self) -> Type:
        return raw(self.bits)


class Frame(Expr):
    """Where the packet's bytes begin ("data") or end ("data_end"), as the context says it now."""

    edge: Literal["data", "data_end"]

    @property
    def type(self) -> Type:
        return BYTES


class Member(Expr):
    """A member of the structure that a pointer leads to, or that a name stands for."""

    base: Expr
    member: str
    type: Type = U32


class Element(Expr):
    """An element of an array."""

    array: Expr
    index: Expr
    type: Int = U64


class Deref(Expr):
    """What a pointer leads to, as a whole."""

    pointer: Expr
    type: Type


class Address(Expr):
    """Of a place in memory."""

    place: Expr

    @property
    def type(self) -> Type:
        return BYTES


# ---- operators ------------------------------------------------------------------------------


class Binary(Expr):
    operator: Operator
    left: Expr
    right: Expr

    @property
    @kept
    def type(self) -> Type:
        return type_of(self.operator, self.left.type, self.right.type)


class Unary(Expr):
    """`!` of anything, which is 0 or 1; `~` and `-` of integers."""

    operator: Literal["!", "~", "-"]
    operand: Expr

    @property
    def type(self) -> Type:
        if self.operator == "!":
            return U32
        return Int(max(32, bits_of(self.operand.type)), is_network(self.operand.type))


class Swap(Expr):
    """The other byte order."""

    operand: Expr

    @property
    def type(self) -> Type:
        of = self.operand.type
        return Int(bits_of(of), not is_network(of))


class Cast(Expr):
    """Cut off or filled up to a type. `signed`: as C's `int` of 32 bits."""

    type: Type
    operand: Expr
    signed: bool = False


class Choice(Expr):
    """`test ? then : otherwise`."""

    test: Expr
    then: Expr
    otherwise: Expr

    @property
    def type(self) -> Type:
        return wider(self.then.type, self.otherwise.type)


class Which(Expr):
    """The number of the range that a value lies in, 0 if it is in none. `ranges`: the first and the
    last value and the number of each, which begins behind the one before."""

    subject: Expr
    ranges: tuple[tuple[int, int, int], ...]

    @property
    def type(self) -> Type:
        return U32

    def number_of(self, value: int) -> int:
        return next((n for low, high, n in self.ranges if low <= value <= high), 0)


class NotNull(Expr):
    """Whether a pointer is not null, by a branch that clang joins with no other; of a place in
    memory also read again."""

    pointer: Expr

    @property
    def type(self) -> Type:
        return U32


class Call(Expr):
    """A function of the runtime header (templates/helio.bpf.h), or of the kernel."""

    function: str
    arguments: tuple[Expr, ...]
    type: Type = U32


class TableCall(Expr):
    """What a rule kind's table is asked. `find`: cell (upper half) and slot of the best rule for an
    epoch and a key, 0 if none matches; on a card, the entry for a key. `slot_of`, `at`: slot and
    record of a cell for an epoch. `fetch`: nothing but that the rule of a cell is in the CPU's
    cache soon, if it has the number of another cell, that of the rule which refers to it.
    `sequence_of`, `id_of`: of the rule of a cell, for an epoch. `kept`: the slot of a cell for an
    epoch, if the rule there has that sequence; else 0. `cell_of`: the cell of a slot.
    `packets`, `bytes`: what the rule of a cell counted on all CPUs so far. `meter`: what the meter
    of a cell says of a packet, by its length (1: in packets), the values of the meter's elements
    and the colour that it has: one of COLOUR_BITS; the same as before, if that cell was the last of
    the kind that was asked."""

    table: str
    what: Literal[
        "find", "slot_of", "at", "fetch", "sequence_of", "id_of", "kept", "cell_of", "packets",
        "bytes", "meter",
    ]  # fmt: skip
    arguments: tuple[Expr, ...]
    type: Type


class RecordOf(Expr):
    """The pointer to a rule's record by the place that holds its slot; null if there is none."""

    table: str
    slot: Expr

    @property
    def type(self) -> Type:
        return Pointer(f"struct {self.table}_record")


class StateCall(Expr):
    """What is done to a state's table, at the addresses of these arguments.

    `recall` (key, got): `got` becomes the entry of the key; whether there is one. `remember` (key,
    entry): the entry of the key becomes this. Of a state that is changed in place, `got` and `held`
    (where the entry is) stand behind, and there are `add` (key, entry, got, held): the same if the
    key has no entry, whether it had none; `forget` (key); with a `slot` the changes, `set`, `plus`
    … (got, held, value): whether the entry is there still; and `exchange` (got, held, before,
    after): 0 if it is gone, 1 if it held `before`, 2 if not. Where entries count, `recall`,
    `remember` and `add` have the packet's length behind all others. `meter` (held, and as of a
    rule): 0 if the entry is gone."""

    state: str
    what: str
    arguments: tuple[Expr, ...]
    slot: str = ""
    number: int = 0  # of the slot

    @property
    def type(self) -> Type:
        return U32

    @property
    def function(self) -> str:
        """Of the state's own: by the slot's number, as names of states and slots may join to the
        same."""
        return f"{self.what}_{self.number}" if self.slot else self.what


class RegisterCall(Expr):
    """What is done to an array of registers. `read` (cell), where it is number `cell` of all;
    `set`, `plus`, `minus` (cell, value), which give nothing."""

    registers: str
    what: Literal["read", "set", "plus", "minus"]
    arguments: tuple[Expr, ...]

    @property
    def type(self) -> Type:
        return U64


class HelperCall(Expr):
    """What a function of the same role returns for two numbers."""

    function: str
    a: Expr
    b: Expr

    @property
    def type(self) -> Type:
        return U32


# ---- builders -------------------------------------------------------------------------------


def number(value: int, bits: int = 32) -> Number:
    value = int(value)  # C does not know Python's `True`
    return Number(value, Int(max(bits, 64 if value >> 32 else 32, 128 if value >> 64 else 0)))


def named(value: int, *parts: str) -> Number:
    """A number with a name of these parts."""
    return Number(value, U32, constant_name(*parts))


def expr(value: Operand) -> Expr:
    return number(value) if isinstance(value, int) else value


ZERO, ONE = number(0), number(1)

_FOLDS: dict[str, Callable[[int, int], int]] = {
    "+": operator.add, "*": operator.mul, "&": operator.and_, "|": operator.or_,
    "^": operator.xor, "<<": operator.lshift, ">>": operator.rshift,
}  # fmt: skip
_TURNED: dict[Operator, Operator] = {
    "<": ">", ">": "<", "<=": ">=", ">=": "<=", "==": "==", "!=": "!="
}  # fmt: skip
_NEUTRAL = {"+": 0, "-": 0, "<<": 0, ">>": 0, "|": 0}


def binary(op: Operator, left: Operand, right: Operand) -> Expr:
    """Of two numbers the result, where that fits into 64 bits; `x + 0` is x; numbers that are added
    one after the other are one."""
    if op == "+" and isinstance(right, int) and right < 0:  # there are no negative numbers
        op, right = "-", -right
    a, b = expr(left), expr(right)
    if isinstance(b, Number) and isinstance(a, Number) and op in _FOLDS:
        found = _FOLDS[op](a.value, b.value)
        if found < 1 << 64:
            return number(found, bits_of(type_of(op, a.type, b.type)))
    if isinstance(b, Number) and _NEUTRAL.get(op) == b.value:
        return a
    if isinstance(a, Number) and op in ("+", "|") and not a.value:
        return b
    if isinstance(a, Number) and op in _TURNED:
        return Binary(_TURNED[op], b, a)
    if op == "+" and isinstance(b, Number):
        match a:
            case Binary("+", left, Number(known)):
                return Binary("+", left, number(known + b.value))
    return Binary(op, a, b)


def not_(operand: Expr) -> Expr:
    match operand:
        case Binary("==", left, right):
            return Binary("!=", left, right)
        case Binary("!=", left, right):
            return Binary("==", left, right)
    return Unary("!", operand)


def load(base: Expr, at: Operand, bits: int) -> Load:
    return Load(base, expr(at), bits)


def element(array: Expr, index: Operand) -> Element:
    of = array.type.of if isinstance(array.type, Array) else U64
    if isinstance(array.type, Pointer):
        of = Int(int(array.type.to.removeprefix("u")))
    return Element(array, expr(index), of)


def as_bytes(operand: Expr) -> Expr:
    """The number that a value's bytes make up in memory, whatever their order: of one in network
    order only this is shifted, cut off or put into a key."""
    return Cast(Int(bits_of(operand.type)), operand) if is_network(operand.type) else operand
