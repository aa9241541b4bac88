"""How much of a program the verifier follows. It goes through what comes behind a test of a pointer
twice, once with the pointer and once without, for as long as the pointer is kept. Where that would
be more than it takes, nothing is kept from one statement to the next."""

from __future__ import annotations

import re

from .budget import MOST_FOLLOWED, looked_up
from .lowered import Function, Unit

#: Instructions that the verifier followed for one line of C on one way, at most: found in generated
#: pipelines, most of which took it one or two.
_OF_A_LINE = 20

_POINTER = re.compile(r"\bst->(\w+_h)\b")
_SURE = re.compile(r"if \(SELDOM\(!there\(st->(\w+_h)\)\)\)$")
_TESTED = re.compile(r"if \(there\(st->(\w+_h)\)\) \{$")


def too_much(unit: Unit) -> bool:
    """Whether one of its programs may be too much for the verifier as long as it keeps pointers."""
    return unit.target == "host" and any(
        _OF_A_LINE * sum(map(followed, program.functions)) + looked_up(unit, program)
        > MOST_FOLLOWED
        for program in unit.programs
    )


def followed(function: Function) -> int:
    """Lines of a stage, each as often as there are ways to it by which other pointers are null."""
    total = 0
    kept: dict[str, int] = {}  # pointers, by the depth of the block that made them
    sure: dict[str, int] = {}  # those that are not null there, likewise
    for line in function.body:
        for known in (kept, sure):
            for name in [name for name, depth in known.items() if depth > line.depth]:
                del known[name]
        for name in _POINTER.findall(line.text):
            kept.setdefault(name, line.depth)
        if seen := _SURE.search(line.text):
            sure.setdefault(seen[1], line.depth)
        elif seen := _TESTED.search(line.text):
            sure.setdefault(seen[1], line.depth + 1)
        total += 1 << len(kept.keys() - sure.keys())
    return total
