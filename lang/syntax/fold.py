"""A line of canonical text that is too long, broken at spaces: a line may end at each of them.

The outermost and loosest place that fits is taken first, of several such the last: in front of a
clause (`over`, `when`), behind a comma, in front of `or`, `and`, a comparison, an operator. What is
in braces is not broken here, sets excepted: where it is too long, the printer gives each of its
parts a line of its own.
"""

from __future__ import annotations

import re

from ..tree.operators import PRECEDENCE

WIDEST = 100
"""Columns of a line that is broken where it is longer; comments behind it are not counted."""

_TOKEN = re.compile(r"( *)([({\[]|[)}\]]|[^ (){}\[\]]+)")
_CLAUSES = ("over", "when", "write", "on", "within", "limit")
_CLAUSE, _COMMA, _OR, _AND, _COMPARISON, _OPERATOR = range(6)
_PLACED, _ELSEWHERE, _BLOCK = 20, 21, 22

#: How loosely each word is bound to what stands in front of it: the lower, the looser.
_LOOSE = {
    **dict.fromkeys(_CLAUSES, _CLAUSE),
    "or": _OR,
    "and": _AND,
    **dict.fromkeys(("!=", "<", "<=", ">", ">=", "is"), _COMPARISON),
    **{sign: _OPERATOR + level for sign, level in PRECEDENCE.items()},
    **dict.fromkeys(("before", "behind"), _PLACED),
    **dict.fromkeys(("{", "else", "in", "=", "=>"), _BLOCK),
}


def fold(line: str, indent: int) -> list[str]:
    """The line as several of `WIDEST` columns at most; all but the first are indented."""
    lines = []
    while len(line) > WIDEST and (at := _place(line)):
        lines.append(line[:at])
        line = " " * indent + line[at:].lstrip()
    return [*lines, line]


def _place(line: str) -> int:
    """Where to end a line: behind its first word if no place fits, 0 if there is none."""
    best: tuple[tuple[bool, int, int, int], int] | None = None
    open_: list[int] = []  # for each bracket, how many braces it is that are kept whole
    depth, word = 0, ""
    for found in _TOKEN.finditer(line):
        before, word, at = word, found[2], found.start()
        if before and found[1] and not sum(open_):
            if best and at > WIDEST:
                break
            loose = _COMMA if before[-1] == "," else _LOOSE.get(word, _ELSEWHERE)
            rank = (loose >= _ELSEWHERE, depth, loose, -at)
            if best is None or rank < best[0]:
                best = rank, at
        if word in ("(", "[", "{"):
            open_.append(word == "{" and before not in ("in", "="))
            depth += 1
        elif word in (")", "]", "}"):
            depth -= 1
            if open_:
                open_.pop()
    return best[1] if best else 0
