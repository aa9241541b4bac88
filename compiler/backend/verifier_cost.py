"""How much of a program the verifier follows. It goes through what comes behind a test of a pointer
twice, once with the pointer and once without, for as long as the pointer is used. Where the parser
leaves pointers in registers, it goes through the stages once for each way through the parser.
tests/compiler/backend/test_verifier_cost.py holds this against what a kernel counts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..ir.expr import Expr, NotNull, State, StateCall, TableCall, Unary, Which
from ..ir.nodes import AssumeNot, Block, Body, Goto, If, Label, Next, Repeat, Statement, Stop
from ..ir.types import BYTES, Pointer
from ..ir.unit import Program, Unit
from ..ir.walk import compared, own_expressions, statements
from .kernel_limits import MOST_FOLLOWED, looked_up

#: Instructions that the verifier followed for one step, at most, in programs of some length: on
#: each way to it by which other pointers are null, or on each of the parser's. Most took one.
_OF_A_STEP = 20
_OF_A_WAY = 10
#: Steps that a meter is.
_METER = 40


def too_much(unit: Unit) -> bool:
    """Whether one of its programs may be too much for the verifier."""
    return unit.target != "nfp" and any(
        estimated(unit, program) > MOST_FOLLOWED for program in unit.programs
    )


def estimated(unit: Unit, program: Program) -> int:
    """Instructions that the verifier follows in a program."""
    headers = program.ways is None
    steps = _OF_A_STEP * sum(followed(f.body, headers) for f in program.functions)
    if program.ways is not None:
        count = sum(sum(s.weight for s in _steps(f.body, headers)) for f in program.functions)
        steps = max(steps, _OF_A_WAY * program.ways * count)
    return looked_up(unit, program) + steps


def followed(body: Body, headers: bool = True) -> int:
    """Steps of a stage, each as often as there are ways to it by which other pointers are null: to
    records of rules, and, where they are no different ways already, to `headers`."""
    again = ((most - 1) * _followed(part, headers) for part, most in _loops(body))
    return _followed(body, headers) + sum(again)


def _loops(body: Body) -> Iterator[tuple[Body, int]]:
    """What a jump that leads back comes to again, and how often at most."""
    labels = {s.name: i for i, s in enumerate(body) if isinstance(s, Label)}
    for i, s in enumerate(body):
        for jump in statements((s,)):
            if isinstance(jump, Goto) and jump.most:
                yield body[labels[jump.label] : i + 1], jump.most


def _followed(body: Body, headers: bool) -> int:
    total = 0
    kept: dict[str, int] = {}  # pointers, by the depth of the block that made them
    sure: dict[str, int] = {}  # those that are not null there, likewise
    steps = _steps(body, headers)
    last = {name: number for number, step in enumerate(steps) for name in step.used}
    for number, step in enumerate(steps):
        for known in (kept, sure):
            for name in [n for n, depth in known.items() if depth > step.depth or last[n] < number]:
                del known[name]
        for name in step.used:
            kept.setdefault(name, step.depth)
        if step.sure:
            sure.setdefault(step.sure, step.sure_from)
        total += step.weight << len(kept.keys() - sure.keys())
    return total


@dataclass(frozen=True)
class _Step:
    """A statement, a test, or the end of a block, at a depth of blocks: the pointers that it uses,
    and which one is not null from the depth `sure_from` on behind it. `weight`: as many steps as it
    counts for."""

    depth: int
    weight: int = 1
    used: tuple[str, ...] = ()
    sure: str = ""
    sure_from: int = 0


def _steps(body: Body, headers: bool) -> list[_Step]:
    found: list[_Step] = []
    _add_steps(found, body, 0, headers)
    return found


def _add_steps(found: list[_Step], body: Body, depth: int, headers: bool) -> None:
    for s in body:
        used = (_pointer(x, headers) for x in own_expressions(s))
        names = tuple(filter(None, used))
        match s:
            case If(test, then, otherwise):
                sure = _pointer(test.pointer, headers) if isinstance(test, NotNull) else ""
                found.append(_Step(depth, _weight(s), names, sure, depth + 1))
                _add_steps(found, then, depth + 1, headers)
                found.append(_Step(depth, 1, (), _missed(s, headers), depth))
                if otherwise:
                    _add_steps(found, otherwise, depth + 1, headers)
                    found.append(_Step(depth, 2))
            case Repeat(_, most, _, inner):
                for _ in range(most):
                    found.append(_Step(depth, 2))
                    _add_steps(found, inner, depth + 1, headers)
            case Block(inner):
                found.append(_Step(depth))
                _add_steps(found, inner, depth + 1, headers)
                found.append(_Step(depth))
            case AssumeNot(Unary("!", NotNull(pointer))):
                found.append(_Step(depth, 2, names, _pointer(pointer, headers), depth))
            case _:
                found.append(_Step(depth, _weight(s), names))


def _missed(s: If, headers: bool) -> str:
    """The pointer that is not null behind it, as packets without it end there."""
    if isinstance(s.test, Unary) and isinstance(s.test.operand, NotNull) and s.test.operator == "!":
        ends = bool(s.then) and isinstance(s.then[-1], Stop | Next | Goto)
        return _pointer(s.test.operand.pointer, headers) if ends else ""
    return ""


def _weight(s: Statement) -> int:
    """How many steps a statement is."""
    own = own_expressions(s)
    if any(isinstance(x, TableCall | StateCall) and x.what == "meter" for x in own):
        return _METER
    if searched := sum(compared(x) for x in own if isinstance(x, Which)):
        return 1 + searched // 4
    match s:
        case Next():
            return 3
        case AssumeNot() | Stop():
            return 2
    return 1


def _pointer(x: Expr, headers: bool) -> str:
    """The name of the pointer to a rule's record, or to a header, that an expression is; "" of
    another."""
    kept = isinstance(x, State) and isinstance(x.type, Pointer) and not x.scratch
    return x.member if kept and isinstance(x, State) and (headers or x.type != BYTES) else ""
