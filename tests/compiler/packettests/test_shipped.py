"""The packet tests that ship hold on the interpreter, the intermediate representation and the
kernel."""

from __future__ import annotations

from pathlib import Path

import pytest
from helioc.compiler.lower.unit import Join
from linx_world import PIPELINES
from packet_cases import packet_cases_hold

SHIPPED = sorted(PIPELINES.glob("*.hp"))


@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize("join", ["staged", "fused"])
@pytest.mark.parametrize("path", SHIPPED, ids=lambda p: p.stem)
def test_packet_tests_hold(path: Path, join: Join) -> None:
    assert packet_cases_hold(path, join) >= 15
