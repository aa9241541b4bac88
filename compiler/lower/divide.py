"""Stages that are more than one program may be, as several: each begins where the one before ends,
behind a tail call. What was found and named is kept for later stages in any case; which way a
packet went in an `if` that is divided, a value of its own says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import accumulate, count
from typing import NamedTuple

from ...lang.text.frozen import Frozen, kept
from ..model import (
    Append,
    Block,
    Choose,
    ClampMss,
    Compare,
    Const,
    Find,
    If,
    Inline,
    Let,
    Local,
    MatchNumber,
    Pipeline,
    Pop,
    PopLink,
    Push,
    Stage,
    Statement,
)
from ..model.walk import parts, walk

Statements = tuple[Statement, ...]

#: How far from half of a part the second one may be, before the cut goes through a statement.
_UNEVEN = 0.5

#: So many times too long that each half surely is too long, too, though weights are not exact.
_MANY_TIMES = 3

#: A look-up is some 400 instructions, and has four maps or more. Another node is a few of them.
_LOOK_UP = 80


class Halves(NamedTuple):
    """`miss`: where the second half is all under one flag, what says that a packet did not come
    there."""

    first: Statements
    second: Statements
    miss: Let | None = None


def divided(pipeline: Pipeline, over: Mapping[str, float]) -> Pipeline | None:
    """The pipeline with these stages in halves, and the halves likewise of those that are several
    times too long; None where none of them can be divided. A later part of the stage `s` is called
    `s_2`, `s_3` …"""
    used = {part.local.name for part in walk(pipeline.stages) if isinstance(part, Let)}
    flags = (str(n) for n in count() if str(n) not in used)  # no `let` can be called so
    stages = [p for s in pipeline.stages for p in _parts(s, over.get(s.name, 0), flags)]
    if len(stages) == len(pipeline.stages):
        return None
    return replace(pipeline, stages=tuple(_named(stages)))


def _parts(stage: Stage, times: float, flags: Iterator[str]) -> Iterator[Stage]:
    """A stage that is so many times too long in parts that may fit, or are asked again."""
    halves = _halves(stage.body.statements, flags) if times > 1 else None
    if halves is None:
        yield stage
        return
    span = getattr(halves.second[0], "span", stage.span)
    first, second = Block(halves.first), Block(halves.second, stage.body.ends)
    left = times / 2 if times > _MANY_TIMES else 0
    yield from _parts(replace(stage, body=first), left, flags)
    origin = stage.part_of or stage.name
    yield from _parts(Stage("", second, "", span, part_of=origin), left, flags)


def _named(stages: list[Stage]) -> Iterator[Stage]:
    taken = {s.name for s in stages if not s.part_of}
    for stage in stages:
        if stage.part_of:
            name = next(n for i in count(2) if (n := f"{stage.part_of}_{i}") not in taken)
            taken.add(name)
            stage = replace(stage, name=name)
        yield stage


def _halves(statements: Statements, flags: Iterator[str], half: int | None = None) -> Halves | None:
    """Between two statements, or if that is far from the middle within one. `half`: what the second
    part is to weigh, if that is not half of these."""
    weights = [_weight(s) for s in statements]
    behind = [*accumulate(reversed(weights))][::-1]
    half = sum(weights) // 2 if half is None else half
    best = min(range(1, len(statements)), key=lambda i: abs(behind[i] - half), default=0)
    between = Halves(statements[:best], statements[best:]) if best else None
    if best and abs(behind[best] - half) <= _UNEVEN * half:
        return between
    heavy = max(range(len(statements)), key=lambda i: weights[i], default=None)
    if heavy is None:
        return None
    rest = half - behind[heavy] + weights[heavy]
    within = _within(statements[heavy], max(1, rest), flags)
    if within is None:
        return between
    before, after = statements[:heavy], statements[heavy + 1 :]
    miss = None if after else within.miss
    return Halves((*before, *within.first), (*within.second, *after), miss)


def _within(s: Statement, half: int, flags: Iterator[str]) -> Halves | None:
    match s:
        case Inline(_, Block(body, ends)):
            halves = _halves(body, flags, half)
            if halves is None:
                return None
            first, second = Block(halves.first), Block(halves.second, ends)
            return Halves((replace(s, body=first),), (replace(s, body=second),))
        case If(_, then, otherwise) if _weight(then) >= _weight(otherwise):
            return _within_then(s, half, flags)
        case If():
            return _within_else(s, half, flags)
        case MatchNumber():
            return _within_arms(s, half, flags)
    return None


def _within_then(s: If, half: int, flags: Iterator[str]) -> Halves | None:
    """The first half of `then` here; the second, and `else`, where a flag says which way the packet
    came. No packet has changed its headers by then: all have to have them alike."""
    halves = _halves(s.then.statements, flags, max(1, half - _weight(s.otherwise)))
    if halves is None or any(map(_reshapes, halves.first)):
        return None
    hit, miss, test = _flag(s, flags)
    first = If(s.condition, Block((hit, *halves.first)), Block((miss,)), s.span)
    rest = Block(halves.second, s.then.ends)
    span = getattr(halves.second[0], "span", s.span)
    miss_too = None if s.otherwise.statements else miss
    return Halves((first,), (If(test, rest, s.otherwise, span),), miss_too)


def _within_else(s: If, half: int, flags: Iterator[str]) -> Halves | None:
    """`then` and the first half of `else` here, the second behind: of a chain of `else if` those
    from the middle on."""
    rest = s.otherwise.statements
    halves = Halves((), rest) if _weight(s.otherwise) <= half else _halves(rest, flags, half)
    if halves is None or any(map(_reshapes, halves.first)):
        return None
    if not s.then.ends and any(map(_reshapes, s.then.statements)):
        return None
    if halves.miss is not None:  # the flag that a test further on in the chain has
        then = Block((halves.miss, *s.then.statements), s.then.ends)
        return halves._replace(first=(If(s.condition, then, Block(halves.first), s.span),))
    hit, miss, test = _flag(s, flags)
    then = Block((miss, *s.then.statements), s.then.ends)
    first = If(s.condition, then, Block((hit, *halves.first)), s.span)
    span = getattr(halves.second[0], "span", s.span)
    second = If(test, Block(halves.second, s.otherwise.ends), Block(()), span)
    return Halves((first,), (second,), miss)


def _within_arms(s: MatchNumber, half: int, flags: Iterator[str]) -> Halves | None:
    """The first arms here, the others behind: for a packet that came to none of the first, of which
    the number is the same there."""
    behind = [*accumulate((_weight(body) for _, body in reversed(s.arms)), initial=0)][::-1]
    cut = min(range(1, len(s.arms)), key=lambda i: abs(behind[i] - half), default=0)
    first, second = s.arms[:cut], s.arms[cut:]
    if not cut or any(not b.ends and _reshapes(b) for _, b in first):
        return None
    hit, miss, test = _flag(s, flags)
    left = MatchNumber(s.subject, first, Block((hit,)), s.span)
    ends = s.otherwise.ends and all(body.ends for _, body in second)
    rest = Block((MatchNumber(s.subject, second, s.otherwise, s.span),), ends)
    return Halves((miss, left), (If(test, rest, Block(()), s.span),), miss)


def _flag(s: If | MatchNumber, flags: Iterator[str]) -> tuple[Let, Let, Compare]:
    """What says that a packet came by the branch that is divided, or did not; and the question."""
    flag = Local(next(flags), 1)
    hit, miss = (Let(flag, Const(value, 1), s.span) for value in (1, 0))
    return hit, miss, Compare("=", flag, Const(1, 1))


@kept
def _weight(part: Frozen) -> int:
    """Of a statement or a block, the nodes that it is made of, and what its look-ups come to."""
    own = _LOOK_UP if isinstance(part, Find | Choose) else 1
    return own + sum(map(_weight, parts(part)))


_RESHAPING = Push | Append | Pop | PopLink | ClampMss


@kept
def _reshapes(part: Frozen) -> bool:
    """Whether packets may have other headers behind it, or what a `forward` does to them."""
    return isinstance(part, _RESHAPING) or any(map(_reshapes, parts(part)))
