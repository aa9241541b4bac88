"""What each pass makes of one construct: cases/*.txt, source and result in one file."""

from __future__ import annotations

from pathlib import Path

import pytest
from golden import Case, Golden, cases
from helioc.commands.helioc import OPTIONAL, STEPS
from helioc.compiler.check.program import check
from helioc.compiler.driver import PASSES, lowered, run
from helioc.compiler.ir.nodes import Function
from helioc.compiler.ir.printer import print_function
from helioc.compiler.ir.unit import Unit
from helioc.compiler.lower.unit import Join
from helioc.lang.syntax.parser import parse
from helioc.lang.text.source import Source

CASES = cases(Path(__file__).parent / "cases")


def functions(unit: Unit, names: list[str]) -> str:
    """The functions of these names, but for those that a pass left out."""
    found: list[Function] = [f for f in unit.every_function if f.name in names]
    return "".join(f"{line}\n" for f in found for line in print_function(f))


def head(case: Case) -> dict[str, str]:
    return dict(line.split(": ", 1) for line in case.text.splitlines())


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_a_construct(case: Case, golden: Golden) -> None:
    said = head(case)
    pipeline = check(parse(Source("case.hp", case.parts["source"])))
    join: Join = "fused" if said.get("join") == "fused" else "staged"
    unit = lowered(pipeline, join, traced=said.get("traced") == "yes")
    names, steps = said["functions"].split(), ["lower", *STEPS]
    behind = steps[steps.index(said["pass"]) - 1]
    spilled = said["pass"] == "spill" or said.get("spilled") == "yes"

    def after(step: str) -> str:
        made = unit if step == "lower" else run(pipeline, unit, spilled=spilled, stop_after=step)
        return functions(made, names)

    golden(case, before=after(behind), after=after(said["pass"]))


def test_every_pass_has_a_case() -> None:
    assert {head(case)["pass"] for case in CASES} == set(STEPS) - {"lay_out_state"}


def test_the_command_knows_the_passes() -> None:
    assert tuple(each.name for each in PASSES) == STEPS
    assert [each.name for each in PASSES if each.optional] == list(OPTIONAL)
