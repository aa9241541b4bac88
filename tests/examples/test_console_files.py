"""The page's files: nothing from outside, no HTML from text, the library as it was fetched."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

CONSOLE = Path(__file__).parents[2] / "examples" / "controller" / "console"
PAGE, VENDOR = CONSOLE / "page", CONSOLE / "page" / "vendor"
SORTS = (".js", ".css", ".html", ".svg")
OURS = [p for p in PAGE.rglob("*") if p.suffix in SORTS and VENDOR not in p.parents]


def test_the_library_is_as_it_was_fetched() -> None:
    lines = (VENDOR / "CHECKSUMS").read_text().splitlines()
    listed = {name: checksum for checksum, name in (line.split() for line in lines)}
    there = {str(path.relative_to(VENDOR)) for path in (VENDOR / "uplot").iterdir()}
    assert listed.keys() == there
    for name, checksum in listed.items():
        assert hashlib.sha256((VENDOR / name).read_bytes()).hexdigest() == checksum, name
    version = json.loads((VENDOR / "uplot" / "package.json").read_text())["version"]
    assert f"version={version}\n" in (VENDOR / "fetch.sh").read_text()
    assert "MIT" in (VENDOR / "uplot" / "LICENSE").read_text()


def test_nothing_comes_from_outside() -> None:
    assert len(OURS) > 10
    for path in OURS:
        text = path.read_text().replace("http://www.w3.org/2000/svg", "")
        assert not re.search(r"https?://|(?<!:)//[a-z]+\.[a-z]", text), path
        for name in re.findall(r"""from ["']([^"']+)""", text):
            assert (path.parent / name).exists(), f"{path}: {name}"


def test_text_is_never_html() -> None:
    forbidden = (
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|srcdoc"
    )
    for path in [*OURS, VENDOR / "uplot" / "uPlot.esm.js"]:
        assert not re.search(forbidden, path.read_text()), path
    page = (PAGE / "index.html").read_text()
    assert not re.search(r"\son\w+=|style=|<style|javascript:", page)


def test_lines_of_the_page_can_be_read() -> None:
    for path in [each for each in OURS if each.suffix == ".js"]:
        assert len(path.read_text().splitlines()) <= 320, path
