"""An edge for an agent, and kernel objects, that many tests of the runtime begin with."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from agent_world import here
from helioc.runtime.kernel.handles import Map, MapSpec, MapType, Object
from tinybpf import SMALL, build

__all__ = ["here", "small", "table"]


@pytest.fixture
def small(kernel: None) -> Iterator[Object]:
    with Object.open(build(SMALL), name="small") as loaded:
        loaded.load()
        yield loaded


@pytest.fixture
def table(kernel: None) -> Iterator[Map]:
    with Map.create(MapSpec(MapType.HASH, 4, 4, 8, name="table")) as made:
        yield made
