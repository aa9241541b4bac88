"""Stores, logs and disks for the journal's tests."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from helioc.runtime.journal.log import Log
from helioc.runtime.journal.store import Store
from journal_world import new_log


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    made = Store(tmp_path / "state")
    yield made
    made.close()


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Log]:
    made = new_log(tmp_path)
    yield made
    made.close()


@pytest.fixture
def small_disk(kernel: None, tmp_path: Path) -> Iterator[Path]:
    """A file system of 2 MiB."""
    at = tmp_path / "disk"
    at.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "none", at], check=True)
    yield at
    subprocess.run(["umount", "--lazy", at], check=True)
