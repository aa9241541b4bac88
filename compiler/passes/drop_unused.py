"""Leave out what nobody reads: local variables, and what the parser notes of a packet for stages
that do not ask for it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ...lang.text.frozen import kept, members
from ..ir.expr import Call, Expr, Name, Number, State, not_
from ..ir.nodes import (
    Blank,
    Block,
    Body,
    Do,
    Function,
    If,
    Let,
    Repeat,
    Set,
    Statement,
    StatementStart,
)
from ..ir.unit import Unit, with_functions
from ..ir.walk import below, has_effects, own_expressions, statements

#: A member of the state, or a variable, by its name.
Place = tuple[type[Expr], str]


def drop_unused(unit: Unit) -> Unit:
    """Once more for each time that something was left out."""
    while True:
        read = {role: _members_read(unit, role) for role in unit.roles}
        made = [
            replace(f, body=_without(f.body, read[f.role] | _places(f, Name)))
            for f in unit.functions
        ]
        if made == list(unit.functions):
            return unit
        unit = with_functions(unit, made)


def _members_read(unit: Unit, role: str) -> set[Place]:
    """Members of the state that some function of a role reads."""
    found: set[Place] = set()
    for f in unit.functions:
        if f.role == role:
            found |= _places(f, State)
            for member in f.takes:  # which callers read, and ask whether a header is there
                found |= {(State, member), (State, f"{member.removesuffix('_at')}_h")}
    return found


def _places(function: Function, kind: type[State] | type[Name]) -> set[Place]:
    """What a function reads of a kind."""
    return {p for s in statements(function.body) for p in _places_read(s) if p[0] is kind}


@kept
def _places_read(s: Statement) -> frozenset[Place]:
    return frozenset(_place(x) for x in _reads(s) if isinstance(x, State | Name))


def _place(x: State | Name) -> Place:
    return (State, x.member) if isinstance(x, State) else (Name, x.name)


def _reads(s: Statement) -> Iterator[Expr]:
    """The expressions that a statement reads: not the place that it sets."""
    if _sets(s) is None:
        yield from own_expressions(s)
        return
    for part in members(s)[1:]:
        if isinstance(part, Expr):
            yield from below(part)


def _sets(s: Statement) -> Place | None:
    """The variable, or the member of the state, that a statement does nothing but set, or set by
    what a call returns."""
    match s:
        case Let(name, value) if value is None or not has_effects(value):
            return _place(name)
        case Set(State() | Name() as place, value) if not has_effects(value):
            return _place(place)
        case Set(Name() as place, Call()):
            return _place(place)
    return None


def _test(s: If, then: Body, otherwise: Body) -> If:
    """A test without bodies in which nothing is done."""
    then, otherwise = (() if _is_empty(body) else body for body in (then, otherwise))
    if then or not otherwise:
        return replace(s, then=then, otherwise=otherwise)
    return replace(s, test=not_(s.test), then=otherwise, otherwise=(), unlikely=False)


def _is_empty(body: Body) -> bool:
    return all(isinstance(s, StatementStart | Blank) for s in body)


def _without(body: Body, read: set[Place]) -> Body:
    made: list[Statement] = []
    for s in body:
        match s:
            case If(test, then, otherwise):
                s = _test(s, _without(then, read), _without(otherwise, read))
                if not (s.then or s.otherwise or has_effects(test)):
                    continue
            case Block(inner) | Repeat(_, _, _, inner):
                s = replace(s, body=_without(inner, read))
            case Set(_, Number(0), "+" | "|"):
                continue
        if (place := _sets(s)) and place not in read:
            if isinstance(s, Set) and has_effects(s.value):
                made.append(Do(s.value, s.span))
            continue
        made.append(s)
    return tuple(made)
