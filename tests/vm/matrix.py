"""`make matrix`: kernel x compiler x pipeline. Each pipeline that ships is compiled by each clang
of Debian 12 and for each instruction set, and loaded under each kernel. Its packet tests are run
there of what is shipped, and of every build on this machine. Prints tables; with --write,
docs/kernels.md is made of them.

What a kernel said of an object is kept (HELIO_MATRIX, ~/.cache/helio/matrix) as soon as it says it:
whoever is interrupted begins where it was, and what is compiled to the same octets is not asked of
that kernel again.

matrix.py [--kernels 5.10,6.1] [--clangs 13,16] [--pipelines linx,upf] [--write] [--keep DIRECTORY]
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path

from acceptance import (
    PIPELINES,
    SHIPPED,
    Build,
    Verdict,
    build_all,
    digest_of,
    judged,
    missing_clangs,
    name_of,
)
from helioc.compiler.clang import CPUS
from virtual import ROOT, release_of, why_not

KERNELS = ("5.10", "6.1", "6.12", "6.18", "7.2", "7.3")
CLANGS = ("13", "14", "15", "16", "19")
V4_FROM = 18  # clang that knows -mcpu=v4
SECONDS = 5000  # that a machine has; another takes its place where that is too short
KEPT = Path(os.environ.get("HELIO_MATRIX", Path.home() / ".cache/helio/matrix"))
HERE = ""  # this machine's kernel
PAGE = ROOT / "docs" / "kernels.md"
Results = dict[str, list[Verdict]]


def builds(clangs: Sequence[str]) -> list[Build]:
    every = [Build(clang, cpu) for clang in clangs for cpu in CPUS]
    return [b for b in every if b.cpu != "v4" or int(b.clang) >= V4_FROM]


# ---- what is printed ------------------------------------------------------------------------


def called(series: str) -> str:
    return "here" if series == HERE else series


def release(series: str) -> str:
    return os.uname().release if series == HERE else release_of(series)


def cell(found: Verdict | None) -> str:
    if found is None:
        return "not tried"
    if found.refused:
        return found.refused.partition(":")[0]
    return f"{found.instructions:,} / {found.verified:,}"


def tables(results: Results) -> Iterator[str]:
    """A table a pipeline, in Markdown: a line a build, a column a kernel."""
    every = [verdict for verdicts in results.values() for verdict in verdicts]
    order = dict.fromkeys(verdict.build for verdict in every)
    for name in sorted({verdict.pipeline for verdict in every}):
        tests = max(v.tests for v in every if v.pipeline == name)
        yield f"\n**{name}**, {tests} packet tests\n"
        yield f"| built by | {' | '.join(map(called, results))} |\n|---|{'---:|' * len(results)}"
        for build in sorted(order, key=lambda b: (int(b.clang), b.cpu)):
            row = [
                next((v for v in found if (v.pipeline, v.build) == (name, build)), None)
                for found in results.values()
            ]
            yield f"| {build} | {' | '.join(map(cell, row))} |"


def reasons(results: Results) -> list[str]:
    """Why something was refused, once each."""
    return sorted({v.refused for verdicts in results.values() for v in verdicts if v.refused})


def page(results: Results, before: str) -> str:
    """docs/kernels.md, with its own words kept and its tables made anew."""
    words, _, _ = before.partition(MARK)
    releases = ", ".join(f"{called(series)} is `{release(series)}`" for series in results)
    return "\n".join([words + MARK, "", f"Kernels: {releases}.", *tables(results), ""])


MARK = "<!-- what follows is written by `make matrix` -->"


# ---- what is done ---------------------------------------------------------------------------


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def run(
    kernels: Sequence[str], wanted: Sequence[Build], out: Path, names: Sequence[str]
) -> Results:
    """Compile what is not in `out` yet, and ask each kernel. What one cannot be asked is said."""
    there = {path.name for path in out.iterdir()}
    todo = [b for b in wanted if not {name_of(n, b) for n in names} <= there]
    unbuilt = list(build_all(todo, names, out))
    failed = {verdict.name for verdict in unbuilt}
    bundles = [name for n in names for b in wanted if (name := name_of(n, b)) not in failed]
    results: Results = {}
    for series in (HERE, *kernels):
        if series and (why := why_not(series)):
            say(f"kernel {series}: not tried: {why}")
            continue
        shipped = {name_of(n, SHIPPED) for n in names}
        tested = [name for name in bundles if series == HERE or name in shipped]
        results[series] = asked(series, out, bundles, tested) + unbuilt
        say("\n".join(tables({series: results[series]})))
    return results


def asked(series: str, out: Path, bundles: Sequence[str], tested: Sequence[str]) -> list[Verdict]:
    """What a kernel makes of bundles: what it said before of those that are the same, and what it
    says now. None of those that no machine lives long enough for."""
    KEPT.mkdir(parents=True, exist_ok=True)
    kept = KEPT / f"{release(series)}.jsonl"
    lines = kept.read_text().splitlines() if kept.exists() else []
    known = {(v.name, v.object): v for v in map(Verdict.of_line, lines)}
    wanted = {(name, digest_of(out / name, name in tested)): name for name in bundles}
    todo = [name for key, name in wanted.items() if key not in known]
    while todo:
        before = len(todo)
        for verdict in judged(series, out, todo, tested, SECONDS):
            known[verdict.name, verdict.object] = verdict
            with kept.open("a") as file:
                file.write(f"{verdict.to_line()}\n")
        todo = [name for key, name in wanted.items() if key not in known]
        if len(todo) == before:
            say(f"kernel {called(series)}: it dies before it says anything of {todo[0]}")
            break
    return [known[key] for key in wanted if key in known]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    everything = [path.stem for path in sorted(PIPELINES.glob("*.hp"))]
    for name, default in ("kernels", KERNELS), ("clangs", CLANGS), ("pipelines", everything):
        parser.add_argument(f"--{name}", default=",".join(default))
    parser.add_argument("--write", action="store_true")
    parser.add_argument(
        "--keep", type=Path, help="bundles are kept here, and used if they are there"
    )
    asked = parser.parse_args()
    kernels, clangs, names = (
        getattr(asked, n).split(",") for n in ("kernels", "clangs", "pipelines")
    )
    absent = missing_clangs(builds(clangs))
    if absent:
        say(f"not tried: {', '.join(absent)}: not installed")
    wanted = [b for b in builds(clangs) if f"clang-{b.clang}" not in absent]
    place = nullcontext(str(asked.keep)) if asked.keep else tempfile.TemporaryDirectory()
    with place as folder:
        Path(folder).mkdir(parents=True, exist_ok=True)
        results = run(kernels, wanted, Path(folder), names)
    found = reasons(results)
    say("\n".join(["", *tables(results), "", *found]))
    if asked.write:
        PAGE.write_text(page(results, PAGE.read_text()))
    most = max(map(len, results.values()))
    left_out = (
        bool(absent)
        or len(results) <= len(kernels)
        or any(len(verdicts) < most for verdicts in results.values())
    )
    return left_out or any(not refused.startswith("H0728") for refused in found)


if __name__ == "__main__":
    sys.exit(main())
