"""Variables that hold one number wherever they are read are that number, and tests that are decided
by that are made no more. Before `simplify`, which computes what is left of the expressions.
"""

from __future__ import annotations

from dataclasses import replace

from ..ir.expr import Address, Binary, Expr, Name, Number, Unary
from ..ir.nodes import (
    AssumeNot,
    Blank,
    Block,
    Body,
    If,
    Jump,
    Label,
    Let,
    Next,
    Opaque,
    Repeat,
    Set,
    Statement,
    Stop,
)
from ..ir.rewrite import rewritten
from ..ir.types import Int
from ..ir.unit import Unit, with_functions
from ..ir.walk import ends, own_expressions, statements
from .simplify import simpler

_COMPARED = {
    "==": int.__eq__, "!=": int.__ne__, "<": int.__lt__, "<=": int.__le__, ">": int.__gt__,
    ">=": int.__ge__,
}  # fmt: skip


def fold_constants(unit: Unit) -> Unit:
    made = [replace(f, body=_folded(f.body)) for f in unit.functions]
    return with_functions(unit, made)


def _folded(body: Body) -> Body:
    """Once more for each time that a variable turned out to be a number."""
    while known := _numbers(body):

        def change(x: Expr, known: dict[str, Number] = known) -> Expr:
            return known.get(x.name, x) if isinstance(x, Name) else decided(simpler(x))

        body = _reached(rewritten(_undeclared(body, known), change))
    return _asked(body)


def _asked(body: Body) -> Body:
    """Without what stands behind labels that no jump leads to."""
    asked = {s.label for s in statements(body) if isinstance(s, Jump)}
    made: list[Statement] = []
    for s in body:
        there = isinstance(s, Label) and s.name in asked
        if made and ends(tuple(made[-1:])) and not there:
            continue
        if there and made:
            made.append(Blank())
        if not isinstance(s, Blank):
            made.append(s)
    return tuple(made)


def _undeclared(body: Body, known: dict[str, Number]) -> Body:
    """Without the declarations of these variables."""
    made: list[Statement] = []
    for s in body:
        match s:
            case Let(name) if name.name in known:
                continue
            case If(_, then, otherwise):
                then, otherwise = _undeclared(then, known), _undeclared(otherwise, known)
                s = replace(s, then=then, otherwise=otherwise)
            case Block(inner) | Repeat(_, _, _, inner):
                s = replace(s, body=_undeclared(inner, known))
        made.append(s)
    return tuple(made)


def _numbers(body: Body) -> dict[str, Number]:
    """The variables that are always the same number, of all that bear a name."""
    found: dict[str, Number] = {}
    others: set[str] = set()
    for s in statements(body):
        match s:
            case Let(Name(name, Int(bits, False) as type_), Number(value)):
                made = Number(value & ((1 << bits) - 1), type_)
                if found.setdefault(name, made) != made:
                    others.add(name)
            case Let(name) | Set(Name() as name) | Opaque(name) | Stop(_, name):
                others.add(name.name)
            case Next(_, p, at):
                others |= {p.name, at.name}
        for x in own_expressions(s):
            match x:  # what is subtracted from less than 32 bits keeps its type
                case Address(Name(name)) | Binary("-", _, Name(name)):
                    others.add(name)
    return {name: value for name, value in found.items() if name not in others}


def decided(x: Expr) -> Expr:
    """0 or 1 in place of a test whose outcome is known."""
    match x:
        case Binary(operator, Number(left), Number(right)) if operator in _COMPARED:
            return Number(int(_COMPARED[operator](left, right)))
        case Binary("&&", Number(0)):
            return Number(0)
        case Unary("!", Number(known)):
            return Number(int(not known))
    return x


def _reached(body: Body) -> Body:
    """Without what no way leads to."""
    made: list[Statement] = []
    for s in body:
        if ends(tuple(made[-1:])) and not isinstance(s, Label):
            continue
        match s:
            case AssumeNot(Number(0)):
                continue
            case If(Number(known), then, otherwise):
                made += _own(_reached(then if known else otherwise))
            case If(_, then, otherwise):
                made.append(replace(s, then=_reached(then), otherwise=_reached(otherwise)))
            case Block(inner) | Repeat(_, _, _, inner):
                made.append(replace(s, body=_reached(inner)))
            case _:
                made.append(s)
    return tuple(made)


def _own(body: Body) -> Body:
    """Statements with names of their own, if they have any."""
    return (Block(body),) if any(isinstance(s, Let) for s in body) else body
