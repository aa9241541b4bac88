"""The tests lie as the product does: a folder of theirs for a folder of it, and what they share in
tests/support, whose README has a line for each file."""

from __future__ import annotations

import re
from pathlib import Path

TESTS = Path(__file__).parent
ROOT = TESTS.parent
#: What of tests/ has the product's folders.
MIRRORED = ("lang", "compiler", "runtime", "commands", "errors")
#: Inputs of the tests beside them.
INPUTS = "cases"
#: Programs of their own: random pipelines, the hunt for seeded faults, virtual machines.
PROGRAMS = ("generated", "seeded", "vm")


def test_folders_are_those_of_the_product() -> None:
    for top in MIRRORED:
        for path in (TESTS / top).rglob("test_*.py"):
            folder = path.parent.relative_to(TESTS)
            assert (ROOT / folder).is_dir(), f"{folder} is no folder of the product"
        for path in (TESTS / top).rglob("*"):
            below = path.relative_to(TESTS).parent
            if path.is_file() and not {INPUTS, "__pycache__"}.intersection(below.parts):
                assert (ROOT / below).is_dir(), f"{below} is no folder of the product"


def test_helpers_lie_in_support() -> None:
    for path in TESTS.rglob("*.py"):
        top = path.relative_to(TESTS).parts[0]
        if top not in ("support", *PROGRAMS):
            assert path.name == "conftest.py" or path.name.startswith("test_"), path


def test_the_index_has_every_helper() -> None:
    page = (TESTS / "support" / "README.md").read_text()
    listed = re.findall(r"^\| \[`(\S+)`\]\((\S+)\) \| .+ \| .+ \|$", page, re.MULTILINE)
    assert all(name == link for name, link in listed)
    there = [path.name for path in (TESTS / "support").iterdir() if path.suffix == ".py"]
    expected = sorted(name for name in there if not name.startswith("test_"))
    assert sorted(name for name, _ in listed) == expected
