"""A pipeline with state tables, in a test's own maps or loaded at an edge."""

from __future__ import annotations

from collections.abc import Iterator

import kept
import pytest
from agent_world import wires

__all__ = ["tables", "wires"]


@pytest.fixture
def tables(kernel: None) -> Iterator[kept.Kept]:
    with kept.running() as made:
        yield made
