"""What one construct is in the intermediate representation: cases/*.txt, with its source."""

from __future__ import annotations

from pathlib import Path

import pytest
from golden import Case, Golden, cases
from helioc.compiler.check.program import check
from helioc.compiler.driver import lowered
from helioc.compiler.ir.printer import print_function, print_unit
from helioc.lang.syntax.parser import parse
from helioc.lang.text.source import Source

CASES = cases(Path(__file__).parent / "cases")


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_a_construct(case: Case, golden: Golden) -> None:
    names = case.text.removeprefix("functions: ").split()
    unit = lowered(check(parse(Source("case.hp", case.parts["source"]))))
    found = [function for function in unit.functions if function.name in names]
    assert [function.name for function in found] == names
    shown = [line for function in found for line in print_function(function)]
    if len(found) > 1:  # what leads from one to the next
        programs = [line for line in print_unit(unit).splitlines() if line.startswith("  program ")]
        shown += [line for line in programs if any(name in line for name in names)]
    golden(case, ir="\n".join(shown) + "\n")
