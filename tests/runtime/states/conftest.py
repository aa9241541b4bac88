"""A pipeline with state tables."""

from __future__ import annotations

from collections.abc import Iterator

import kept
import pytest


@pytest.fixture
def tables(kernel: None) -> Iterator[kept.Kept]:
    with kept.running() as made:
        yield made
