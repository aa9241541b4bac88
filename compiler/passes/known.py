"""What is known behind tests that a packet passed: what expressions came to, and so what is left to
compute of others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from ..headers.frame import DATA, END
from ..ir.expr import (
    ONE,
    ZERO,
    Binary,
    Call,
    Cast,
    Expr,
    Frame,
    Load,
    Name,
    Number,
    State,
    Swap,
    Unary,
    binary,
)
from ..ir.rewrite import rebuilt
from ..ir.types import Int, bits_of
from .fold_constants import decided
from .simplify import simpler


@dataclass
class Known:
    """`names`, `state`: what variables are, and members of the scratch record. `facts`: what
    expressions are. `most`: the bytes of the frame that some test asks for."""

    names: dict[str, Expr] = field(default_factory=dict)
    state: dict[str, Expr] = field(default_factory=dict)
    facts: dict[Expr, Expr] = field(default_factory=dict)
    most: int = 0

    def copy(self) -> Known:
        """For a branch, which asks for bytes of its own."""
        return Known(dict(self.names), dict(self.state), dict(self.facts))

    def value(self, x: Expr) -> Expr:
        """An expression, of what is known: places in the frame are so many bytes behind DATA."""
        return rebuilt(x, self._known)

    def truth(self, test: Expr) -> Expr:
        return _truth(self.value(test))

    def holds(self, test: Expr) -> None:
        """From here on a test holds, of what is known."""
        self.facts[test] = ONE
        match test:
            case Binary("&&", left, right):
                self.holds(left)
                self.holds(right)
            case Binary("==", left, Number(value)) if isinstance(left.type, Int):
                if not left.type.network:
                    self.facts[left] = Number(value, left.type)
            case Unary("!", inner):
                self.fails(inner)

    def fails(self, test: Expr) -> None:
        self.facts[test] = ZERO
        match test:
            case Binary("||", left, right):
                self.fails(left)
                self.fails(right)
            case Binary("!=", left, right):
                self.holds(Binary("==", left, right))
            case Unary("!", inner):
                self.holds(inner)

    def _known(self, x: Expr) -> Expr:
        """Of an expression whose parts are known."""
        match x:
            case Name(name) if name in self.names:
                return self.names[name]
            case State(member) if member in self.state:
                return self.state[member]
            case Frame(edge):
                return DATA if edge == "data" else END
            case Call("forgotten", (_, inner)) | Call("opaque", (inner,)):
                return inner
            case Load(base, Number(at)) if (behind := place_in_frame(base)) is not None:
                x = replace(x, base=DATA, at=Number(behind + at))
            case Binary(">", place, end) if end == END:
                if (behind := place_in_frame(place)) is not None:
                    self.most = max(self.most, behind)
                    return ZERO
            case Binary("&&" | "||" as operator, left, right):
                x = _joined(operator == "&&", _truth(left), _truth(right))
            case Binary(">", value, Binary("-", limit, Number() as at)):
                # in C the difference is signed; a test in front saw that it is not below 0
                x = binary(">", binary("+", value, at), limit)
            case Binary("==", left, right) if left == right:
                return ONE
            case Binary("-", Number(left), Number(right)) if left >= right:
                return Number(left - right)
            case Binary("+", Number() as first, value):
                x = binary("+", value, first)
            case Binary("<", Binary("+", value, Number(part)), Number(bound)) if _small(value):
                x = binary("<", value, bound - part) if bound > part else ZERO
            case Binary(operator, left, right):
                x = binary(operator, left, right)
            case Unary("!", inner):
                x = replace(x, operand=_truth(inner))
        x = decided(simpler(x))
        return self.facts.get(x, x)


def place_in_frame(x: Expr) -> int | None:
    """How many bytes behind the frame's first one a pointer leads, if it does."""
    match x:
        case Name() if x == DATA:
            return 0
        case Binary("+", Name() as base, Number(at)) if base == DATA:
            return at
    return None


def _truth(x: Expr) -> Expr:
    if isinstance(x, Number):
        return ONE if x.value else ZERO
    return x if place_in_frame(x) is None else ONE


def _joined(both: bool, left: Expr, right: Expr) -> Expr:
    for one, other in ((left, right), (right, left)):
        if isinstance(one, Number):
            return other if bool(one.value) == both else one
    return Binary("&&" if both else "||", left, right)


def conjuncts(test: Expr) -> Iterator[Expr]:
    """The tests that all have to hold where one does."""
    match test:
        case Binary("&&", left, right):
            yield from conjuncts(left)
            yield from conjuncts(right)
        case _:
            yield test


def fitted(value: Expr, to: Expr) -> Expr:
    """A value as it is read again from where it was kept."""
    kept = to.type
    if not isinstance(kept, Int) or not isinstance(value.type, Int):
        return value
    if isinstance(value, Number):
        return Number(value.value & ((1 << kept.bits) - 1))
    fits = bits_of(value.type) <= kept.bits or (_small(value) and kept.bits >= 32)
    return value if fits else simpler(Cast(kept, value))


def _small(x: Expr) -> bool:
    """Whether a number is small enough that to add some to it stays below 32 bits."""
    match x:
        case Load(bits=bits) | Cast(Int(bits), _, False) if bits <= 16:
            return True
        case Swap(inner) | Cast(_, inner, False):
            return _small(inner)
        case Binary("+" | "*", inner, Number(value)):
            return value < 1 << 12 and _small(inner)
    return False
