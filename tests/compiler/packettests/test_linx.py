"""The packet tests that ship with LINX hold on the interpreter."""

from __future__ import annotations

import pytest
from helioc.compiler.packettests.cases import Case, read_tests
from helioc.compiler.packettests.runs import Interpreted, run_case
from helioc.lang.text.source import Source
from linx_world import PIPELINES, linx, linx_manifest


def cases() -> tuple[Case, ...]:
    path = PIPELINES / "linx.test.yaml"
    return read_tests(linx(), linx_manifest(), Source(path.name, path.read_text(), path))


CASES = cases()


@pytest.mark.parametrize("case", CASES, ids=[c.name for c in CASES])
def test_case(case: Case) -> None:
    result = run_case(linx(), case, [Interpreted(linx())])
    assert result.ok, "\n".join((*result.problems, "", *map(str, result.outcomes[0].trace)))
    assert result.backends == ("interpreter",)


def test_there_are_enough() -> None:
    assert len(CASES) >= 40
