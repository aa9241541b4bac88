"""docs/kernels.md is what `make matrix` writes, and holds nothing of a run beside that."""

from __future__ import annotations

import re
from dataclasses import replace

from acceptance import Build, Verdict
from matrix_page import FAILED, HERE, MARK, PAGE, Results, findings, page

ROW = re.compile(r"\| clang (\d+) (v\d) \| (.*) \|")


def read(text: str) -> tuple[str, dict[str, str], Results]:
    """The revision, releases and results that a page was made of."""
    written = text.partition(MARK)[2]
    head = re.search(r"^Revision (.*)\. Kernels: (.*)\.$", written, re.MULTILINE)
    assert head
    kernels = re.findall(r"(\S+) is `(\S+)`", head[2])
    releases = {HERE if name == "here" else name: release for name, release in kernels}
    results: Results = {series: [] for series in releases}
    for table in written.split("\n**")[1:]:
        name, tests = re.match(r"(\w+)\*\*, (\d+) packet tests", table).groups()  # type: ignore[union-attr]
        for clang, cpu, cells in ROW.findall(table):
            for series, cell in zip(releases, cells.split(" | "), strict=True):
                verdict = Verdict(name, Build(clang, cpu), tests=int(tests))
                results[series] += [_filled(verdict, cell)] if cell != "not tried" else []
    return head[1], releases, results


def _filled(verdict: Verdict, cell: str) -> Verdict:
    if not cell[0].isdigit():
        return replace(verdict, refused="a case: it dropped" if cell == FAILED else f"{cell}: why")
    instructions, verified = (int(number.replace(",", "")) for number in cell.split(" / "))
    return replace(verdict, instructions=instructions, verified=verified)


def test_the_page_is_as_the_matrix_writes_it() -> None:
    text = PAGE.read_text()
    of, releases, results = read(text)
    assert page(text, of, releases, results) == text, "write it with: make matrix"


def test_the_words_above_hold_for_every_run() -> None:
    """No counts of instructions, no revision: these are below."""
    words = PAGE.read_text().partition(MARK)[0]
    assert not re.search(r"\d,\d{3}|\b[0-9a-f]{7}\b|\btoday", words, re.IGNORECASE)


V3, V4 = Build("16", "v3"), Build("19", "v4")


def test_what_was_not_well_is_listed() -> None:
    well = [Verdict(name, build, 10, 20, tests=3) for name in ("a", "b") for build in (V3, V4)]
    old = [replace(v, refused="H0728: no") if v.build == V4 else v for v in well]
    odd = [replace(v, refused="H0723: no") if v.name == "a-16-v3" else v for v in old[:3]]
    failing = [replace(v, refused="case: it") if v.pipeline == "b" else v for v in well]
    results = {HERE: well, "5.10": old, "6.1": odd, "6.12": failing}
    assert list(findings(results)) == [
        "- H0723: clang 16 v3 of a under 6.1",
        "- H0728: clang 19 v4 of a under 5.10, 6.1",
        "- H0728: clang 19 v4 of b under 5.10",
        "- failed: clang 16 v3 of b under 6.12",
        "- failed: clang 19 v4 of b under 6.12",
        "- not tried: clang 19 v4 of b under 6.1",
        "- nothing else: every other build loaded, and passed the packet tests that it ran",
    ]
    releases = dict.fromkeys(results, "1.2.3")
    text = page(f"words\n{MARK}\nof before", "`1234567`", releases, results)
    assert text.startswith(f"words\n{MARK}\n\nRevision `1234567`. ") and "of before" not in text
    assert "| clang 19 v4 | 10 / 20 | H0728 | not tried | failed |" in text
    assert page(text, *read(text)) == text
