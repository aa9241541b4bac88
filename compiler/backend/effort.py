"""How much of a program the verifier follows. It goes through what comes behind a test of a pointer
twice, once with the pointer and once without, for as long as the pointer is used. Where the parser
leaves pointers in registers, it goes through the stages once for each way through the parser.
tests/compiler/lower/test_effort.py holds this against what a kernel counts."""

from __future__ import annotations

import re

from ..lower.lowered import Function, Program, Unit
from .budget import MOST_FOLLOWED, looked_up

#: Instructions that the verifier followed for one line of C, at most, in programs of some length:
#: on each way to it by which other pointers are null, or on each of the parser's. Most took one.
_OF_A_LINE = 20
_OF_A_WAY = 10

_POINTER = re.compile(r"\bst->(\w+_h)\b")
_SURE = re.compile(r"if \(SELDOM\(!there\(st->(\w+_h)\)\)\)$")
_TESTED = re.compile(r"if \(there\(st->(\w+_h)\)\) \{$")


def too_much(unit: Unit) -> bool:
    """Whether one of its programs may be too much for the verifier."""
    return unit.target == "host" and any(
        estimated(unit, program) > MOST_FOLLOWED for program in unit.programs
    )


def estimated(unit: Unit, program: Program) -> int:
    """Instructions that the verifier follows in a program."""
    lines = _OF_A_LINE * sum(map(followed, program.functions))
    if program.ways is not None:
        lines = _OF_A_WAY * program.ways * sum(len(f.body) for f in program.functions)
    return looked_up(unit, program) + lines


def followed(function: Function) -> int:
    """Lines of a stage, each as often as there are ways to it by which other pointers are null."""
    total = 0
    kept: dict[str, int] = {}  # pointers, by the depth of the block that made them
    sure: dict[str, int] = {}  # those that are not null there, likewise
    used = [_POINTER.findall(line.text) for line in function.body]
    last = {name: number for number, names in enumerate(used) for name in names}
    for number, line in enumerate(function.body):
        for known in (kept, sure):
            for name in [n for n, depth in known.items() if depth > line.depth or last[n] < number]:
                del known[name]
        for name in used[number]:
            kept.setdefault(name, line.depth)
        if seen := _SURE.search(line.text):
            sure.setdefault(seen[1], line.depth)
        elif seen := _TESTED.search(line.text):
            sure.setdefault(seen[1], line.depth + 1)
        total += 1 << len(kept.keys() - sure.keys())
    return total
