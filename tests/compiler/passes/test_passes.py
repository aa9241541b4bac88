"""What each pass makes of one construct: cases/*.txt, source and result in one file."""

from __future__ import annotations

from pathlib import Path

import pytest
from helioc.commands.helioc import OPTIONAL, STEPS
from helioc.compiler.check.program import check
from helioc.compiler.driver import PASSES, lowered, run
from helioc.compiler.ir.nodes import Function
from helioc.compiler.ir.printer import print_function
from helioc.compiler.ir.unit import Unit
from helioc.compiler.lower.unit import Join
from helioc.lang.syntax.parser import parse
from helioc.lang.text.source import Source

CASES = sorted((Path(__file__).parent / "cases").glob("*.txt"))
MARK = "---- "


def parts_of(text: str) -> dict[str, str]:
    """The parts of a case by their names; what is in front of the first, under ""."""
    found, name = {"": ""}, ""
    for line in text.splitlines(keepends=True):
        if line.startswith(MARK):
            name = line.removeprefix(MARK).strip()
            found[name] = ""
        else:
            found[name] += line
    return found


def functions(unit: Unit, names: list[str]) -> str:
    """The functions of these names, but for those that a pass left out."""
    found: list[Function] = [f for f in unit.functions if f.name in names]
    return "".join(f"{line}\n" for f in found for line in print_function(f))


@pytest.mark.parametrize("path", CASES, ids=lambda p: p.stem)
def test_a_construct(path: Path, request: pytest.FixtureRequest) -> None:
    text = path.read_text()
    parts = parts_of(text)
    head = dict(line.split(": ", 1) for line in parts[""].splitlines())
    pipeline = check(parse(Source("case.hp", parts["source"])))
    join: Join = "fused" if head.get("join") == "fused" else "staged"
    unit = lowered(pipeline, join, traced=head.get("traced") == "yes")
    names, steps = head["functions"].split(), ["lower", *STEPS]
    behind = steps[steps.index(head["pass"]) - 1]
    spilled = head["pass"] == "spill" or head.get("spilled") == "yes"

    def after(step: str) -> str:
        made = unit if step == "lower" else run(pipeline, unit, spilled=spilled, stop_after=step)
        return functions(made, names)

    made = parts[""] + f"{MARK}source\n{parts['source']}"
    made += f"{MARK}before\n{after(behind)}{MARK}after\n{after(head['pass'])}"
    if request.config.getoption("--update-golden"):
        path.write_text(made)
        return
    assert made == text, "if this is meant: --update-golden"


def test_every_pass_has_a_case() -> None:
    tried = {path.read_text().split("pass: ")[1].split("\n")[0] for path in CASES}
    assert tried == set(STEPS) - {"lay_out_state"}


def test_the_command_knows_the_passes() -> None:
    assert tuple(each.name for each in PASSES) == STEPS
    assert [each.name for each in PASSES if each.optional] == list(OPTIONAL)
