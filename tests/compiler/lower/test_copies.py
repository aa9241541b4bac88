"""Copies of packets: on the interpreter, the intermediate representation and the kernel, at tc."""

from __future__ import annotations

from pathlib import Path

import pytest
from checked import checked
from helioc.compiler.bundle import compile_for_tc, compile_pipeline
from helioc.compiler.driver import lower_pipeline
from helioc.compiler.lower.unit import Join
from helioc.compiler.packettests.cases import read_tests
from helioc.compiler.packettests.runs import Interpreted, run_tests
from helioc.lang.syntax.parser import read
from helioc.lang.text.diagnostics import Refused
from lowered_runs import Lowered
from tc_runs import TcBackend

CASES = Path(__file__).parent / "cases" / "copies"
BRIDGE = Path(__file__).parents[3] / "examples" / "vxlan_bridge" / "vxlan_bridge.hp"
FILES = [*sorted(CASES.glob("*.hp")), BRIDGE]


@pytest.mark.parametrize("join", ["staged", "fused"])
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_packet_cases_hold(kernel: None, file: Path, join: Join) -> None:
    pipeline = checked(file)
    compiled = compile_for_tc(pipeline, join, tags_in_frame=True)
    others = Interpreted(pipeline), Lowered(pipeline, lower_pipeline(pipeline, join, target="tc"))
    cases = read_tests(pipeline, compiled.manifest, read(file.with_suffix(".test.yaml")))
    with TcBackend(compiled) as tc:
        for result in run_tests(pipeline, cases, (*others, tc)):
            assert result.ok, "\n".join((result.case.name, *result.problems))


def test_there_are_none_at_xdp() -> None:
    with pytest.raises(Refused) as refused:
        compile_pipeline(checked(CASES / "taps.hp"))
    (found,) = refused.value.diagnostics
    assert found.code == "H0530"
    first = found.labels[0].span.text
    assert len(found.labels) == 10 and first == "mirror TAP.tap"
