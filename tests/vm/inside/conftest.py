"""What runs inside the virtual machine: see ../test_kernels.py."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

if "HELIO_VM" not in os.environ:
    collect_ignore_glob = ["test_*.py"]


@pytest.fixture(autouse=True, scope="session")
def quick_commands() -> Iterator[None]:
    from forked import control

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("edges.Edge.control", control)
        yield


@pytest.fixture(scope="session")
def bundles() -> Path:
    """Compiled outside, a folder a pipeline: emulation is slow."""
    return Path(os.environ["HELIO_BUNDLES"])
