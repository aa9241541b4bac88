"""What expressions come to. Numbers wrap at the width of their type; a value in network order is
the number that its bytes make up in memory."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, Protocol

from ....lang.text.frozen import kept
from .. import expr as e
from ..expr import Expr
from ..types import Array, Int, Struct, Type, bits_of
from ..types import Pointer as PointerType
from .layout import Layout
from .memory import Fault, Frame, NotInterpreted, Pointer, Region, Value, ones, signed, swapped

CONSTANTS = {
    "XDP_ABORTED": 0, "XDP_DROP": 1, "XDP_PASS": 2, "XDP_TX": 3, "XDP_REDIRECT": 4,
    "ABSENT": 0xFFFF, "OF_IPV6": 0x8000, "UDP_CHECKSUM": 0x100,
    "UPPER_LAYER": 0x200, "PSEUDO": 0x400,
    "AS_IPV4": 2, "AS_IPV6": 4, "AS_GRE": 8, "AS_UDP": 16, "AS_FRAME": 14 << 56,
    "NO_SEGMENTS": 1 << 32, "WHOLE": 1 << 33,
}  # fmt: skip

_NUMBERS: dict[str, Callable[[int, int], int]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "&": operator.and_,
    "|": operator.or_, "^": operator.xor, "<<": operator.lshift, ">>": operator.rshift,
    "/": operator.floordiv, "%": operator.mod,
}  # fmt: skip
_COMPARED: dict[str, Callable[[int, int], bool]] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le,
    ">": operator.gt, ">=": operator.ge,
}  # fmt: skip

Numbers = dict[str, Value]
#: Types of what is asked for its place, not for a number.
_PLACES = (Struct, Array)


class Packet(Protocol):
    """What a packet's way has beside its functions' variables. `scratch`: the numbers of the
    scratch record. `unplaced`: the unit is one before `place_state`, where the state is kept in
    memory, or (`in_memory` is false) in registers."""

    frame: Frame
    layout: Layout
    scratch: Numbers
    unplaced: bool
    in_memory: bool

    def room(self, member: str, size: int) -> Pointer:
        """An array or a structure of the scratch record, with room for so many bytes."""

    def call(self, function: str, arguments: list[Value | str]) -> Value: ...
    def look(self, table: str, what: str, arguments: list[Value]) -> Value: ...
    def record(self, table: str, slot: int) -> Value: ...
    def ask_state(self, call: e.StateCall, arguments: list[Value]) -> Value: ...

    def ask_registers(self, call: e.RegisterCall, numbers: list[int]) -> int: ...
    def helper(self, name: str, registers: Numbers, a: int, b: int) -> int: ...


@kept
def _mask(x: Expr) -> int:
    """All bits of an expression's type."""
    return ones(bits_of(x.type))


