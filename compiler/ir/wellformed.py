"""What every program of the intermediate representation keeps to, whichever pass made it: for tests
between passes. Of an order of bytes:

- A value in network order is loaded, stored, swapped, compared by `==` and `!=`, and joined by `&`,
  `|` and `^`, with others of that order and width; 0 is of either order. Nothing is computed with
  it, nor is it shifted.
- `Cast` to a type of the host's takes the bytes for a number as they stand in memory, as keys and
  hashes want them, and back. It never changes width and order at once from network to network.

Of numbers: what C has as an `int` that may be less than 0 (see `promotion`) is cast to an unsigned
type before its sign matters. Of versions: no pointer into the packet is used once the frame was
moved, on no way through the functions of a program; rules are looked for by one epoch, which a
packet's parser loads once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from ...lang.text.frozen import kept
from ...lang.text.source import Span
from . import expr as e
from . import nodes as n
from .expr import Expr
from .flow import Ways, moving
from .printer import print_expr, print_type
from .promotion import misread
from .types import Array, Int, Struct, Type, is_network
from .unit import Unit
from .walk import blocks, own_expressions, statements

_ARGUMENTS = (e.CTX, e.ST)
_NUMBERS = (e.Name("a"), e.Name("b"))  # of a helper
_SWAPPED = (16, 32, 64, 128)
_SAME_ORDER = ("==", "!=", "&", "|", "^")


@dataclass(frozen=True)
class Problem:
    """`text`: what is wrong in a function."""

    function: str
    span: Span | None
    text: str

    def __str__(self) -> str:
        line = f":{self.span.line}" if self.span else ""
        return f"{self.function}{line}: {self.text}"


def problems(unit: Unit, placed: bool) -> list[Problem]:
    """What is wrong with a unit. `placed`: after `place_state`."""
    last = {p.functions[-1].name for p in unit.programs if p.next is None}
    names = {f.name for f in unit.functions}
    found: list[Problem] = []
    for function in unit.every_function:
        found += _Scopes(function, _arguments(unit, function)).problems()
        found += (_of(function, s.span, text) for s, text in _labels(function.body))
        found += (_of(function, s.span, text) for s, text in _called(function.body, names))
        for s in statements(function.body):
            found += (_of(function, s.span, text) for text in _typed(s))
            if placed:
                found += (_of(function, s.span, text) for text in _unplaced(s))
        if unit.target == "host" and function is not unit.parser:
            found += (_of(function, s.span, text) for s, text in _epochs(function))
    for function, ways in _followed(unit, placed):
        found += (_of(function, span, text) for span, text in ways.problems)
        found += (_of(function, function.span, text) for text in _ends(function, ways, last))
    return list(dict.fromkeys(found))


def _followed(unit: Unit, placed: bool) -> Iterator[tuple[n.Function, Ways]]:
    """Each function, with the state as it is behind those that a program runs before it: one that
    several programs run, perhaps several times."""
    moves, done = moving(unit.functions), dict[tuple[str, str, frozenset[str]], Ways]()
    helpers = [(f,) for f in unit.functions if not f.stage]
    for functions in (*helpers, *(p.functions for p in unit.programs)):
        came: frozenset[str] = frozenset()
        for function in functions:
            key = function.role, function.name, came
            if key not in done:
                done[key] = Ways(function.body, moves, placed, came)
                yield function, done[key]
            came = done[key].left


def _ends(function: n.Function, ways: Ways, last: set[str]) -> Iterator[str]:
    """`last`: names of the functions that no stage comes behind."""
    if ways.falls and function.stage in ("", "parser"):
        yield "it ends without a `return`"
    elif ways.continues and not function.stage:
        yield "a helper returns no number"
    elif (ways.falls or ways.continues) and function.name in last:
        yield "nothing comes behind the last stage"


def _of(function: n.Function, span: Span | None, text: str) -> Problem:
    return Problem(function.name, span, text)


# ---- names ----------------------------------------------------------------------------------


def _arguments(unit: Unit, function: n.Function) -> tuple[e.Name, ...]:
    if function is unit.parser:
        return (*_ARGUMENTS, e.ROLE)
    return _ARGUMENTS if function.stage else (*_ARGUMENTS, *_NUMBERS)


@dataclass
class _Scopes:
    """The names that are known at a statement, by block."""

    function: n.Function
    arguments: tuple[e.Name, ...]
    known: list[dict[str, Type]] = field(default_factory=list)
    found: list[Problem] = field(default_factory=list)

    def problems(self) -> list[Problem]:
        self.known.append({name.name: name.type for name in self.arguments})
        self._block(self.function.body)
        return self.found

    def _block(self, body: n.Body) -> None:
        self.known.append({})
        for s in body:
            self._statement(s)
        self.known.pop()

    def _statement(self, s: n.Statement) -> None:
        if isinstance(s, n.Repeat):  # the number of the round is known within it alone
            self.known.append({s.index.name: s.index.type})
            self._parts(s)
            self.known.pop()
        else:
            self._parts(s)

    def _parts(self, s: n.Statement) -> None:
        declared = s.name if isinstance(s, n.Let | n.LetArray | n.LetStruct) else None
        for x in own_expressions(s)[declared is not None :]:
            if isinstance(x, e.Name):
                self._read(x, s)
        if declared is not None:
            if declared.name in self.known[-1]:
                self._tell(s, f"`{declared.name}` is declared twice in a block")
            self.known[-1][declared.name] = declared.type
        for body in blocks(s):
            self._block(body)

    def _read(self, x: e.Name, s: n.Statement) -> None:
        type_ = next((known[x.name] for known in reversed(self.known) if x.name in known), None)
        if type_ is None:
            self._tell(s, f"`{x.name}` is not declared here")
        elif type_ != x.type:
            types = f"{print_type(type_)} and read as {print_type(x.type)}"
            self._tell(s, f"`{x.name}` is declared as {types}")

    def _tell(self, s: n.Statement, text: str) -> None:
        self.found.append(_of(self.function, s.span, text))


def _called(body: n.Body, names: set[str]) -> Iterator[tuple[n.Statement, str]]:
    """Functions that are called are there."""
    for s in statements(body):
        for x in own_expressions(s):
            if isinstance(x, e.HelperCall) and x.function not in names:
                yield s, f"no function `{x.function}`"


def _labels(body: n.Body) -> Iterator[tuple[n.Statement, str]]:
    """Jumps lead to labels at the top of the function, each of which is there once."""
    top = [s.name for s in body if isinstance(s, n.Label)]
    for s in statements(body):
        match s:
            case n.Label(name) if top.count(name) != 1:
                said = "twice" if name in top else "within a block"
                yield s, f"the label `{name}` stands {said}"
            case n.Jump() if s.label not in top:
                yield s, f"no label `{s.label}` at the top of the function"


def _epochs(function: n.Function) -> Iterator[tuple[n.Statement, str]]:
    """A packet sees the rules of one epoch."""
    loads = [s for s in statements(function.body) if _loads_epoch(s)]
    at = next((i for i, s in enumerate(function.body) if isinstance(s, n.Label)), None)
    for s in loads:
        if function.stage != "parser" or s not in function.body[:at]:
            yield s, "the epoch is loaded where a packet may have one"
    if len(loads) > 1:
        yield loads[-1], "the epoch is loaded twice"
    for s in statements(function.body):
        for x in own_expressions(s):
            if isinstance(x, e.TableCall) and x.what in _BY_EPOCH and not _by_epoch(x):
                yield s, f"rules are looked for by another epoch: {print_expr(x)}"


_BY_EPOCH = {"find", "slot_of", "at", "sequence_of", "id_of", "kept"}


def _loads_epoch(s: n.Statement) -> bool:
    return any(isinstance(x, e.Call) and x.function == "epoch_now" for x in own_expressions(s))


def _by_epoch(x: e.TableCall) -> bool:
    epoch = x.arguments[0 if x.what == "find" else 1]
    return isinstance(epoch, e.State) and epoch.member == "epoch"


# ---- placing --------------------------------------------------------------------------------


def _unplaced(s: n.Statement) -> Iterator[str]:
    if isinstance(s, n.Only | n.MakePointer | n.KnownNotNull):
        yield f"`{type(s).__name__}` is left after placing"
    if any(isinstance(x, e.StatePointer) for x in own_expressions(s)):
        yield "`StatePointer` is left after placing"


# ---- types ----------------------------------------------------------------------------------


@kept
def _typed(s: n.Statement) -> tuple[str, ...]:
    """Once for a statement: a pass leaves most as they are."""
    return tuple(_mistyped(s))


def _mistyped(s: n.Statement) -> Iterator[str]:
    match s:
        case n.Let(name, value) if value is not None:
            yield from _assigned(name, value, "")
        case n.LetStruct(name) if not isinstance(name.type, Struct):
            yield f"no structure: {_said(name)}"
        case n.LetArray(name, values):
            assert isinstance(name.type, Array)
            for value in values:
                yield from _fits(name.type.of, value, name.name)
        case n.Set(place, value, operator):
            yield from _assigned(place, value, operator)
        case n.Store(base, _, bits, value):
            yield from _stored(base, bits, value)
    own = own_expressions(s)
    for x in own:
        yield from _operands(x)
    for x in misread(s, own):
        yield f"C's `int` may be less than 0, and is used with its sign: {_said(x)}"


def _assigned(place: Expr, value: Expr, operator: str) -> Iterator[str]:
    if operator == "+" and is_network(place.type):
        yield f"`{print_expr(place)}` is in network order, and added to"
    if isinstance(place.type, Int):
        yield from _fits(place.type, value, print_expr(place))


def _fits(type_: Int, value: Expr, place: str) -> Iterator[str]:
    """Whether an integer place of a type can hold a value in its order."""
    if not isinstance(value.type, Int) or _orderless(value):
        return
    same = is_network(value.type) == type_.network
    if not same or (type_.network and value.type.bits != type_.bits):
        yield f"`{place}`, {print_type(type_)}, becomes {_said(value)}"


def _stored(base: Expr, bits: int, value: Expr) -> Iterator[str]:
    if not isinstance(value.type, Int):
        yield f"what is stored at {print_expr(base)} is no integer: {_said(value)}"
    elif _orderless(value):
        return
    elif bits == 8 and is_network(value.type):
        yield f"one byte is stored of {_said(value)}"
    elif bits > 8 and value.type != Int(bits, network=True):
        yield f"{bits} bits are stored of {_said(value)}"


def _operands(x: Expr) -> Iterator[str]:
    match x:
        case e.Number(value, type_):
            if isinstance(value, bool) or not 0 <= value < 1 << type_.bits:
                yield f"no number of its type: {value} ({print_type(type_)})"
        case e.Swap(operand):
            if not isinstance(operand.type, Int) or operand.type.bits not in _SWAPPED:
                yield f"no bytes to swap: {_said(operand)}"
        case e.Unary("-", operand) if is_network(operand.type):
            yield f"computed with: {_said(operand)}"
        case e.Binary(operator, left, right) if operator in _SAME_ORDER:
            if not _alike(left, right):
                yield f"`{operator}` of two orders: {_said(left)} and {_said(right)}"
        case e.Binary(operator, left, right) if operator not in ("&&", "||"):
            for operand in (left, right):
                if is_network(operand.type):
                    yield f"computed with, by `{operator}`: {_said(operand)}"
        case e.Which(subject, ranges):
            if is_network(subject.type):
                yield f"compared by size, in network order: {_said(subject)}"
            if any(b < a for a, b, _ in ranges) or any(
                c <= b for (_, b, _), (c, _, _) in pairwise(ranges)
            ):
                yield f"ranges that are not one behind the other: {print_expr(x)}"
        case e.Choice(_, then, otherwise):
            if not _alike(then, otherwise):
                yield f"a choice of two orders: {_said(then)} and {_said(otherwise)}"
        case e.Cast(type_, operand) if is_network(type_) and is_network(operand.type):
            if type_ != operand.type:
                yield f"cut off in network order: {_said(operand)}"


def _alike(left: Expr, right: Expr) -> bool:
    if not (is_network(left.type) or is_network(right.type)):
        return True
    if _orderless(left) or _orderless(right):
        return True
    return left.type == right.type


def _orderless(x: Expr) -> bool:
    return isinstance(x, e.Number) and x.value == 0


def _said(x: Expr) -> str:
    return f"{print_expr(x)} ({print_type(x.type)})"
