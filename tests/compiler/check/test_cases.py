"""Errors stand beside the lines they are about: `//~ H0213` says that exactly this is found there.

Each file in `cases/` is a fragment (see check_frame.py), and how its diagnostics look.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from check_frame import checked, framed
from explained import explained
from golden import Case, Golden, cases
from helioc.lang.text.render import render

CASES = cases(Path(__file__).parent / "cases")
_MARK = re.compile(r"//~ ([H0-9 ]+)$")


def _expected(text: str) -> list[tuple[int, str]]:
    marks = ((n, _MARK.search(line)) for n, line in enumerate(text.split("\n"), start=1))
    return [(n, code) for n, mark in marks if mark for code in mark[1].split()]


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_exactly_the_marked_errors_come(case: Case, golden: Golden) -> None:
    text = framed(case.text)
    _, found = checked(text)
    assert [d for d in found if d.span is None] == []
    came = sorted((d.span.line, d.code) for d in found if d.span)
    assert came == _expected(text), "\n\n".join(render(d) for d in found)
    unmarked = re.sub(r"  //~ [H0-9 ]+$", "", text, flags=re.MULTILINE)
    shown = "\n\n".join(render(d) for d in checked(unmarked)[1])
    golden(case, shown=shown + "\n")


def test_every_code_with_a_short_example_has_a_case() -> None:
    marked = {code for case in CASES for _, code in _expected(case.text)}
    assert {code for code, e in explained("check").items() if e.wrong} <= marked


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_errors_help(case: Case) -> None:
    """Each has a place and a fix."""
    for d in checked(framed(case.text))[1]:
        assert d.labels and d.labels[0].text and d.help, d
