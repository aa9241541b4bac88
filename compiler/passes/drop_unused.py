"""Leave out what nobody reads: local variables, and what the parser notes of a packet for stages
that do not ask for it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ..ir.expr import Expr, Name, State, members
from ..ir.nodes import Block, Body, If, Let, Set, Statement
from ..ir.unit import Unit, with_functions
from ..ir.walk import below, has_effects, own_expressions, statements


def drop_unused(unit: Unit) -> Unit:
    """Once more for each time that something was left out."""
    while True:
        read = {role: _read_by(unit, role) for role in unit.roles}
        made = [replace(f, body=_without(f.body, read[f.role])) for f in unit.functions]
        if made == list(unit.functions):
            return unit
        unit = with_functions(unit, made)


def _read_by(unit: Unit, role: str) -> set[str]:
    """Members of the state, and names, that some function of a role reads."""
    found: set[str] = set()
    for f in unit.functions:
        if f.role != role:
            continue
        for member in f.takes:  # which callers read, and ask whether a header is there
            found |= {member, f"{member.removesuffix('_at')}_h"}
        for s in statements(f.body):
            for x in _reads(s):
                if isinstance(x, State):
                    found.add(x.member)
                elif isinstance(x, Name):
                    found.add(x.name)
    return found


def _reads(s: Statement) -> Iterator[Expr]:
    """The expressions that a statement reads: not the place that it sets."""
    if not _sets(s):
        yield from own_expressions(s)
        return
    for part in members(s)[1:]:
        if isinstance(part, Expr):
            yield from below(part)


def _sets(s: Statement) -> str:
    """The variable, or the member of the state, that a statement does nothing but set; or empty."""
    match s:
        case Let(name, value) if value is None or not has_effects(value):
            return name.name
        case Set(State(member), value) if not has_effects(value):
            return member
        case Set(Name(name), value) if not has_effects(value):
            return name
    return ""


def _without(body: Body, read: set[str]) -> Body:
    made = []
    for s in body:
        match s:
            case If(test, then, otherwise):
                s = replace(s, then=_without(then, read), otherwise=_without(otherwise, read))
                if not (s.then or s.otherwise or has_effects(test)) and (then or otherwise):
                    continue
            case Block(inner):
                s = replace(s, body=_without(inner, read))
        if (name := _sets(s)) and name not in read:
            continue
        made.append(s)
    return tuple(made)
