"""Types of values: integers by width and byte order, pointers, and what lies in local memory; what
operators make of them."""

from __future__ import annotations

from typing import Literal

from ...lang.text.frozen import Frozen


class Int(Frozen):
    """An unsigned integer of 8, 16, 32, 64 or 128 bits. `network`: its bytes are in network order,
    as they stand in a packet; a number only after `Swap`."""

    bits: int
    network: bool = False


class Pointer(Frozen):
    """To a packet's bytes ("void"), or to what C calls `to`."""

    to: str = "void"


class Struct(Frozen):
    """`struct name`, in local memory."""

    name: str


class Array(Frozen):
    """`count` integers, in local memory."""

    of: Int
    count: int


Type = Int | Pointer | Struct | Array

U8, U16, U32, U64, U128 = map(Int, (8, 16, 32, 64, 128))
BYTES = Pointer()


def raw(bits: int) -> Int:
    """The type of so many bits as they stand in a packet. One byte has no order."""
    return Int(bits, network=bits > 8)


def bits_of(type_: Type) -> int:
    """Width of an integer or a pointer, in bits."""
    return type_.bits if isinstance(type_, Int) else 64


def is_network(type_: Type) -> bool:
    return isinstance(type_, Int) and type_.network


def c_type(type_: Type) -> str:
    """The type's name in C; of an array that of its elements."""
    match type_:
        case Int(bits):
            return f"u{bits}"
        case Pointer(to):
            return f"{to} *"
        case Struct(name):
            return f"struct {name}"
        case Array(of):
            return f"u{of.bits}"


# ---- of what operators make -------------------------------------------------------------------

Operator = Literal[
    "+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>",
    "==", "!=", "<", "<=", ">", ">=", "&&", "||",
]  # fmt: skip
COMPARISONS = {"==", "!=", "<", "<=", ">", ">=", "&&", "||"}


def type_of(op: Operator, left: Type, right: Type) -> Type:
    """What an operator makes of two types."""
    if op in COMPARISONS:
        return U32
    if isinstance(left, Pointer):
        return U64 if isinstance(right, Pointer) else left
    if isinstance(right, Pointer):
        return right
    bits = max(bits_of(left), 0 if op in ("<<", ">>") else bits_of(right))
    if op in ("&", "|", "^") and is_network(left) and is_network(right):
        return Int(bits, network=True)
    return Int(max(32, bits))


def wider(left: Type, right: Type) -> Type:
    """The type of a choice between the two."""
    if not (isinstance(left, Int) and isinstance(right, Int)):
        return right if isinstance(left, Int) else left
    if left.network or right.network:
        return left if left.network else right
    return left if left.bits >= right.bits else right
