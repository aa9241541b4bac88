"""Small pipelines that read (`parses`) and push (`pushes`) headers of all shapes: interpreter and
kernel write the same bytes."""

from __future__ import annotations

from pathlib import Path

import pytest
from helioc.compiler.lower.unit import Join
from packet_cases import packet_cases_hold

HERE = Path(__file__).parent / "cases"
PIPELINES = sorted(
    [
        *HERE.glob("parses/*.hp"),
        *HERE.glob("pushes/*.hp"),
        HERE / "assigns/elements.hp",
        HERE / "assigns/groups.hp",
    ]
)


@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize("join", ["staged", "fused"])
@pytest.mark.parametrize("path", PIPELINES, ids=lambda p: p.stem)
def test_pushes_agree(path: Path, join: Join) -> None:
    packet_cases_hold(path, join)
