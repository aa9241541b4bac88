"""What this kernel makes of bundles: run in a virtual machine.

judge.py DIRECTORY: each PIPELINE-CLANG-CPU in it is loaded and runs the pipeline's packet tests; a
line of JSON each, an acceptance.Verdict."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from acceptance import PIPELINES, Build, Verdict
from helioc.compiler.model import Pipeline
from helioc.compiler.packettests.cases import Case, read_tests
from helioc.compiler.packettests.runs import run_case
from helioc.compiler.phases import check_file
from helioc.lang.diagnostics import Refused
from helioc.lang.parser import read
from helioc.runtime import faults
from helioc.runtime.kernel.handles import BpfError, Object
from helioc.runtime.kernel.libbpf import LOG_STATS
from helioc.runtime.kernel.programs import Program
from helioc.runtime.loading.bundle import Bundle, read_bundle
from helioc.runtime.loading.releases import prepare_object
from helioc.runtime.testrun import KernelBackend


@cache
def pipeline_of(name: str) -> Pipeline:
    return check_file(PIPELINES / f"{name}.hp")


@cache
def cases_of(name: str, manifest: str) -> tuple[Case, ...]:
    from helioc.compiler.manifest import from_json

    source = read(PIPELINES / f"{name}.test.yaml")
    return read_tests(pipeline_of(name), from_json(manifest), source)


def measured(verdict: Verdict, programs: Sequence[Program]) -> Verdict:
    """With the programs' figures, as far as the kernel tells them."""
    walked = [each.info.verified_insns for each in programs]
    instructions = sum(each.info.insns for each in programs)
    return replace(
        verdict, instructions=instructions, verified=sum(walked), largest=max(walked, default=0)
    )


def told_by_log(verdict: Verdict, bundle: Bundle) -> Verdict:
    """With what kernels before 5.16 tell in the verifier's log alone."""
    with Object.open(bundle.object, name=verdict.pipeline, log_level=LOG_STATS) as loaded:
        prepare_object(bundle.manifest, loaded)
        loaded.load()
        walked = [each.stats.processed for each in loaded.programs().values() if each.stats]
    return replace(verdict, verified=sum(walked), largest=max(walked, default=0))


def tested(verdict: Verdict, bundle: Bundle) -> Verdict:
    """Load it, once, and say how its packet tests went."""
    name = verdict.pipeline
    cases = cases_of(name, replace(bundle.manifest, digest="").to_json())
    problems, short = [], 0
    with KernelBackend(bundle) as kernel:
        verdict = measured(verdict, kernel.programs)
        for case in cases:
            result = run_case(pipeline_of(name), case, [kernel])
            short += not result.backends
            problems += [f"{case.name}: {problem}" for problem in result.problems]
    refused = "; ".join(problems[:3])
    return replace(verdict, tests=len(cases) - short, short=short, refused=refused)


def judge(directory: Path) -> Verdict:
    name, clang, cpu = directory.name.rsplit("-", 2)
    verdict = Verdict(name, Build(clang, cpu))
    try:
        bundle = read_bundle(directory)
        verdict = tested(verdict, bundle)
        return verdict if verdict.verified else told_by_log(verdict, bundle)
    except BpfError as error:
        found = faults.of_kernel(error, "load it")
    except Refused as refused:
        found = refused.diagnostics[0]
    return replace(verdict, refused=f"{found.code}: {found.title}")


if __name__ == "__main__":
    for each in sorted(Path(sys.argv[1]).iterdir()):
        sys.stdout.write(f"{judge(each).to_line()}\n")
        sys.stdout.flush()
