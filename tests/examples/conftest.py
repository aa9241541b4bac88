"""Two edges that a controller keeps."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from fleet_world import Edges, edges, put_away


@pytest.fixture
def tidy() -> Iterator[None]:
    with put_away():
        yield


@pytest.fixture(scope="module")
def running(kernel: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Edges]:
    with edges(tmp_path_factory.mktemp("fleet"), "one", "two") as made:
        yield made


@pytest.fixture
def two(running: Edges) -> Iterator[Edges]:
    """Two edges without rules."""
    running.clear()
    yield running
