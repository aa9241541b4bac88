"""What this kernel makes of bundles: mostly run in a virtual machine.

judge.py DIRECTORY TESTED NAME…: each bundle (PIPELINE-CLANG-CPU) of the directory is loaded; those
of TESTED, a list with commas, run their pipeline's packet tests, too, which `packed_cases` put into
them. A line of JSON each, an acceptance.Verdict."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "support"))

from acceptance import Build, Verdict, digest_of
from helioc.compiler.packettests.runs import run_case
from helioc.lang.text.diagnostics import Refused
from helioc.runtime.base import errors as faults
from helioc.runtime.kernel.handles import BpfError, Object
from helioc.runtime.kernel.libbpf import LOG_STATS
from helioc.runtime.kernel.program_stats import shrink
from helioc.runtime.kernel.programs import Program
from helioc.runtime.loading.bundle import Bundle, read_bundle
from helioc.runtime.loading.install import prepare_object
from helioc.runtime.testrun.kernel_backend import KernelBackend
from packed_cases import unpack


def measured(verdict: Verdict, programs: Sequence[Program]) -> Verdict:
    """What the kernel says of programs that it took."""
    walked = [each.info.verified_insns or _told(each) for each in programs]
    instructions = sum(each.info.insns for each in programs)
    return replace(
        verdict, instructions=instructions, verified=sum(walked), largest=max(walked, default=0)
    )


def _told(program: Program) -> int:
    return program.stats.processed if program.stats else 0


def loaded(verdict: Verdict, bundle: Bundle) -> Verdict:
    with Object.open(bundle.object, name=verdict.pipeline) as found:
        prepare_object(bundle.manifest, found)
        shrink(found)
        found.load()
        return measured(verdict, [*found.programs().values()])


def tested(verdict: Verdict, directory: Path, bundle: Bundle) -> Verdict:
    """The same, and how its packet tests went: loaded once, since a kernel that is emulated takes
    most of its time to verify."""
    pipeline, cases = unpack(directory)
    problems, short = [], 0
    with KernelBackend(bundle) as kernel:
        verdict = measured(verdict, kernel.programs)
        for case in cases:
            result = run_case(pipeline, case, [kernel])
            short += not result.backends
            problems += [f"{case.name}: {problem}" for problem in result.problems]
    refused = "; ".join(problems[:3])
    return replace(verdict, tests=len(cases) - short, short=short, refused=refused)


def judge(directory: Path, test: bool) -> Verdict:
    pipeline, clang, cpu = directory.name.rsplit("-", 2)
    verdict = Verdict(pipeline, Build(clang, cpu), object=digest_of(directory, test))
    try:
        bundle = read_bundle(directory)
        return tested(verdict, directory, bundle) if test else loaded(verdict, bundle)
    except BpfError as error:
        found = faults.of_kernel(error, "load it")
    except Refused as refused:
        found = refused.diagnostics[0]
    return replace(verdict, refused=f"{found.code}: {found.title}")


if __name__ == "__main__":
    # What was verified, kernels before 5.16 say in the verifier's log alone.
    setattr(Object, "open", partial(Object.open, log_level=LOG_STATS))  # noqa: B010
    to_test = sys.argv[2].split(",")
    for name in sys.argv[3:]:
        sys.stdout.write(f"{judge(Path(sys.argv[1]) / name, name in to_test).to_line()}\n")
        sys.stdout.flush()
