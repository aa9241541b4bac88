"""Tracked files fit any machine: no build machine's paths, no registry hosts, nothing built."""

from __future__ import annotations

import re
import subprocess
from fnmatch import fnmatch
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
# Spelt in pieces, so that this file passes its own test.
FOREIGN = re.compile(
    r"(?<![\w.])/(?:ho" + r"me|Us" + r"ers)/\w|(?<![\w.])/ro" + r"ot/[\w.]|(?<![\w.])/wo" + r"rk/"
    r"|pyp" + r"i\.org|pythonho" + r"sted\.org|registry\.np" + r"mjs|repo1?\.mav" + r"en"
    r"|deb\.deb" + r"ian\.org|proxy\.gol" + r"ang|crat" + r"es\.io"
)  # fmt: skip
BUILT = ("*.o", "*.so", "*.pyc", "*.log", "*.whl", "*.egg-info/*", "build/*", "dist/*", ".venv/*")


def tracked() -> list[str]:
    listed = subprocess.run(
        ["git", "-c", f"safe.directory={ROOT}", "ls-files", "-z"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return [name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]


def test_no_path_or_host_of_one_machine() -> None:
    found = []
    for name in tracked():
        text = (ROOT / name).read_bytes().decode(errors="replace")
        for number, line in enumerate(text.splitlines(), 1):
            if match := FOREIGN.search(line):
                found.append(f"{name}:{number}: {match[0]}")
    assert not found, "\n".join(found)


def test_nothing_built_is_tracked() -> None:
    assert not [name for name in tracked() if any(fnmatch(name, kind) for kind in BUILT)]


@pytest.mark.parametrize("text", ["see /wo" + "rk/x", '"/ho' + 'me/me/a"', "pyp" + "i.org"])
def test_a_foreign_name_is_seen(text: str) -> None:
    assert FOREIGN.search(text)


@pytest.mark.parametrize("text", ["network/work/", "$HOME/.m2", "/sys/fs/bpf", "/usr/bin/python3"])
def test_an_ordinary_name_is_not(text: str) -> None:
    assert not FOREIGN.search(text)
