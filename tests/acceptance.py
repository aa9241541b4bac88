"""Builds of pipelines by several compilers, and what several kernels make of them."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from helioc.compiler.phases import check_file, compile_pipeline, write_bundle
from helioc.lang.diagnostics import Refused
from virtual import ROOT, booted

PIPELINES = ROOT / "pipelines"
JUDGE = ROOT / "tests" / "vm" / "inside" / "judge.py"


@dataclass(frozen=True)
class Build:
    """Who built a pipeline: the number in clang's name, and -mcpu."""

    clang: str
    cpu: str

    def __str__(self) -> str:
        return f"clang {self.clang} {self.cpu}"


@dataclass(frozen=True)
class Verdict:
    """What a kernel made of a build. `instructions` and `verified` are sums over its programs,
    `largest` is the most that the verifier walked for one of them; `refused`: why it did not load,
    or how its packet tests failed. Of `short` tests the frames are none that kernels test-run."""

    pipeline: str
    build: Build
    instructions: int = 0
    verified: int = 0
    largest: int = 0
    tests: int = 0
    short: int = 0
    refused: str = ""

    @classmethod
    def of_line(cls, line: str) -> Verdict:
        found = json.loads(line)
        return cls(**found | {"build": Build(**found["build"])})

    def to_line(self) -> str:
        return json.dumps(asdict(self))


def build_all(builds: Iterable[Build], pipelines: Iterable[str], out: Path) -> Iterator[Verdict]:
    """Compile into `out`, a bundle each; what a compiler did not do."""
    checked = [check_file(PIPELINES / f"{name}.hp") for name in pipelines]
    for build in builds:
        os.environ.update(HELIOC_CLANG=f"clang-{build.clang}", HELIOC_CPU=build.cpu)
        try:
            for pipeline in checked:
                to = out / f"{pipeline.name}-{build.clang}-{build.cpu}"
                write_bundle(compile_pipeline(pipeline), to)
        except Refused as refused:
            yield Verdict(pipeline.name, build, refused=refused.diagnostics[0].title)
        finally:
            del os.environ["HELIOC_CLANG"], os.environ["HELIOC_CPU"]


def missing_clangs(builds: Iterable[Build]) -> list[str]:
    """Those that are not on this machine."""
    wanted = dict.fromkeys(f"clang-{build.clang}" for build in builds)
    return [name for name in wanted if not shutil.which(name)]


def judged(series: str, bundles: Path, seconds: int = 300) -> list[Verdict]:
    """Load each bundle of a directory under a kernel and run its packet tests there."""
    done = booted(series, sys.executable, str(JUDGE), str(bundles), seconds=seconds)
    assert done.returncode == 0, f"{series}: {done.stdout[-3000:]}\n{done.stderr[-2000:]}"
    return [Verdict.of_line(line) for line in done.stdout.splitlines() if line.startswith("{")]
