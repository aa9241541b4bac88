"""A pipeline's packet tests on the interpreter and on the kernel."""

from __future__ import annotations

from pathlib import Path

from helioc.compiler.lower import Join
from helioc.compiler.packettests.cases import read_tests
from helioc.compiler.packettests.runs import Interpreted, run_tests
from helioc.compiler.phases import check_file, compile_pipeline
from helioc.lang.parser import read
from helioc.runtime.loading.bundle import Bundle
from helioc.runtime.testrun import KernelBackend


def packet_cases_hold(path: Path, join: Join) -> int:
    """The tests of the .test.yaml beside a pipeline; how many there are. AssertionError says what
    does not hold."""
    pipeline = check_file(path)
    bundle = compile_pipeline(pipeline, join)
    cases = read_tests(pipeline, bundle.manifest, read(path.with_suffix(".test.yaml")))
    with KernelBackend(Bundle(bundle.manifest, bundle.object)) as kernel:
        for result in run_tests(pipeline, cases, (Interpreted(pipeline), kernel)):
            assert result.ok, "\n".join((result.case.name, *result.problems))
    return len(cases)
