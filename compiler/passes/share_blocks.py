"""Blocks that do the same are written once, as functions: what an action does on several roles, and
how packets leave. Only the C is shorter: the functions are inlined, and whatever counts programs
sees each block where it stands.

After `merge_functions`: then calls of equal functions are equal.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from ..ir.expr import CTX, ST, Expr, Name
from ..ir.names import Names
from ..ir.nodes import (
    Block,
    Body,
    Function,
    Goto,
    If,
    Internal,
    Label,
    Let,
    LetArray,
    LetStruct,
    Return,
    Statement,
    Verdict,
)
from ..ir.rewrite import rewritten
from ..ir.types import Int, Pointer
from ..ir.unit import Unit, with_functions
from ..ir.walk import own_expressions, statements

#: Statements that a block has at least: a function takes some lines of its own.
LEAST = 10

#: What a block does: itself, with names of its own, and the types of what it reads.
Key = tuple[Body, tuple[Name, ...]]


def share_blocks(unit: Unit) -> Unit:
    if unit.target != "host":
        return unit  # a card's program is one function
    sharer = _Sharer(Names([*(f.name for f in unit.functions), *(p.name for p in unit.programs)]))
    for f in unit.functions:
        sharer.count(f.body)
    made = [replace(f, body=sharer.shared(f.body, f)) for f in unit.functions]
    return with_functions(unit, made)


@dataclass
class _Sharer:
    """`times`: how often a block would be written if all equal ones were one. `keys` by the
    identity of a body, None for one that cannot be a function."""

    names: Names
    times: Counter[Key] = field(default_factory=Counter)
    keys: dict[int, Key | None] = field(default_factory=dict)
    called: dict[Key, str] = field(default_factory=dict)

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
        if key is None or self.times[key] < 2:
            return made if block is None else (replace(block, body=made),)
        span = next((s.span for s in body if s.span), None)
        if key not in self.called:
            line = f"_{span.line}" if span else ""
            self.called[key] = self.names.free(f"{f.stage or f.name}{line}")
        return (Block(made, self.called[key], free_names(body), span),)

    def _key(self, body: Body) -> Key | None:
        if id(body) not in self.keys:
            self.keys[id(body)] = _key_of(body)
        return self.keys[id(body)]


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
    if len(every) < LEAST or not _ends(body) or any(isinstance(s, Label | Goto) for s in every):
        return None
    free = free_names(body)
    if not all(isinstance(name.type, Int | Pointer) for name in free):
        return None
    given = {name.name: f"a{i}" for i, name in enumerate(free)}
    for s in every:
        if isinstance(s, _DECLARES):
            given.setdefault(s.name.name, f"v{len(given)}")

    def change(x: Expr) -> Expr:
        return replace(x, name=given[x.name]) if isinstance(x, Name) and x.name in given else x

    parameters = tuple(replace(name, name=given[name.name]) for name in free)
    return rewritten(body, change), parameters


_DECLARES = Let | LetArray | LetStruct


def _ends(body: Body) -> bool:
    """Whether no way leads behind a body."""
    match body[-1] if body else None:
        case Verdict() | Return() | Internal():
            return True
        case If(_, then, otherwise):
            return _ends(then) and _ends(otherwise)
        case Block(inner):
            return _ends(inner)
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
