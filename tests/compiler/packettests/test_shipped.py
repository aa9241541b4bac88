"""The packet tests that ship with the other pipelines hold on the interpreter and on the kernel."""

from __future__ import annotations

from pathlib import Path

import pytest
from helioc.compiler.lower.unit import Join
from linx_world import PIPELINES
from packet_cases import packet_cases_hold

SHIPPED = sorted(p for p in PIPELINES.glob("*.hp") if p.stem != "linx")


@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize("join", ["staged", "fused"])
@pytest.mark.parametrize("path", SHIPPED, ids=lambda p: p.stem)
def test_packet_tests_hold(path: Path, join: Join) -> None:
    assert packet_cases_hold(path, join) >= 15
