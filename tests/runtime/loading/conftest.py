"""A relay between two hosts, loaded."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import numbered
import pytest
import relay
from helioc.runtime.base import paths
from helioc.runtime.loading.releases import ROOT, remove_pinned
from lab import Lab

_numbers = count(1)


@pytest.fixture
def world(lab: Lab) -> relay.World:
    return relay.build(lab)


@pytest.fixture
def name(kernel: None) -> Iterator[str]:
    """A pipeline's name of this test's own; what is left of it at the end is removed."""
    chosen = f"ht{os.getpid()}-u{next(_numbers)}"
    yield chosen
    if (ROOT / chosen).exists():
        remove_pinned(chosen)
    for posted in paths.RUN.glob(f"{chosen}.*"):
        posted.unlink()


@pytest.fixture(scope="session")
def sender(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return numbered.sender(tmp_path_factory.mktemp("sender"))
