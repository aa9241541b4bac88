"""docs/kernels.md: words that hold for every run of the matrix, and below them what a run found."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterable, Iterator

from acceptance import Build, Verdict
from virtual import ROOT, release_of

PAGE = ROOT / "docs" / "kernels.md"
MARK = "<!-- what follows is written by `make matrix` -->"
HERE = ""  # this machine's kernel
FAILED = "failed"  # in place of numbers: it loaded, and its packet tests failed
#: By kernel, `HERE` first.
Results = dict[str, list[Verdict]]


def page(before: str, revision: str, releases: dict[str, str], results: Results) -> str:
    """The page, with its words as they were. `releases`: of each kernel."""
    words, _, _ = before.partition(MARK)
    kernels = ", ".join(f"{called(series)} is `{releases[series]}`" for series in results)
    head = [f"Revision {revision}. Kernels: {kernels}.", ""]
    return "\n".join([words + MARK, "", *head, *findings(results), *tables(results), ""])


def revision() -> str:
    """What was compiled."""

    def git(*words: str) -> str:
        done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    changed = git("status", "--porcelain", "--untracked-files=no", "--", ":!docs")
    return f"`{git('rev-parse', '--short', 'HEAD')}`" + (" with local changes" if changed else "")


def called(series: str) -> str:
    return "here" if series == HERE else series


def release(series: str) -> str:
    return os.uname().release if series == HERE else release_of(series)


# ---- what was found -------------------------------------------------------------------------


def code_of(verdict: Verdict | None) -> str:
    """`H0728` where it did not load; empty where it did, and passed its packet tests."""
    if verdict is None:
        return "not tried"
    if not verdict.refused:
        return ""
    code = re.match(r"H\d{4}", verdict.refused)
    return code[0] if code else FAILED


def findings(results: Results) -> Iterator[str]:
    """Which builds did not load, or failed a packet test, and under which kernels."""
    pipelines, builds = _order(results)
    for code in sorted({code_of(v) for v in _cells(results)} - {""}):
        for build in builds:
            rows = {name: _kernels(results, name, build, code) for name in pipelines}
            for kernels in dict.fromkeys(k for k in rows.values() if k):
                names = [name for name in pipelines if rows[name] == kernels]
                of = "every pipeline" if names == pipelines else ", ".join(names)
                yield f"- {code}: {build} of {of} under {kernels}"
    yield "- nothing else: every other build loaded, and passed the packet tests that it ran"


def _kernels(results: Results, name: str, build: Build, code: str) -> str:
    found = (s for s in results if code_of(_of(results, s, name, build)) == code)
    return ", ".join(map(called, found))


def _cells(results: Results) -> Iterator[Verdict | None]:
    pipelines, builds = _order(results)
    return (_of(results, s, name, b) for s in results for name in pipelines for b in builds)


def _of(results: Results, series: str, name: str, build: Build) -> Verdict | None:
    return next((v for v in results[series] if (v.pipeline, v.build) == (name, build)), None)


def _order(results: Results) -> tuple[list[str], list[Build]]:
    every = [verdict for verdicts in results.values() for verdict in verdicts]
    builds = sorted({v.build for v in every}, key=lambda b: (int(b.clang), b.cpu))
    return sorted({v.pipeline for v in every}), builds


# ---- tables ---------------------------------------------------------------------------------


def tables(results: Results) -> Iterator[str]:
    """A table a pipeline, in Markdown: a line a build, a column a kernel."""
    pipelines, builds = _order(results)
    for name in pipelines:
        tests = max(v.tests for found in results.values() for v in found if v.pipeline == name)
        yield f"\n**{name}**, {tests} packet tests\n"
        yield f"| built by | {' | '.join(map(called, results))} |\n|---|{'---:|' * len(results)}"
        for build in builds:
            row = (cell(_of(results, series, name, build)) for series in results)
            yield f"| {build} | {' | '.join(row)} |"


def cell(found: Verdict | None) -> str:
    code = code_of(found)
    return code if code or found is None else f"{found.instructions:,} / {found.verified:,}"


def reasons(results: Iterable[Iterable[Verdict]]) -> list[str]:
    """Why something was refused, once each."""
    return sorted({v.refused for verdicts in results for v in verdicts if v.refused})
