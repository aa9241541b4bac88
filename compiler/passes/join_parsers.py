"""The parsers of several port roles are written as one, with the role as an argument. Only the C is
shorter: each role's program has it inlined, with its role known, and whatever counts programs sees
the role's own parser.

The last pass: nothing else looks at what it makes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from itertools import pairwise

from ..ir.expr import ROLE, Expr, Name, Number
from ..ir.expr_builders import both, either
from ..ir.names import Names, constant_name
from ..ir.nodes import (
    Blank,
    Block,
    Body,
    ForgetPlaces,
    Function,
    Goto,
    If,
    Label,
    Let,
    LetArray,
    LetStruct,
    Statement,
    StatementStart,
)
from ..ir.rewrite import rewritten
from ..ir.types import U32
from ..ir.unit import Unit
from ..ir.walk import Parts, ends, has_effects, own_expressions, parts_of, statements


def join_parsers(unit: Unit) -> Unit:
    if unit.target != "host":
        return unit  # a card's program has one role
    parsers = [f for f in unit.functions if f.stage == "parser"]
    joined: _Parser | None = None
    for each in (_Parser.of(f, unit) for f in parsers):
        joined = each if joined is None else joined.joined(each)
        if joined is None:
            return unit
    if joined is None or _lines(joined.body) >= sum(_lines(f.body) for f in parsers):
        return unit
    names = Names([*(f.name for f in unit.functions), *(p.name for p in unit.programs)])
    one = replace(parsers[0], name=names.free("stage_parser"), body=joined.body)
    return replace(unit, parser=one)


def _lines(body: Body) -> int:
    return sum(1 for _ in statements(body))


@dataclass(frozen=True)
class _Parser:
    """What some port roles' programs do; `every`: the roles of all programs, by number."""

    parts: Parts
    roles: frozenset[str]
    every: tuple[str, ...]

    @classmethod
    def of(cls, f: Function, unit: Unit) -> _Parser:
        roles = frozenset(p.role for p in unit.programs if f in p.functions)
        return cls(parts_of(f.body), roles, unit.roles)

    @property
    def body(self) -> Body:
        return tuple(s for part in self.parts.values() for s in part)

    def joined(self, other: _Parser) -> _Parser | None:
        """Both in one; None where two variables would have one name."""
        parts: Parts = {}
        for label in _merged(list(self.parts), list(other.parts)):
            ours, theirs = self.parts.get(label), other.parts.get(label)
            if ours is not None and theirs is not None:
                parts[label] = tuple(self._both(ours, _named_as(ours, theirs), other))
            else:
                parts[label] = ours or theirs or ()
        followed = dict(pairwise(parts))
        for each in (self, other):
            for label, behind in pairwise(each.parts):
                if not ends(each.parts[label]) and followed[label] != behind:
                    parts[label] += (If(each._test, (Goto(behind),)),)
        names = list(_names(parts))
        if len(set(names)) < len(names):
            return None
        return replace(self, parts=parts, roles=self.roles | other.roles)

    def _both(self, ours: Body, theirs: Body, other: _Parser) -> Iterator[Statement]:
        """Statements that are alike once, others for their roles."""
        keys, others = list(map(_key, ours)), list(map(_key, theirs))
        for tag, a, b, c, d in SequenceMatcher(None, keys, others, autojunk=False).get_opcodes():
            if tag == "equal":
                yield from map(_covering, ours[a:b], theirs[c:d])
            else:
                yield from self._only(ours[a:b])
                yield from other._only(theirs[c:d])

    def _only(self, body: Body) -> Iterator[Statement]:
        """Statements for these roles only. What has no effect needs no test."""
        for s in body:
            match s:
                case Blank() | Label() | StatementStart():
                    yield s
                case Let() if not any(map(has_effects, own_expressions(s))):
                    yield s
                case If(test, _, ()) if not _asks(test):
                    yield replace(s, test=both((self._test, test)))
                case If(_, _, ()):
                    yield s
                case _:
                    yield If(self._test, (s,), span=s.span)

    @property
    def _test(self) -> Expr:
        rest = [role for role in self.every if role not in self.roles]
        if len(rest) == 1 < len(self.roles):
            return ROLE.is_not(self._number(rest[0]))
        return either(ROLE.is_(self._number(role)) for role in self.every if role in self.roles)

    def _number(self, role: str) -> Number:
        return Number(self.every.index(role), U32, constant_name("role", role))


def _asks(test: Expr) -> bool:
    """Whether a test asks for the role already."""
    return ROLE in own_expressions(If(test, ()))


def _merged(ours: list[str], theirs: list[str]) -> list[str]:
    """Labels of both, each once, in the order of both as far as these agree."""
    found: dict[str, None] = {}
    for _, a, b, c, d in SequenceMatcher(None, ours, theirs, autojunk=False).get_opcodes():
        found |= dict.fromkeys([*ours[a:b], *theirs[c:d]])
    return list(found)


def _key(s: Statement) -> Statement:
    """What makes statements alike: not the text that they carry out."""
    match s:
        case StatementStart():
            return StatementStart()
        case ForgetPlaces():
            return ForgetPlaces(())
        case If(test, then, otherwise, unlikely):
            return If(test, tuple(map(_key, then)), tuple(map(_key, otherwise)), unlikely)
        case Block(inner, name, reads):
            return Block(tuple(map(_key, inner)), name, reads)
    return s.nowhere()


def _covering(ours: Statement, theirs: Statement) -> Statement:
    """One statement for two that are alike."""
    if isinstance(ours, ForgetPlaces) and isinstance(theirs, ForgetPlaces):
        return replace(ours, members=tuple(dict.fromkeys((*ours.members, *theirs.members))))
    return ours


_Declaring = Let | LetArray | LetStruct


def _names(parts: Parts) -> Iterator[str]:
    """The variables that a function declares outside of blocks."""
    return (s.name.name for part in parts.values() for s in part if isinstance(s, _Declaring))


def _named_as(ours: Body, theirs: Body) -> Body:
    """The second body with the names that variables have in the first, if it has as many."""
    a, b = ([s.name for s in body if isinstance(s, _Declaring)] for body in (ours, theirs))
    given = dict(zip(b, a, strict=True)) if len(a) == len(b) else {}
    return rewritten(theirs, lambda x: given.get(x, x) if isinstance(x, Name) else x)
