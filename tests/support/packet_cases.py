"""A pipeline's packet tests on the interpreter, on the intermediate representation and on the
kernel."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import pytest
from checked import checked
from helioc.compiler.bundle import compile_for_tc, compile_pipeline
from helioc.compiler.driver import lower_pipeline
from helioc.compiler.lower.unit import Join
from helioc.compiler.packettests.cases import read_tests
from helioc.compiler.packettests.runs import Interpreted, run_tests
from helioc.lang.syntax.parser import read
from helioc.runtime.kernel.handles import Map
from helioc.runtime.kernel.libbpf import possible_cpus
from helioc.runtime.kernel.map_memory import map_memory
from helioc.runtime.loading.bundle import Bundle
from helioc.runtime.testrun.kernel_backend import KernelBackend
from lowered_runs import Lowered


def packet_cases_hold(path: Path, join: Join, tests: Path | None = None) -> int:
    """The tests of a file, or of the .test.yaml beside a pipeline; how many there are.
    AssertionError says what does not hold."""
    pipeline = checked(path)
    bundle = compile_pipeline(pipeline, join)
    others = Interpreted(pipeline), Lowered(pipeline, lower_pipeline(pipeline, join))
    cases = read_tests(pipeline, bundle.manifest, read(tests or path.with_suffix(".test.yaml")))
    with KernelBackend(Bundle(bundle.manifest, bundle.object)) as kernel:
        memory_is_as_computed(kernel.maps)
        for result in run_tests(pipeline, cases, (*others, kernel)):
            assert result.ok, "\n".join((result.case.name, *result.problems))
    return len(cases)


def packet_cases_hold_at_tc(path: Path, join: Join = "staged", lowered: bool = False) -> int:
    """The same of programs at tc; on the intermediate representation only if `lowered`."""
    pipeline = checked(path)
    bundle = compile_for_tc(pipeline, join, tags_in_frame=True)
    others: list[Interpreted | Lowered] = [Interpreted(pipeline)]
    if lowered:
        others.append(Lowered(pipeline, lower_pipeline(pipeline, join, target="tc")))
    cases = read_tests(pipeline, bundle.manifest, read(path.with_suffix(".test.yaml")))
    with KernelBackend(Bundle(bundle.manifest, bundle.object)) as tc:
        for result in run_tests(pipeline, cases, (*others, tc)):
            assert result.ok, "\n".join((result.case.name, *result.problems))
    return len(cases)


def memory_is_as_computed(maps: Mapping[str, Map]) -> None:
    """What the kernel accounts to maps that are nearly empty, within 0.1 % of all and 512 bytes of
    each."""
    taken = {name: memlock(table) for name, table in maps.items()}
    expected = {n: map_memory(t.spec, possible_cpus()).accounted for n, t in maps.items()}
    assert {n: (taken[n], e) for n, e in expected.items() if abs(taken[n] - e) > 512} == {}
    assert sum(expected.values()) == pytest.approx(sum(taken.values()), rel=0.001)


def memlock(table: Map) -> int:
    """Bytes that the kernel accounts to a map."""
    said = Path(f"/proc/self/fdinfo/{table.fileno()}").read_text()
    found = re.search(r"^memlock:\s+(\d+)$", said, re.MULTILINE)
    assert found
    return int(found[1])
