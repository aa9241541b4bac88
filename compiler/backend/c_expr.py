"""Expressions of the intermediate representation as C. Parentheses stand where C, or a reader,
needs them: around operators of bits within others."""

from __future__ import annotations

from ..ir import expr as e
from ..ir.types import Int, Pointer, bits_of, c_type, is_network
from .searches import search_of

_STRENGTH = {
    "*": 10, "/": 10, "%": 10, "+": 9, "-": 9, "<<": 8, ">>": 8, "<": 7, "<=": 7, ">": 7, ">=": 7,
    "==": 6, "!=": 6, "&": 5, "^": 4, "|": 3, "&&": 2, "||": 1,
}  # fmt: skip
_CHOICE, _UNARY, _PRIMARY = 0, 11, 12
_OF_BITS = {"&", "|", "^", "<<", ">>"}

_TO_HOST = {16: "bpf_ntohs", 32: "bpf_ntohl", 64: "bpf_be64_to_cpu", 128: "swap128"}
_TO_NETWORK = {16: "bpf_htons", 32: "bpf_htonl", 64: "bpf_cpu_to_be64", 128: "swap128"}


def text_of(x: e.Expr) -> str:
    return _text(x)[0]


def _text(x: e.Expr) -> tuple[str, int]:
    """The text, and how strongly its outermost operator binds."""
    match x:
        case e.Number(value, type_, name):
            return name or _number(value, type_.bits), _PRIMARY
        case e.Name(name) | e.Symbol(name):
            return name, _PRIMARY
        case e.Event(symbol=symbol):
            return symbol, _PRIMARY
        case e.State(member, _, scratch):
            return f"st->{'scratch->' if scratch else ''}{member}", _PRIMARY
        case e.Load(base, at, bits):
            return f"load{bits}({text_of(base)}, {text_of(at)})", _PRIMARY
        case e.Frame(edge):
            return f"(void *)(long)ctx->{edge}", _UNARY
        case e.Member(base, member):
            return f"{_within(base, _PRIMARY)}{_joint(base)}{member}", _PRIMARY
        case e.Element(array, index):
            return f"{_within(array, _PRIMARY)}[{text_of(index)}]", _PRIMARY
        case e.Deref(pointer):
            return f"*{_within(pointer, _UNARY)}", _UNARY
        case e.Address(place):
            return f"&{_within(place, _PRIMARY)}", _UNARY
        case e.NotNull(pointer):
            return f"not_null({text_of(pointer)})", _PRIMARY
        case e.Call(function, arguments):
            return f"{function}({', '.join(map(text_of, arguments))})", _PRIMARY
        case e.TableCall(table, what, arguments):
            return f"{table}_{what}({', '.join(map(text_of, arguments))})", _PRIMARY
        case e.RecordOf(table, slot):
            return f"bpf_map_lookup_elem(&{table}_records, &{text_of(slot)})", _PRIMARY
        case e.StateCall(state, _, arguments):
            return f"{state}_{x.function}({', '.join(map(text_of, arguments))})", _PRIMARY
        case e.RegisterCall(registers, what, arguments):
            return f"{registers}_{what}({', '.join(map(text_of, arguments))})", _PRIMARY
        case e.HelperCall(function, a, b):
            return f"{function}(ctx, st, {text_of(a)}, {text_of(b)})", _PRIMARY
        case e.Swap(e.Load(base, at, bits)):
            return f"load_be{bits}({text_of(base)}, {text_of(at)})", _PRIMARY
        case e.Swap(operand):
            names = _TO_HOST if is_network(operand.type) else _TO_NETWORK
            return f"{names[bits_of(operand.type)]}({text_of(operand)})", _PRIMARY
        case e.Unary(operator, operand):
            return f"{operator}{_within(operand, _UNARY)}", _UNARY
        case e.Cast(Int(bits, network), operand, False) if operand.type == Int(bits, not network):
            return _text(operand)  # C knows no order
        case e.Cast(type_, operand, signed):
            name = "int" if signed else c_type(type_)
            return f"({name}){_within(operand, _UNARY)}", _UNARY
        case e.Choice(test, then, otherwise):
            text = f"{_within(test, 1)} ? {_within(then, 1)} : {_within(otherwise, _CHOICE)}"
            return text, _CHOICE
        case e.Which(subject):
            return f"{search_of(x)}({text_of(subject)})", _PRIMARY
        case e.Binary(operator, left, right):
            strength = _STRENGTH[operator]
            sides = (
                _side(_beside(left, right, operator), operator, False),
                _side(_beside(right, left, operator), operator, True),
            )
            return f"{sides[0]} {operator} {sides[1]}", strength
    raise AssertionError(x)


def _within(x: e.Expr, least: int) -> str:
    text, strength = _text(x)
    return text if strength >= least else f"({text})"


def _beside(x: e.Expr, other: e.Expr, operator: str) -> e.Expr:
    """A number without what says its width, where what it is joined with says as much."""
    if not isinstance(x, e.Number) or x.name:
        return x
    if isinstance(other, e.Number) or operator in ("<<", ">>"):
        return x
    return e.number(x.value) if bits_of(other.type) >= x.type.bits else x


def _side(x: e.Expr, operator: str, right: bool) -> str:
    """An operand, where need be in parentheses: as well where the compiler would warn."""
    text, strength = _text(x)
    own = _STRENGTH[operator]
    if isinstance(x, e.Number) and operator in ("&", "|", "^") and x.value > 9:
        return f"{x.value:#x}" if x.type.bits <= 32 else text
    if not isinstance(x, e.Binary):
        return text if strength > own else f"({text})"
    if x.operator == operator and (operator in ("&&", "||") or not right):
        return text
    mixed = operator in _OF_BITS or x.operator in _OF_BITS or (operator, x.operator) == ("||", "&&")
    plain = strength > own if right else strength >= own
    return text if plain and not mixed else f"({text})"


def _joint(base: e.Expr) -> str:
    return "->" if isinstance(base.type, Pointer) else "."


def _number(value: int, bits: int) -> str:
    """None of C has more than 64 bits, so an IPv6 address is made of two."""
    if value >> 64:
        return f"((u128){value >> 64:#x}ULL << 64 | {value & (1 << 64) - 1:#x}ULL)"
    text = str(value) if value < 256 else f"{value:#x}"
    if bits > 64:
        return f"((u128){text}{'ULL' if value >> 32 else ''})"
    return f"{text}ULL" if bits > 32 else text
