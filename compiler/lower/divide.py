"""Stages that are more than one program may be, as several: each begins where the one before ends,
behind a tail call. What was found and named is kept for later stages in any case; which way a
packet went in an `if` that is divided, a value of its own says."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from itertools import accumulate, count
from typing import NamedTuple

from ..model import (
    Append,
    Block,
    ClampMss,
    Compare,
    Const,
    If,
    Inline,
    Let,
    Local,
    Pipeline,
    Pop,
    PopLink,
    Push,
    Stage,
    Statement,
)
from .reads import walk

Statements = tuple[Statement, ...]

#: Of what a part weighs, the most that one half may have before it is cut within a statement.
_UNEVEN = 0.75


class Halves(NamedTuple):
    first: Statements
    second: Statements


def divided(pipeline: Pipeline, names: Collection[str]) -> Pipeline | None:
    """The pipeline with these stages in halves; None where none of them can be divided. A later
    part of the stage `s` is called `s_2`, `s_3` …"""
    used = {part.local.name for part in walk(pipeline.stages) if isinstance(part, Let)}
    flags = (str(n) for n in count() if str(n) not in used)  # no `let` can be called so
    stages: list[Stage] = []
    for stage in pipeline.stages:
        halves = _halves(stage.body.statements, flags) if stage.name in names else None
        if halves is None:
            stages.append(stage)
            continue
        origin = stage.part_of or stage.name
        span = getattr(halves.second[0], "span", stage.span)
        first, second = Block(halves.first), Block(halves.second, stage.body.ends)
        stages += replace(stage, body=first), Stage("", second, "", span, part_of=origin)
    if len(stages) == len(pipeline.stages):
        return None
    return replace(pipeline, stages=tuple(_named(stages)))


def _named(stages: list[Stage]) -> Iterator[Stage]:
    taken = {s.name for s in stages if not s.part_of}
    for stage in stages:
        if stage.part_of:
            name = next(n for i in count(2) if (n := f"{stage.part_of}_{i}") not in taken)
            taken.add(name)
            stage = replace(stage, name=name)
        yield stage


def _halves(statements: Statements, flags: Iterator[str]) -> Halves | None:
    """About in the middle: between two statements, or if that leaves nearly all on one side within
    one."""
    weights = [sum(1 for _ in walk(s)) for s in statements]
    ends = list(accumulate(weights))
    whole = ends[-1] if ends else 0
    best = min(range(1, len(statements)), key=lambda i: abs(2 * ends[i - 1] - whole), default=0)
    if best and max(ends[best - 1], whole - ends[best - 1]) <= _UNEVEN * whole:
        return Halves(statements[:best], statements[best:])
    heavy = max(range(len(statements)), key=lambda i: weights[i], default=None)
    within = None if heavy is None else _within(statements[heavy], flags)
    if heavy is not None and within is not None:
        before, behind = statements[:heavy], statements[heavy + 1 :]
        return Halves((*before, *within.first), (*within.second, *behind))
    return Halves(statements[:best], statements[best:]) if best else None


def _within(s: Statement, flags: Iterator[str]) -> Halves | None:
    match s:
        case Inline(_, Block(body, ends)):
            halves = _halves(body, flags)
            if halves is None:
                return None
            first, second = Block(halves.first), Block(halves.second, ends)
            return Halves((replace(s, body=first),), (replace(s, body=second),))
        case If():
            return _within_if(s, flags)
    return None


def _within_if(s: If, flags: Iterator[str]) -> Halves | None:
    """Of the heavier branch the first half here, the second where a flag says that the packet came
    by it. No packet has changed its headers by then: all have to have them alike."""
    of_then = _weight(s.then) >= _weight(s.otherwise)
    branch, other = (s.then, s.otherwise) if of_then else (s.otherwise, s.then)
    halves = _halves(branch.statements, flags)
    if halves is None or any(map(_reshapes, halves.first)):
        return None
    flag = Local(next(flags), 1)
    taken, not_taken = (Let(flag, Const(value, 1), s.span) for value in (1, 0))
    here, there = (Block((taken, *halves.first)), Block((not_taken,)))
    first = If(s.condition, *((here, there) if of_then else (there, here)), s.span)
    span = getattr(halves.second[0], "span", s.span)
    rest = Block(halves.second, branch.ends)
    second = If(Compare("=", flag, Const(1, 1)), rest, other, span)
    return Halves((first,), (second,))


def _weight(block: Block) -> int:
    return sum(1 for _ in walk(block))


def _reshapes(s: Statement) -> bool:
    """Whether packets may have other headers behind it, or what a `forward` does to them."""
    kinds = Push | Append | Pop | PopLink | ClampMss
    return any(isinstance(part, kinds) for part in walk(s))
