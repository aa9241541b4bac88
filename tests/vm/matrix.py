"""`make matrix`: kernel x compiler x pipeline. Each pipeline that ships is compiled by each clang
of Debian 12 and for each instruction set, also for tc (`linx@tc`), and loaded under each kernel.
Its packet tests are run there of what is shipped, and of every build on this machine; also of the
small pipelines that show each construct of the language, as one row. Prints tables; with --write,
docs/kernels.md is made of them.

What a kernel said of an object is kept (HELIO_MATRIX, ~/.cache/helio/matrix) as soon as it says it:
whoever is interrupted begins where it was, and what is compiled to the same bytes is not asked of
that kernel again.

matrix.py [--kernels 5.10,6.1] [--clangs 13,16] [--pipelines linx,upf]
  [--constructs states.in_place] [--write] [--keep DIRECTORY]
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import nullcontext
from functools import partial
from pathlib import Path

from acceptance import (
    AT_TC,
    PIPELINES,
    SHIPPED,
    Build,
    Verdict,
    build_all,
    constructs,
    digest_of,
    judged,
    missing_clangs,
    name_of,
    together,
)
from helioc.compiler.backend.clang import CPUS
from matrix_page import HERE, PAGE, Results, called, page, reasons, release, revision, tables
from virtual import why_not

KERNELS = ("5.10", "6.1", "6.12", "6.18", "7.2", "7.3")
CLANGS = ("13", "14", "15", "16", "19")
V4_FROM = 18  # clang that knows -mcpu=v4
SECONDS = 5000  # that a machine has; another takes its place where that is too short
KEPT = Path(os.environ.get("HELIO_MATRIX", Path.home() / ".cache/helio/matrix"))
CPUS_HERE = os.cpu_count() or 1  # so many kernels at a time: each machine has one CPU


def builds(clangs: Sequence[str]) -> list[Build]:
    every = [Build(clang, cpu) for clang in clangs for cpu in CPUS]
    return [b for b in every if b.cpu != "v4" or int(b.clang) >= V4_FROM]


# ---- what is done ---------------------------------------------------------------------------


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def run(
    kernels: Sequence[str],
    chosen: Sequence[Build],
    out: Path,
    names: Sequence[str],
    small: Sequence[str],
) -> Results:
    """Compile what is not in `out` yet, and ask each kernel. What one cannot be asked is said.
    `small`: what is compiled as it ships only."""
    there = {path.name for path in out.iterdir()}
    wanted = [(b, names) for b in chosen] + [(SHIPPED, small)]
    todo = [(b, of) for b, of in wanted if not {name_of(n, b) for n in of} <= there]
    with ProcessPoolExecutor(CPUS_HERE) as pool:
        each = list(pool.map(partial(_built, out=out), *zip(*todo, strict=True))) if todo else []
    unbuilt = [verdict for verdicts in each for verdict in verdicts]
    failed = {verdict.name for verdict in unbuilt}
    every = [name_of(n, b) for b, of in wanted for n in of]
    bundles = [name for name in every if name not in failed]
    shipped = {name_of(n, SHIPPED) for n in (*names, *small)}
    tested = {s: [n for n in bundles if s == HERE or n in shipped] for s in (HERE, *kernels)}
    for series in kernels:
        if why := why_not(series):
            say(f"kernel {series}: not tried: {why}")
            del tested[series]
    results: Results = {}
    with ThreadPoolExecutor(CPUS_HERE) as machines:
        answers = machines.map(lambda s: asked(s, out, bundles, tested[s]), tested)
        for series, found in zip(tested, answers, strict=True):
            results[series] = together(found + unbuilt, len(small))
            say("\n".join(tables({series: results[series]})))
    return results


def _built(build: Build, names: Sequence[str], *, out: Path) -> list[Verdict]:
    return list(build_all([build], names, out))


def asked(series: str, out: Path, bundles: Sequence[str], tested: Sequence[str]) -> list[Verdict]:
    """What a kernel makes of bundles: what it said before of those that are the same, and what it
    says now. None of those that no machine lives long enough for."""
    KEPT.mkdir(parents=True, exist_ok=True)
    kept = KEPT / f"{release(series)}.jsonl"
    lines = kept.read_text().splitlines() if kept.exists() else []
    known = {(v.name, v.object): v for v in map(Verdict.of_line, lines)}
    chosen = {(name, digest_of(out / name, name in tested)): name for name in bundles}
    todo = [name for key, name in chosen.items() if key not in known]
    while todo:
        before = len(todo)
        for verdict in judged(series, out, todo, tested, SECONDS):
            known[verdict.name, verdict.object] = verdict
            with kept.open("a") as file:
                file.write(f"{verdict.to_line()}\n")
        todo = [name for key, name in chosen.items() if key not in known]
        if len(todo) == before:
            say(f"kernel {called(series)}: it dies before it says anything of {todo[0]}")
            break
    return [known[key] for key in chosen if key in known]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    everything = [*(path.stem for path in sorted(PIPELINES.glob("*.hp"))), *AT_TC]
    for name, default in ("kernels", KERNELS), ("clangs", CLANGS), ("pipelines", everything):
        parser.add_argument(f"--{name}", default=",".join(default))
    parser.add_argument("--constructs", default=",".join(constructs()))
    parser.add_argument("--write", action="store_true")
    parser.add_argument(
        "--keep", type=Path, help="bundles are kept here, and used if they are there"
    )
    asked = parser.parse_args()
    kernels, clangs, names, small = (
        [word for word in getattr(asked, n).split(",") if word]
        for n in ("kernels", "clangs", "pipelines", "constructs")
    )
    absent = missing_clangs(builds(clangs))
    if absent:
        say(f"not tried: {', '.join(absent)}: not installed")
    of = revision()  # before anything is compiled
    chosen = [b for b in builds(clangs) if f"clang-{b.clang}" not in absent]
    place = nullcontext(str(asked.keep)) if asked.keep else tempfile.TemporaryDirectory()
    with place as folder:
        Path(folder).mkdir(parents=True, exist_ok=True)
        results = run(kernels, chosen, Path(folder), names, small)
    found = reasons(results.values())
    say("\n".join(["", *tables(results), "", *found]))
    if asked.write:
        releases = {series: release(series) for series in results}
        PAGE.write_text(page(PAGE.read_text(), of, releases, results))
    most = max(map(len, results.values()))
    left_out = (
        bool(absent)
        or len(results) <= len(kernels)
        or any(len(verdicts) < most for verdicts in results.values())
    )
    return left_out or any(not refused.startswith("H0728") for refused in found)


if __name__ == "__main__":
    sys.exit(main())
