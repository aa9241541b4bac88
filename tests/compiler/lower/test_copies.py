"""Copies of packets: on the interpreter, the intermediate representation and the kernel, at tc."""

from __future__ import annotations

from pathlib import Path

import pytest
from checked import checked
from helioc.compiler.bundle import compile_pipeline
from helioc.compiler.lower.unit import Join
from helioc.lang.text.diagnostics import Refused
from packet_cases import packet_cases_hold_at_tc

CASES = Path(__file__).parent / "cases" / "copies"
BRIDGE = Path(__file__).parents[3] / "examples" / "vxlan_bridge" / "vxlan_bridge.hp"


@pytest.mark.parametrize("join", ["staged", "fused"])
@pytest.mark.parametrize(
    "file", [CASES / "taps.hp", CASES / "lists.hp", BRIDGE], ids=lambda file: file.stem
)
def test_packet_cases_hold(kernel: None, file: Path, join: Join) -> None:
    assert packet_cases_hold_at_tc(file, join, lowered=True) > 5


def test_there_are_none_at_xdp() -> None:
    with pytest.raises(Refused) as refused:
        compile_pipeline(checked(CASES / "taps.hp"))
    (found,) = refused.value.diagnostics
    assert found.code == "H0530"
    assert len(found.labels) == 12 and found.labels[0].span.text == "mirror TAP.tap max HEAD"
