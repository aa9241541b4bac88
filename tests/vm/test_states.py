"""Entries of states are deleted under the oldest kernel, too, in a virtual machine: it verifies the
program, and runs it for who may not load it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import kept
import pytest
from helioc.compiler.bundle import write_bundle
from virtual import ROOT, booted, release_of, why_not

SERIES = "5.10"


def test_entries_are_deleted(tmp_path: Path) -> None:
    if why := why_not(SERIES):
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(why)
    write_bundle(kept.compiled(), tmp_path / "kept")
    path = os.pathsep.join([str(ROOT / "tests" / "support"), os.environ.get("PYTHONPATH", "")])
    words = [sys.executable, "tests/vm/inside/states.py", str(tmp_path / "kept")]
    done = booted(SERIES, "env", f"PYTHONPATH={path}", *words)
    assert f"deleted under {release_of(SERIES)}" in done.stdout, f"{done.stdout}\n{done.stderr}"