class Expressions:
    """Of a function that is carried out. `registers`: members of the state that are not in the
    scratch record; `names`: variables, None where they have no value yet, each known by one name
    at a time; `made`: of an unplaced unit's pointers what they were made of."""

    def __init__(self, packet: Packet, registers: Numbers) -> None:
        self.packet, self.registers = packet, registers
        self.names: dict[str, Value | None] = {"ctx": 0, "st": 0}
        self.made: dict[str, Expr] = {}

    # ---- what is read -----------------------------------------------------------------------

    def value(self, x: Expr) -> Value:
        """Raises `Fault`, `NotInterpreted`."""
        way = VALUES.get(type(x))
        if way is None:
            raise NotInterpreted(type(x).__name__)
        return way(self, x)

    def number(self, x: Expr) -> int:
        found = self.value(x)
        if isinstance(found, Pointer):
            raise Fault(f"a pointer is no number: {x}")
        return found

    def pointer(self, x: Expr) -> Pointer:
        found = self.value(x)
        if isinstance(found, int):
            raise Fault(f"a null pointer is followed: {x}" if not found else f"no pointer: {x}")
        return found

    def truth(self, x: Expr) -> bool:
        return self.value(x) != 0

    def _number(self, x: e.Number) -> Value:
        return x.value

    def _symbol(self, x: e.Symbol) -> Value:
        return CONSTANTS[x.name]

    def _event(self, x: e.Event) -> Value:
        return x.index

    def _name(self, x: e.Name) -> Value:
        found = self.names.get(x.name)
        if found is None:
            raise Fault(f"`{x.name}` has no value")
        return found

    def _state(self, x: e.State) -> Value:
        if isinstance(x.type, _PLACES) or x.member in ("trace", "scratch"):
            return self.place(x)
        return self.kept(x).get(x.member, 0)

    def kept(self, x: e.State) -> Numbers:
        """Where a member of the state is kept: in memory pointers do not outlast a function."""
        scratch = x.scratch or (self.packet.in_memory and isinstance(x.type, Int))
        return self.packet.scratch if scratch else self.registers

    def _state_pointer(self, x: e.StatePointer) -> Value:
        """In memory made again, as `place_state` does it, unless this function set it or made it of
        the same."""
        member = x.place.member
        if not self.packet.unplaced:
            raise Fault(f"not placed: {member}")
        if self.packet.in_memory and self.made.get(member) not in (x.place, x.again):
            self.registers[member] = self.value(x.again)
            self.made[member] = x.again
        found = self.registers.get(member, 0)
        if x.sure and not found:
            raise Fault(f"`{member}` is null, though the checker saw that it is not")
        return found

    def _frame(self, x: e.Frame) -> Value:
        frame = self.packet.frame
        return frame.data if x.edge == "data" else frame.end

    def _load(self, x: e.Load) -> Value:
        return self.pointer(x.base).load(x.bits, self.number(x.at))

    def _member(self, x: e.Member | e.Element) -> Value:
        place = self.place(x)
        return place.load(x.type.bits) if isinstance(x.type, Int) else place

    # ---- operators --------------------------------------------------------------------------

    mask = staticmethod(_mask)

    def _unary(self, x: e.Unary) -> Value:
        if x.operator == "!":
            return int(not self.truth(x.operand))
        number = self.number(x.operand)
        return (~number if x.operator == "~" else -number) & self.mask(x)

    def _swap(self, x: e.Swap) -> Value:
        return swapped(self.number(x.operand), self.mask(x).bit_length())

    def _cast(self, x: e.Cast) -> Value:
        found = self.value(x.operand)
        if isinstance(found, Pointer):
            return found
        return (signed(found) if x.signed else found) & self.mask(x)

    def _choice(self, x: e.Choice) -> Value:
        return self.value(x.then if self.truth(x.test) else x.otherwise)

    def _which(self, x: e.Which) -> Value:
        return x.number_of(self.number(x.subject))

    def _not_null(self, x: e.NotNull) -> Value:
        return int(self.truth(x.pointer))

    def _binary(self, x: e.Binary) -> Value:
        op = x.operator
        if op == "&&":
            return int(self.truth(x.left) and self.truth(x.right))
        if op == "||":
            return int(self.truth(x.left) or self.truth(x.right))
        left, right = self.value(x.left), self.value(x.right)
        if op in _COMPARED:
            return int(_compared(op, left, right))
        if isinstance(left, Pointer) or isinstance(right, Pointer):
            return _moved(x, left, right)
        mask = self.mask(x)
        if op in ("<<", ">>") and right >= mask.bit_length():
            raise Fault(f"shifted by {right} bits: {x}")
        if op in ("/", "%") and not right:
            raise Fault(f"divided by 0: {x}")
        return _NUMBERS[op](left, right) & mask

    # ---- what is asked ----------------------------------------------------------------------

    def _call(self, x: e.Call) -> Value:
        found = self.packet.call(x.function, [self._argument(each) for each in x.arguments])
        return found & self.mask(x) if isinstance(found, int) else found

    def _table_call(self, x: e.TableCall) -> Value:
        return self.packet.look(x.table, x.what, [self.value(each) for each in x.arguments])

    def _record_of(self, x: e.RecordOf) -> Value:
        return self.packet.record(x.table, self.number(x.slot))

    def _state_call(self, x: e.StateCall) -> Value:
        return self.packet.ask_state(x, [self.value(each) for each in x.arguments])

    def _register_call(self, x: e.RegisterCall) -> Value:
        return self.packet.ask_registers(x, [self.number(each) for each in x.arguments])

    def _helper_call(self, x: e.HelperCall) -> Value:
        return self.packet.helper(x.function, self.registers, self.number(x.a), self.number(x.b))

    def _argument(self, x: Expr) -> Value | str:
        """A map by its name; of a number's address a copy."""
        match x:
            case e.Address(e.Symbol(name)):
                return name
            case e.Address(e.Name(_, Int(bits)) as name):
                size = bits // 8
                return Pointer(Region("key", bytearray(self.number(name).to_bytes(size, "little"))))
        return self.value(x)

    # ---- places in memory -------------------------------------------------------------------

    def place(self, x: Expr) -> Pointer:
        match x:
            case e.Address(place):
                return self.place(place)
            case e.Deref(pointer):
                return self.pointer(pointer)
            case e.Name():
                return self.pointer(x)
            case e.State(member, type_):
                return self.packet.room(member, self._size(type_))
            case e.Member(base, member):
                start, struct = self._base(base), _struct(base.type)
                return start + self.packet.layout.offsets[struct][member]
            case e.Element(array, index, of):
                at = self.number(index) * of.bits // 8
                if isinstance(array, e.State) and isinstance(array.type, Array):
                    return self.packet.room(array.member, at + of.bits // 8) + at
                return self._base(array) + at
        raise Fault(f"no place in memory: {x}")

    def _base(self, x: Expr) -> Pointer:
        return self.pointer(x) if isinstance(x.type, PointerType) else self.place(x)

    def _size(self, type_: Type) -> int:
        match type_:
            case Struct(name):
                return self.packet.layout.sizes[name]
            case Array(of, count):
                return of.bits // 8 * count
            case PointerType(to):
                return self.packet.layout.sizes.get(to.removeprefix("struct "), 8)
        return bits_of(type_) // 8

    def copied(self, x: Expr) -> Pointer:
        """A structure's bytes in a place of their own."""
        size = self._size(x.type)
        return Pointer(Region(str(x.type), bytearray(self.place(x).read(size))))

    def zeros(self, type_: Type) -> Pointer:
        return Pointer(Region(str(type_), bytearray(self._size(type_))))


def _struct(type_: Type) -> str:
    match type_:
        case Struct(name):
            return name
        case PointerType(to):
            return to.removeprefix("struct ")
    raise Fault(f"no structure: {type_}")


def _compared(op: str, left: Value, right: Value) -> bool:
    if isinstance(left, int) and isinstance(right, int):
        return _COMPARED[op](left, right)
    if isinstance(left, Pointer) and isinstance(right, Pointer):
        if left.region is not right.region:
            raise Fault(f"pointers of two places are compared: {left.region.name}")
        return _COMPARED[op](left.at, right.at)
    if op not in ("==", "!="):
        raise Fault(f"a pointer and a number are compared: {left} {op} {right}")
    return (op == "!=") == (left != right)


def _moved(x: e.Binary, left: Value, right: Value) -> Value:
    match x.operator, left, right:
        case "+", Pointer(), int():
            return left + right
        case "+", int(), Pointer():
            return right + left
        case "-", Pointer(), int():
            return left + -right
        case "-", Pointer(), Pointer() if left.region is right.region:
            return (left.at - right.at) & ones(64)
    raise Fault(f"computed with a pointer: {x}")


#: What interprets each kind of expression.
VALUES: dict[type[Expr], Callable[[Any, Any], Value]] = {
    e.Number: Expressions._number, e.Symbol: Expressions._symbol, e.Event: Expressions._event,
    e.Name: Expressions._name, e.State: Expressions._state, e.Frame: Expressions._frame,
    e.StatePointer: Expressions._state_pointer, e.Load: Expressions._load,
    e.Member: Expressions._member, e.Element: Expressions._member,
    e.Deref: Expressions.place, e.Address: Expressions.place,
    e.Binary: Expressions._binary, e.Unary: Expressions._unary, e.Swap: Expressions._swap,
    e.Cast: Expressions._cast, e.Choice: Expressions._choice, e.NotNull: Expressions._not_null,
    e.Which: Expressions._which,
    e.Call: Expressions._call, e.TableCall: Expressions._table_call,
    e.RecordOf: Expressions._record_of, e.StateCall: Expressions._state_call,
    e.RegisterCall: Expressions._register_call, e.HelperCall: Expressions._helper_call,
}  # fmt: skip
