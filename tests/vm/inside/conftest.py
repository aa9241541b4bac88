"""What runs inside the virtual machine: see ../test_kernels.py."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

if "HELIO_VM" not in os.environ:
    collect_ignore_glob = ["test_*.py"]


@pytest.fixture(autouse=True)
def quick_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    from forked import control

    monkeypatch.setattr("edges.Edge.control", control)


@pytest.fixture
def bundles() -> Path:
    """Compiled outside, a folder a pipeline: emulation is slow."""
    return Path(os.environ["HELIO_BUNDLES"])
