"""Small pipelines that read (`parses`) and push (`pushes`) headers of all shapes: interpreter and
kernel write the same octets."""

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

HERE = Path(__file__).parent
PIPELINES = sorted([*HERE.glob("parses/*.hp"), *HERE.glob("pushes/*.hp")])


@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize("join", ["staged", "fused"])
@pytest.mark.parametrize("path", PIPELINES, ids=lambda p: p.stem)
def test_pushes_agree(path: Path, join: Join) -> None:
    pipeline = check_file(path)
    bundle = compile_pipeline(pipeline, join)
    cases = read_tests(pipeline, bundle.manifest, read(path.with_suffix(".test.yaml")))
    with KernelBackend(Bundle(bundle.manifest, bundle.object)) as kernel:
        for result in run_tests(pipeline, cases, (Interpreted(pipeline), kernel)):
            assert result.ok, "\n".join(result.problems)
