"""What a register can hold, over all ways that lead to an instruction: numbers and pointers."""

from __future__ import annotations

from dataclasses import dataclass, replace

MOST = (1 << 64) - 1
MOST32 = (1 << 32) - 1
FEW = 8  # numbers that are kept apart


@dataclass(frozen=True)
class Number:
    """A number in `low`..`high` (unsigned, 64 bits); one of `among` where that is not empty."""

    low: int = 0
    high: int = MOST
    among: frozenset[int] = frozenset()

    @property
    def constant(self) -> int | None:
        return self.low if self.low == self.high else None


@dataclass(frozen=True)
class Pointer:
    """To the context, the stack (of the function whose frame it is), a map or a value of it (or of
    one of several, their names joined by `|`), the packet or its end. `at` bytes behind `base`: a
    place that all pointers with the same base share. None: varying. `reach` is how far from the
    packet's start the base can be."""

    kind: str  # ctx, stack, value, packet, end, map
    of: str = ""  # the map, or the function
    at: int | None = 0
    base: object = None
    reach: int = 0


@dataclass(frozen=True)
class Mixed:
    """Different things by the way that was taken; nothing can be done with it but copy it."""


Value = Number | Pointer | Mixed

ANY = Number()
ANY32 = Number(0, MOST32)
UNSET = Mixed()


def number(value: int) -> Number:
    value &= MOST
    return Number(value, value, frozenset({value}))


def numbers(values: frozenset[int]) -> Number:
    few = values if len(values) <= FEW else frozenset[int]()
    return Number(min(values), max(values), few)


def join(a: Value, b: Value, where: object) -> Value:
    """What holds on both ways. `where` names the place, as the base of what differs there."""
    if a == b:
        return a
    if isinstance(a, Number) and isinstance(b, Number):
        if a.among and b.among:
            return numbers(a.among | b.among)
        return Number(min(a.low, b.low), max(a.high, b.high))
    if isinstance(a, Pointer) and isinstance(b, Pointer) and a.kind == b.kind in ("map", "value"):
        maps = "|".join(sorted({*a.of.split("|"), *b.of.split("|")}))
        return replace(a, of=maps, at=a.at if a.at == b.at else None)
    if isinstance(a, Pointer) and isinstance(b, Pointer) and (a.kind, a.of) == (b.kind, b.of):
        reach = max(a.reach, b.reach)
        if (a.at, a.base) == (b.at, b.base):
            return replace(a, reach=reach)
        if a.kind == "packet":  # as if something that varies had been added
            return Pointer("packet", at=0, base=where, reach=max(_reach(a), _reach(b)))
        return replace(a, at=None)
    for pointer, other in ((a, b), (b, a)):  # null, until it is tested
        if isinstance(pointer, Pointer) and isinstance(other, Number):
            return pointer if other.constant == 0 else UNSET
    return UNSET


def _reach(pointer: Pointer) -> int:
    return pointer.reach + max(pointer.at or 0, 0)


def widened(old: Value, new: Value) -> Value:
    """For what keeps growing round a loop; a few numbers do not."""
    if isinstance(old, Number) and isinstance(new, Number) and old != new and not new.among:
        low = new.low if new.low == old.low else 0
        return Number(low, new.high if new.high == old.high else MOST)
    return new


# ---- arithmetic -----------------------------------------------------------------------------


def alu(op: str, wide: bool, a: Value, b: Value, place: object) -> Value:
    """The result of an operation on 64 or 32 bits; `place` names the instruction."""
    if isinstance(a, Pointer) or isinstance(b, Pointer):
        return _pointer(op, a, b, place) if wide else ANY32
    if not (isinstance(a, Number) and isinstance(b, Number)):
        return ANY if wide else ANY32
    most = MOST if wide else MOST32
    if not wide:
        a, b = _narrow(a), _narrow(b)
    if a.among and b.among and len(a.among) * len(b.among) <= FEW * 2:
        found = {_exact(op, x, y, 64 if wide else 32) for x in a.among for y in b.among}
        if None not in found:
            return numbers(frozenset(x for x in found if x is not None))
    return _range(op, a, b, most)


def _narrow(a: Number) -> Number:
    if a.among:
        return numbers(frozenset(x & MOST32 for x in a.among))
    return a if a.high <= MOST32 else ANY32


def _exact(op: str, x: int, y: int, bits: int) -> int | None:
    most = (1 << bits) - 1
    match op:
        case "+":
            return x + y & most
        case "-":
            return x - y & most
        case "*":
            return x * y & most
        case "&":
            return x & y
        case "|":
            return x | y
        case "^":
            return x ^ y
        case "<<":
            return x << (y & bits - 1) & most
        case ">>":
            return x >> (y & bits - 1)
    return None


def _range(op: str, a: Number, b: Number, most: int) -> Number:
    shift = b.constant
    match op:
        case "+" if a.high + b.high <= most:
            return Number(a.low + b.low, a.high + b.high)
        case "-" if a.low >= b.high:
            return Number(a.low - b.high, a.high - b.low)
        case "*" if a.high * b.high <= most:
            return Number(a.low * b.low, a.high * b.high)
        case "&":
            return Number(0, min(a.high, b.high))
        case "|" | "^":
            ones = (1 << max(a.high.bit_length(), b.high.bit_length())) - 1
            return Number(max(a.low, b.low) if op == "|" else 0, ones)
        case "<<" if shift is not None and a.high << shift <= most:
            return Number(a.low << shift, a.high << shift)
        case ">>" if shift is not None:
            return Number(a.low >> shift, a.high >> shift)
        case ">>":
            return Number(0, a.high)
    return Number(0, most)


def _pointer(op: str, a: Value, b: Value, place: object) -> Value:
    if op == "-" and isinstance(a, Pointer) and isinstance(b, Pointer):
        return ANY
    if op == "+" and isinstance(b, Pointer):
        a, b = b, a
    if not isinstance(a, Pointer) or not isinstance(b, Number) or op not in ("+", "-"):
        return ANY
    constant = b.constant
    if constant is not None and a.at is not None:
        by = constant - (1 << 64) if constant >> 63 else constant
        return replace(a, at=a.at + by if op == "+" else a.at - by)
    if a.kind == "packet":
        return Pointer("packet", at=0, base=(place, a.base), reach=_reach(a) + b.high)
    return replace(a, at=None)
