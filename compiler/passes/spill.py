"""Spare the stack, at the price of time: arrays, structures, and what one statement of the `.hp`
file captures for a later one, lie in the scratch record. To be followed by `place_state` with
`forget`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Literal

from ...lang.text.source import Span
from ..ir.expr import (
    Address,
    Cast,
    Element,
    Expr,
    Name,
    State,
    as_bytes,
    element,
)
from ..ir.nodes import (
    Barrier,
    Block,
    Body,
    Clear,
    If,
    Let,
    LetArray,
    LetStruct,
    Only,
    Repeat,
    Set,
    Statement,
    StatementStart,
)
from ..ir.rewrite import rebuilt, with_expressions
from ..ir.types import BYTES, U64, U128, Array, Int, Pointer, Struct
from ..ir.unit import Unit, with_functions
from ..ir.walk import blocks, own_expressions

NEXT_HOP = 24  # bytes of `struct next_hop`
SPILL = State("spill", Array(U64, 0), scratch=True)
KEPT = State("kept", Array(U64, 0), scratch=True)


def spill(unit: Unit) -> Unit:
    sizes = {f"{s.prefix}_entry": s.entry_size for s in unit.states} | {"next_hop": NEXT_HOP}
    made, kept, used = [], unit.kept, 0
    for function in unit.functions:
        if not function.stage or function.stage == "parser":
            made.append(function)
            continue
        spilled = _Spilled(_crossing(function.body), sizes, unit.kept)
        made.append(replace(function, body=spilled.body(function.body)))
        kept, used = max(kept, spilled.kept), max(used, spilled.most)
    return replace(with_functions(unit, made), kept=kept, spill_words=used)


@dataclass
class _Spilled:
    """`sizes`: bytes of structures. `crossing`: variables that a later statement of the `.hp` file
    reads; `words`: where they are. `kept`, `used`: words of the scratch record that are taken, of
    the latter by this statement."""

    crossing: set[str]
    sizes: dict[str, int]
    kept: int
    used: int = 0
    most: int = 0
    places: dict[str, Expr] = field(default_factory=dict)
    words: dict[str, list[Element]] = field(default_factory=dict)

    def body(self, body: Body) -> Body:
        return tuple(made for s in body for made in self._statement(s))

    def _statement(self, s: Statement) -> Iterator[Statement]:
        if isinstance(s, Set) and isinstance(s.place, Name) and s.place.name in self.words:
            value = rebuilt(s.value, self._read)
            yield from _stored(self.words[s.place.name], value, s.operator, s.span)
            return
        if isinstance(s, LetArray | LetStruct):  # another one of that name may be elsewhere
            self.places.pop(s.name.name, None)
        s = with_expressions(s, self._read)
        match s:
            case StatementStart():
                self.used = 0
                yield s
            case LetArray(name, values):
                assert isinstance(name.type, Array)
                size = name.type.count * name.type.of.bits // 8
                yield from self._zeros(name, f"u{name.type.of.bits}", size, s)
                for i, value in enumerate(values):
                    yield Set(element(self.places[name.name], i), value, span=s.span)
                if values:
                    yield Barrier(s.span)
            case LetStruct(Name(_, Struct(of)) as name, None):
                yield from self._zeros(name, f"struct {of}", self.sizes[of], s)
            case Let(Name(name, Int() as type_), kept) if name in self.crossing:
                yield from self._keep(name, type_, kept, s)
            case If(_, then, otherwise):
                yield replace(s, then=self.body(then), otherwise=self.body(otherwise))
            case Block(inner) | Only(_, inner) | Repeat(_, _, _, inner):
                yield replace(s, body=self.body(inner))
            case _:
                yield s

    def _zeros(self, name: Name, to: str, size: int, s: Statement) -> Iterator[Statement]:
        """A pointer to so many bytes of zeros, until the statement ends."""
        pointer = Name(name.name, Pointer(to))
        yield Let(pointer, Cast(BYTES, Address(element(SPILL, self.used))), s.span)
        yield Clear(pointer, size, s.span)
        self.places[name.name] = pointer
        self.used += (size + 7) // 8
        self.most = max(self.most, self.used)

    def _keep(self, name: str, type_: Int, value: Expr | None, s: Statement) -> Iterator[Statement]:
        """A word that holds a variable from here on; two where it is of 128 bits."""
        words = [element(KEPT, self.kept + i) for i in range(2 if type_.bits > 64 else 1)]
        self.kept += len(words)
        self.words[name] = words
        if len(words) == 1:
            self.places[name] = Cast(type_, words[0])
        else:
            self.places[name] = Cast(type_, (Cast(U128, words[1]) << 64) | words[0])
        if value is not None:
            yield from _stored(words, value, "", s.span)

    def _read(self, x: Expr) -> Expr:
        """A variable where it is now."""
        match x:
            case Name(name) if name in self.places:
                return self.places[name]
            case Address(Name(_, Pointer()) as moved) if moved.name in self.places:
                return moved
        return x


def _stored(
    words: list[Element], value: Expr, operator: Literal["", "+", "|"], span: Span | None
) -> Iterator[Statement]:
    whole = as_bytes(value)
    for i, word in enumerate(words):
        part = Cast(U64, whole >> 64 * i) if len(words) > 1 else whole
        yield Set(word, part, operator, span=span)


def _crossing(body: Body) -> set[str]:
    """Variables that are read in another statement of the `.hp` file than made them."""
    made: dict[str, int] = {}
    found: set[str] = set()
    for step, s in _steps(body, [0]):
        if isinstance(s, Let):
            made[s.name.name] = step
        for x in own_expressions(s):
            if isinstance(x, Name) and made.get(x.name, step) != step:
                found.add(x.name)
    return found


def _steps(body: Body, count: list[int]) -> Iterator[tuple[int, Statement]]:
    """All statements with the number of the step they belong to. The tests of a chain are all made
    before any of its arms."""
    for s in body:
        if isinstance(s, StatementStart):
            count[0] += 1
        yield count[0], s
        if isinstance(s, If):
            at = count[0]
            chain = s
            while len(chain.otherwise) == 1 and isinstance(chain.otherwise[0], If):
                chain = chain.otherwise[0]
                yield at, If(chain.test, ())
        for inner in blocks(s):
            yield from _steps(inner, count)
