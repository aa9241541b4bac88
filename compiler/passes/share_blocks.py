"""Blocks that do the same are written once, as functions: what an action does on several roles,
what is tested before a packet leaves, and how it does. Only the C is shorter: the functions are
inlined, and whatever counts programs sees each block where it stands.

After `merge_functions`: then calls of equal functions are equal.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise

from ...lang.text.source import Span
from ..ir.expr import CTX, ST, Event, Expr, Name
from ..ir.names import Names
from ..ir.nodes import (
    Block,
    Body,
    Count,
    Do,
    Function,
    If,
    Jump,
    Label,
    Let,
    LetArray,
    LetStruct,
    Opaque,
    Repeat,
    Return,
    Set,
    Statement,
    StatementStart,
    Store,
    Verdict,
)
from ..ir.rewrite import rewritten
from ..ir.types import Int, Pointer
from ..ir.unit import Unit, with_functions
from ..ir.walk import blocks, ends, may_end, own_expressions, statements

#: Lines that a function takes beside its statements, and those of a call of one behind which a
#: packet's way may go on.
FRAME, CALL = 6, 3

#: What a block does: itself, with names of its own, and the types of what it reads.
Key = tuple[Body, tuple[Name, ...]]


def share_blocks(unit: Unit) -> Unit:
    if unit.target != "host":
        return unit  # a card's program is one function
    sharer = _Sharer(Names([*(f.name for f in unit.functions), *(p.name for p in unit.programs)]))
    for f in unit.functions:
        sharer.look_at(f.body)
    for f in unit.functions:
        sharer.count(f.body)
    made = [replace(f, body=_dissolved(sharer.shared(f.body, f))) for f in unit.functions]
    return with_functions(unit, made)


@dataclass
class _Sharer:
    """`times`: how often a block would be written if all equal ones were one. `keys`, `forms`: by
    the identity of a body, as its `lines`; no key for one that cannot be a function, or of whose
    form there are too few: of the same kinds of statements within each other."""

    names: Names
    forms: dict[int, int] = field(default_factory=dict)
    alike: Counter[int] = field(default_factory=Counter)
    times: Counter[Key] = field(default_factory=Counter)
    keys: dict[int, Key | None] = field(default_factory=dict)
    lines: dict[int, int] = field(default_factory=dict)
    called: dict[Key, str] = field(default_factory=dict)

    def look_at(self, body: Body) -> int:
        """Note the form of a body, and of all in it: to compare these is quick."""
        form = hash(tuple((*_mark(s), *map(self.look_at, blocks(s))) for s in body))
        self.alike[form] += 1
        self.forms[id(body)] = form
        return form

    def count(self, body: Body) -> None:
        for s in body:
            for inner in _inner(s):
                key = self._key(inner)
                if key is not None:
                    self.times[key] += 1
                if key is None or self.times[key] == 1:
                    self.count(inner)

    def shared(self, body: Body, f: Function) -> Body:
        """The body with calls in it."""
        return tuple(self._statement(s, f) for s in body)

    def _statement(self, s: Statement, f: Function) -> Statement:
        match s:
            case If(_, then, otherwise):
                return replace(s, then=self._arm(then, f), otherwise=self._arm(otherwise, f))
            case Block(inner):
                (made,) = self._arm(inner, f, s)
                return made
        return s

    def _arm(self, body: Body, f: Function, block: Block | None = None) -> Body:
        made, key = self.shared(body, f), self._key(body)
        if key is None or not self._pays(body, self.times[key]):
            return made if block is None else (replace(block, body=made),)
        span = next((s.span for s in body if s.span), None)
        if key not in self.called:
            line = f"_{span.line}" if span else ""
            does = self._does(body if block is None else (block,)) or f"{f.stage or f.name}{line}"
            self.called[key] = self.names.free(does)
        return (Block(made, self.called[key], free_names(body), span=span),)

    def _does(self, body: Body) -> str:
        """What a body of one block does."""
        return body[0].does if len(body) == 1 and isinstance(body[0], Block) else ""

    def _key(self, body: Body) -> Key | None:
        if id(body) not in self.keys:
            most = self.alike[self.forms[id(body)]]
            self.keys[id(body)] = _key_of(body) if self._pays(body, most) else None
        return self.keys[id(body)]

    def _pays(self, body: Body, times: int) -> bool:
        """Whether the C is shorter with a function for a block that is written so many times."""
        if times < 2:
            return False
        lines = self._lines(body)
        call = CALL if may_end(body) and not ends(body) else 1
        return times * lines > times * call + lines + FRAME

    def _lines(self, body: Body) -> int:
        """Of C, at least: a verdict and the event that is counted in front of it are one."""
        if id(body) not in self.lines:
            pairs = (isinstance(a, Count) and isinstance(b, Verdict) for a, b in pairwise(body))
            lines = sum(1 + sum(map(self._lines, blocks(s))) for s in body)
            self.lines[id(body)] = lines - sum(pairs)
        return self.lines[id(body)]


def _mark(s: Statement) -> tuple[object, ...]:
    """What equal statements have alike, whatever their variables are called."""
    match s:
        case StatementStart(Span() as span):
            return StatementStart, span.start
        case Store(_, _, bits, value):
            return Store, bits, type(value)
        case Count(Event(index)):
            return Count, index
        case Do(call):
            return Do, getattr(call, "function", "")
        case Let(name, value):
            return Let, name.type, type(value)
    return (type(s),)


def _dissolved(body: Body) -> Body:
    """A function without blocks that need not be: whose names nothing else in it bears, or which
    stand behind all else of a body that has none of these names."""
    names = Counter(_declared(body))

    def within(body: Body) -> Body:
        made: list[Statement] = []
        for s in body:
            match s:
                case If(_, then, otherwise):
                    made.append(replace(s, then=within(then), otherwise=within(otherwise)))
                case Block(inner, name) if name:
                    made.append(replace(s, body=_dissolved(inner)))
                case Block(inner):
                    left, own = within(inner), set(_declared(inner, nested=False))
                    last = s is body[-1] and own.isdisjoint(_declared(tuple(made), nested=False))
                    alone = last or all(names[name] == 1 for name in own)
                    made += left if alone else (replace(s, body=left),)
                case _:
                    made.append(s)
        return tuple(made)

    return within(body)


def _declared(body: Body, nested: bool = True) -> Iterator[str]:
    """The names that a function declares, but for those of functions that it calls."""
    for s in body:
        if isinstance(s, _DECLARES):
            yield s.name.name
        elif not (isinstance(s, Block) and s.name) and (nested or isinstance(s, Block)):
            for inner in blocks(s):
                yield from _declared(inner, nested)


def _inner(s: Statement) -> tuple[Body, ...]:
    """The bodies within a statement that might be functions; not the next test of a chain."""
    match s:
        case If(_, then, (If(),) as otherwise):
            return then, *(inner for each in otherwise for inner in _inner(each))
        case If(_, then, otherwise):
            return then, otherwise
        case Block(body):
            return (body,)
    return ()


def _key_of(body: Body) -> Key | None:
    every = list(statements(body))
    if any(isinstance(s, Label | Jump | Repeat) for s in every):
        return None
    free = free_names(body)
    if not all(isinstance(name.type, Int | Pointer) for name in free):
        return None
    if not ends(body) and any(_is_seen_behind(s, free) for s in every):
        return None
    given = {name.name: f"a{i}" for i, name in enumerate(free)}
    for s in every:
        if isinstance(s, _DECLARES):
            given.setdefault(s.name.name, f"v{len(given)}")

    def change(x: Expr) -> Expr:
        return replace(x, name=given[x.name]) if isinstance(x, Name) and x.name in given else x

    parameters = tuple(replace(name, name=given[name.name]) for name in free)
    return _anywhere(rewritten(body, change)), parameters


def _anywhere(body: Body) -> Body:
    """Statements without the text that they carry out, but for those that print it."""
    return tuple(_placeless(s) for s in body)


def _placeless(s: Statement) -> Statement:
    match s:
        case StatementStart():
            return s
        case If(test, then, otherwise, unlikely):
            return If(test, _anywhere(then), _anywhere(otherwise), unlikely)
        case Block(inner):
            return Block(_anywhere(inner))
    return s.nowhere()


_DECLARES = Let | LetArray | LetStruct


def _is_seen_behind(s: Statement, free: tuple[Name, ...]) -> bool:
    """Whether a statement leaves the stage, or changes a variable that is declared around it."""
    match s:
        case Return(None):
            return True
        case Set(Name() as name) | Opaque(name):
            return name in free
    return False


def free_names(body: Body) -> tuple[Name, ...]:
    """The variables that a body reads or sets and does not declare, in their order."""
    return tuple(dict.fromkeys(_free(body, {CTX.name, ST.name})))


def _free(body: Body, known: set[str]) -> Iterator[Name]:
    known = set(known)
    for s in body:
        declares = isinstance(s, _DECLARES)
        for x in own_expressions(s)[declares:]:
            if isinstance(x, Name) and x.name not in known:
                yield x
        if isinstance(s, _DECLARES):
            known.add(s.name.name)
        match s:
            case If(_, then, otherwise):
                yield from _free(then, known)
                yield from _free(otherwise, known)
            case Block(inner):
                yield from _free(inner, known)
