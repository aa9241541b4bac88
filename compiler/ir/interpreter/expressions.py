"""What expressions come to. Numbers wrap at the width of their type; a value in network order is
the number that its bytes make up in memory."""

from __future__ import annotations

import operator
from collections import ChainMap
from collections.abc import Callable
from typing import Protocol

from .. import expr as e
from ..expr import Expr
from ..types import Array, Int, Struct, Type, bits_of
from ..types import Pointer as PointerType
from .layout import Layout
from .memory import Fault, Frame, NotInterpreted, Pointer, Region, Value, ones, swapped

CONSTANTS = {
    "XDP_ABORTED": 0, "XDP_DROP": 1, "XDP_PASS": 2, "XDP_TX": 3, "XDP_REDIRECT": 4,
    "ABSENT": 0xFFFF, "OF_IPV6": 0x8000, "UDP_CHECKSUM": 0x100,
}  # fmt: skip

_NUMBERS: dict[str, Callable[[int, int], int]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "&": operator.and_,
    "|": operator.or_, "^": operator.xor, "<<": operator.lshift, ">>": operator.rshift,
}  # fmt: skip
_COMPARED: dict[str, Callable[[int, int], bool]] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le,
    ">": operator.gt, ">=": operator.ge,
}  # fmt: skip

Numbers = dict[str, Value]


class Packet(Protocol):
    """What a packet's way has beside its functions' variables. `scratch`: the numbers of the
    scratch record."""

    frame: Frame
    layout: Layout
    scratch: Numbers

    def room(self, member: str, size: int) -> Pointer:
        """An array or a structure of the scratch record, with room for so many bytes."""

    def call(self, function: str, arguments: list[Value | str]) -> Value: ...
    def look(self, table: str, what: str, arguments: list[Value]) -> Value: ...
    def record(self, table: str, slot: int) -> Value: ...
    def ask_state(self, state: str, what: str, arguments: list[Value]) -> Value: ...
    def helper(self, name: str, registers: Numbers, a: int, b: int) -> int: ...


class Expressions:
    """Of a function that is carried out. `registers`: members of the state that are not in the
    scratch record; `names`: variables, None where they have no value yet."""

    def __init__(self, packet: Packet, registers: Numbers) -> None:
        self.packet, self.registers = packet, registers
        self.names: ChainMap[str, Value | None] = ChainMap({"ctx": 0, "st": 0})

    # ---- what is read -----------------------------------------------------------------------

    def value(self, x: Expr) -> Value:
        match x:
            case e.Number(value):
                return value
            case e.Symbol(name):
                return CONSTANTS[name]
            case e.Event(index):
                return index
            case e.Name(name):
                found = self.names.get(name)
                if found is None:
                    raise Fault(f"`{name}` has no value")
                return found
            case e.State(member, type_, scratch):
                if isinstance(type_, Struct | Array) or member in ("trace", "scratch"):
                    return self.place(x)
                return (self.packet.scratch if scratch else self.registers).get(member, 0)
            case e.Frame(edge):
                frame = self.packet.frame
                return frame.data if edge == "data" else frame.end
            case e.Load(base, at, bits):
                return (self.pointer(base) + self.number(at)).load(bits)
            case e.Member(_, _, type_) | e.Element(_, _, type_):
                place = self.place(x)
                return place.load(type_.bits) if isinstance(type_, Int) else place
            case e.Deref() | e.Address():
                return self.place(x)
        return self._computed(x)

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

    def _computed(self, x: Expr) -> Value:
        match x:
            case e.Binary():
                return self._binary(x)
            case e.Unary("!", operand):
                return int(not self.truth(operand))
            case e.Unary(sign, operand):
                number = self.number(operand)
                return (~number if sign == "~" else -number) & ones(bits_of(x.type))
            case e.Swap(operand):
                return swapped(self.number(operand), bits_of(operand.type))
            case e.Cast(type_, operand):
                found = self.value(operand)
                return found if isinstance(found, Pointer) else found & ones(bits_of(type_))
            case e.Choice(test, then, otherwise):
                return self.value(then if self.truth(test) else otherwise)
            case e.NotNull(pointer):
                return int(self.truth(pointer))
        return self._asked(x)

    def _binary(self, x: e.Binary) -> Value:
        if x.operator == "&&":
            return int(self.truth(x.left) and self.truth(x.right))
        if x.operator == "||":
            return int(self.truth(x.left) or self.truth(x.right))
        left, right = self.value(x.left), self.value(x.right)
        if x.operator in _COMPARED:
            return int(_compared(x.operator, left, right))
        if isinstance(left, Pointer) or isinstance(right, Pointer):
            return _moved(x, left, right)
        if x.operator in ("<<", ">>") and right >= bits_of(x.type):
            raise Fault(f"shifted by {right} bits: {x}")
        if x.operator not in _NUMBERS:
            raise NotInterpreted(x.operator)
        found = _NUMBERS[x.operator](left, right)
        return found & ones(bits_of(x.type))

    def _asked(self, x: Expr) -> Value:
        packet = self.packet
        match x:
            case e.Call(function, arguments, type_):
                found = packet.call(function, [self._argument(each) for each in arguments])
                return found & ones(bits_of(type_)) if isinstance(found, int) else found
            case e.TableCall(table, what, arguments):
                return packet.look(table, what, [self.value(each) for each in arguments])
            case e.RecordOf(table, slot):
                return packet.record(table, self.number(slot))
            case e.StateCall(state, what, arguments):
                return packet.ask_state(state, what, [self.value(each) for each in arguments])
            case e.HelperCall(function, a, b):
                return packet.helper(function, self.registers, self.number(a), self.number(b))
        raise NotInterpreted(type(x).__name__)

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
