"""Texts that are compared byte for byte, and written anew by `pytest --update-golden`.

A case and what it comes to stand in one file, `cases/NAME.txt`. It has one case, or several, each
under a line `==== NAME`. A case begins with what the test is given; what that comes to follows,
each part under a line `---- NAME`. tests/golden has what is made of files that ship."""

from __future__ import annotations

import difflib
import fcntl
from dataclasses import dataclass
from pathlib import Path

import pytest

GOLDEN = Path(__file__).parents[1] / "golden"
_CASE, _PART = "==== ", "---- "


@dataclass(frozen=True)
class Case:
    """`parts` by their names; what is in front of the first, under ""."""

    path: Path
    name: str
    parts: dict[str, str]

    @property
    def text(self) -> str:
        return self.parts[""]


def cases(path: Path) -> list[Case]:
    """Of a file, or of all files of a folder."""
    if path.is_dir():
        files = sorted(file for file in path.iterdir() if file.is_file())
        assert all(file.suffix == ".txt" for file in files), f"{path} has a file of another kind"
        return [case for file in files for case in cases(file)]
    found = _split(path.read_text(), _CASE)
    if len(found) == 1:
        return [Case(path, path.stem, _split(found[""], _PART))]
    return [Case(path, name, _split(text, _PART)) for name, text in found.items() if name]


def _split(text: str, mark: str) -> dict[str, str]:
    found, name = {"": ""}, ""
    for line in text.splitlines(keepends=True):
        if line.startswith(mark):
            name = line.removeprefix(mark).rstrip()
            assert name not in found, f"{mark}{name} twice"
            found[name] = ""
        else:
            found[name] += line
    return found


def _joined(parts: dict[str, str], mark: str) -> str:
    return "".join(f"{mark}{name}\n{text}" if name else text for name, text in parts.items())


class Golden:
    """`update` writes what is there now in place of comparing it."""

    def __init__(self, update: bool) -> None:
        self._update = update

    def __call__(self, case: Case, **made: str) -> None:
        """Fail with a difference where a part is not what its file has."""
        text = _joined(case.parts, _PART)
        now = _joined(case.parts | made, _PART)
        if not self._update:
            self._same(f"{case.path.name}, {case.name}", text, now)
            return
        with case.path.open("r+") as file:
            fcntl.flock(file, fcntl.LOCK_EX)  # of other workers
            found = _split(file.read(), _CASE)
            found[case.name if len(found) > 1 else ""] = now
            file.seek(0)
            file.write(_joined(found, _CASE))
            file.truncate()

    def file(self, path: Path, text: str) -> None:
        """The same for a whole file."""
        if self._update:
            path.write_text(text)
        else:
            self._same(path.name, path.read_text() if path.exists() else "", text)

    def _same(self, name: str, kept: str, now: str) -> None:
        if kept != now:
            lines = difflib.unified_diff(
                kept.splitlines(), now.splitlines(), name, "now", lineterm=""
            )
            reason = "\n".join(lines) or "they differ in the newline at the end only"
            pytest.fail(f"{reason}\n(if this is meant: --update-golden)", pytrace=False)
