"""The packet tests that ship with the other pipelines hold on the interpreter and on the kernel."""

from __future__ import annotations

from pathlib import Path

import pytest
from helioc.compiler.lower import Join
from helioc.compiler.packettests.cases import read_tests
from helioc.compiler.packettests.runs import Interpreted, run_tests
from helioc.compiler.phases import check_file, compile_pipeline
from helioc.lang.parser import read
from helioc.runtime.bundle import Bundle
from helioc.runtime.testrun import KernelBackend
from linx_world import PIPELINES

SHIPPED = sorted(p for p in PIPELINES.glob("*.hp") if p.stem != "linx")


@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize("join", ["staged", "fused"])
@pytest.mark.parametrize("path", SHIPPED, ids=lambda p: p.stem)
def test_packet_tests_hold(path: Path, join: Join) -> None:
    pipeline = check_file(path)
    bundle = compile_pipeline(pipeline, join)
    cases = read_tests(pipeline, bundle.manifest, read(path.with_suffix(".test.yaml")))
    assert len(cases) >= 15
    with KernelBackend(Bundle(bundle.manifest, bundle.object)) as kernel:
        for result in run_tests(pipeline, cases, (Interpreted(pipeline), kernel)):
            assert result.ok, "\n".join((result.case.name, *result.problems))
