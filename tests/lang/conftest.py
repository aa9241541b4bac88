from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import helioc
import pytest

PIPELINES = Path(helioc.__file__).parent / "pipelines"


def strip(node: Any) -> Any:
    """A tree as nested tuples without places, so that two spellings of one tree are equal."""
    if isinstance(node, tuple):
        return tuple(map(strip, node))
    if is_dataclass(node):
        kept = [f.name for f in fields(node) if f.name not in ("span", "source", "comments")]
        if type(node).__name__ == "Edge":
            kept.append("source")
        return (type(node).__name__, *((name, strip(getattr(node, name))) for name in kept))
    return node


@pytest.fixture
def bare() -> Callable[[Any], Any]:
    return strip


@pytest.fixture(params=sorted(PIPELINES.rglob("*.hp")), ids=lambda p: p.stem)
def sample(request: pytest.FixtureRequest) -> Path:
    """Each pipeline file that ships."""
    path: Path = request.param
    return path
