"""Builds of pipelines by several compilers, and what several kernels make of them.

What a compiler builds wrongly is wrong under every kernel: so under other kernels the packet tests
are run of what is shipped, and of all other builds under this machine's own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path

from helioc.compiler.bundle import Bundle, compile_for_tc, compile_for_test_runs, write_bundle
from helioc.compiler.driver import check_file
from helioc.compiler.model import Pipeline
from helioc.lang.text.diagnostics import Refused
from packed_cases import pack
from virtual import ROOT, lines_of

PIPELINES = ROOT / "pipelines"
CASES = ROOT / "tests" / "compiler" / "lower" / "cases"
JUDGE = ROOT / "tests" / "vm" / "inside" / "judge.py"


@dataclass(frozen=True)
class Build:
    """Who built a pipeline: the number in clang's name, and -mcpu."""

    clang: str
    cpu: str

    def __str__(self) -> str:
        return f"clang {self.clang} {self.cpu}"


#: What `helioc compile` makes where nobody says otherwise.
SHIPPED = Build("16", "v3")


@dataclass(frozen=True)
class Verdict:
    """What a kernel made of a build. `instructions` and `verified` are sums over its programs,
    `largest` is the most that the verifier walked for one of them; `refused`: why it did not load,
    or how its packet tests failed. Of `short` tests the frames are none that kernels test-run.
    `object`: what was loaded and how it was tested, see `digest_of`."""

    pipeline: str
    build: Build
    instructions: int = 0
    verified: int = 0
    largest: int = 0
    tests: int = 0
    short: int = 0
    refused: str = ""
    object: str = ""

    @property
    def name(self) -> str:
        return name_of(self.pipeline, self.build)

    @classmethod
    def of_line(cls, line: str) -> Verdict:
        found = json.loads(line)
        return cls(**found | {"build": Build(**found["build"])})

    def to_line(self) -> str:
        return json.dumps(asdict(self))


def name_of(pipeline: str, build: Build) -> str:
    """That of a bundle's directory."""
    return f"{pipeline}-{build.clang}-{build.cpu}"


#: Pipelines that ship and are built for tc as well, under other names: those without `queue`.
AT_TC = tuple(
    f"{name}@tc" for name in ("linx", "srv6_edge", "stamp", "upf", "vxlan_bridge", "vxlan_gateway")
)
#: Of these, what is no file of `pipelines`.
_EXAMPLES = {"vxlan_bridge": PIPELINES.parent / "examples" / "vxlan_bridge" / "vxlan_bridge.hp"}


def source_of(name: str) -> Path:
    """The file of what ships (`linx`; `linx@tc`: built for tc), or of a construct of the language
    (`states.in_place`)."""
    name = name.removesuffix("@tc")
    if name in _EXAMPLES:
        return _EXAMPLES[name]
    return (
        CASES.joinpath(*name.split(".")).with_suffix(".hp")
        if "." in name
        else PIPELINES / f"{name}.hp"
    )


def constructs() -> list[str]:
    """Small pipelines that between them have what the language has, with packet tests."""
    tests = (path.relative_to(CASES) for path in CASES.rglob("*.test.yaml"))
    return sorted(".".join(path.parts).removesuffix(".test.yaml") for path in tests)


def digest_of(bundle: Path, tests: bool) -> str:
    """The same where a kernel has nothing new to say."""
    source = source_of(bundle.name.rsplit("-", 2)[0])
    files = [*sorted(bundle.glob("*.bpf.o")), *[source.with_suffix(".test.yaml")] * tests]
    return sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:16]


def build_all(builds: Iterable[Build], pipelines: Iterable[str], out: Path) -> Iterator[Verdict]:
    """Compile into `out`, a bundle each; what a compiler did not do."""
    checked = {name: check_file(source_of(name)) for name in pipelines}
    for build in builds:
        os.environ.update(HELIOC_CLANG=f"clang-{build.clang}", HELIOC_CPU=build.cpu)
        try:
            for name, pipeline in checked.items():
                write_bundle(_compiled(name, pipeline), out / name_of(name, build))
        except Refused as refused:
            found = refused.diagnostics[0]
            yield Verdict(name, build, refused=f"{found.code}: {found.title}")
        finally:
            del os.environ["HELIOC_CLANG"], os.environ["HELIOC_CPU"]


def _compiled(name: str, pipeline: Pipeline) -> Bundle:
    if name.endswith("@tc"):
        return compile_for_tc(pipeline, tags_in_frame=True)  # so that its packet tests can be run
    return compile_for_test_runs(pipeline)


def missing_clangs(builds: Iterable[Build]) -> list[str]:
    """Those that are not on this machine."""
    needed = dict.fromkeys(f"clang-{build.clang}" for build in builds)
    return [name for name in needed if not shutil.which(name)]


def judged(
    series: str, bundles: Path, names: Sequence[str], tested: Sequence[str], seconds: int = 300
) -> Iterator[Verdict]:
    """Have a kernel load bundles of a directory, those that are `tested` with their packet tests: a
    verdict each as soon as it is there. None of those that the time, or the machine's life, was too
    short for. `series`: empty for this machine's own kernel."""
    for name in {*names} & {*tested}:
        pack(source_of(name.rsplit("-", 2)[0]), bundles / name)
    command = [sys.executable, str(JUDGE), str(bundles), ",".join(tested), *names]
    for line in lines_of(series, *command, seconds=seconds) if series else _here(command):
        if line.startswith("{"):
            yield Verdict.of_line(line)


def _here(command: Sequence[str]) -> Iterator[str]:
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as judge:
        assert judge.stdout is not None
        yield from judge.stdout


def together(verdicts: Iterable[Verdict], expected: int) -> list[Verdict]:
    """Those of constructs as one: of all that a kernel was to be asked, or it has said nothing."""
    every = list(verdicts)
    small = [v for v in every if "." in v.pipeline]
    others = [v for v in every if "." not in v.pipeline]
    if not small or len(small) < expected:
        return others
    refused = "; ".join(f"{v.refused} ({v.pipeline})" for v in small if v.refused)
    total = Verdict(
        "constructs",
        small[0].build,
        instructions=sum(v.instructions for v in small),
        verified=sum(v.verified for v in small),
        largest=max(v.largest for v in small),
        tests=sum(v.tests for v in small),
        short=sum(v.short for v in small),
        refused=refused,
    )
    return [*others, total]
