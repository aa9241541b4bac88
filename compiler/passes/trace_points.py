"""Of a program that is to be traced, what each of its points records gets the number by which a
trace names it; of others nothing is recorded."""

from __future__ import annotations

from dataclasses import replace

from ...lang.contract.trace.schema import Point
from ..ir.nodes import Block, Body, If, Only, Repeat, Statement, Trace, TraceRule, TraceStatement
from ..ir.unit import Unit, with_functions


def trace_points(unit: Unit) -> Unit:
    numbers: dict[Point, int] | None = None
    if unit.traced is not None:
        numbers = {point: number for number, point in enumerate(unit.traced.points)}
    made = [replace(f, body=_traced(f.body, numbers)) for f in unit.functions]
    traced = unit.traced and replace(unit.traced, points=tuple(numbers or ()))
    return replace(with_functions(unit, made), traced=traced, edited=True)


def _traced(body: Body, numbers: dict[Point, int] | None) -> Body:
    """`numbers`: of the points so far; equal ones are one."""
    made: list[Statement] = []
    for s in body:
        match s:
            case TraceStatement() if numbers is None:
                continue
            case Trace() | TraceRule() if numbers is not None:
                s = replace(s, number=numbers.setdefault(s.point, len(numbers)))
            case If(_, then, otherwise):
                ways = _traced(then, numbers), _traced(otherwise, numbers)
                s = replace(s, then=ways[0], otherwise=ways[1])
            case Block(inner) | Only(_, inner) | Repeat(_, _, _, inner):
                s = replace(s, body=_traced(inner, numbers))
        made.append(s)
    return tuple(made)
