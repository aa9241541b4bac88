"""Stages that are divided do what they did whole, wherever the cuts are."""

from __future__ import annotations

from pathlib import Path

import packet_cases
import pytest
from checked import checked
from helioc.compiler.lower.divide import divided
from packet_cases import packet_cases_hold

HERE = Path(__file__).parent / "cases"
CASES = ("expressions/many", "expressions/chain", "expressions/names", "lookups/depending")


@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize("times", [2, 8])
@pytest.mark.parametrize("name", CASES)
def test_parts_of_stages_agree(name: str, times: int, monkeypatch: pytest.MonkeyPatch) -> None:
    path = HERE / f"{name}.hp"
    whole = checked(path)
    parts = divided(whole, {stage.name: times for stage in whole.stages})
    assert parts is not None and len(parts.stages) > len(whole.stages)
    monkeypatch.setattr(packet_cases, "checked", lambda _: parts)
    assert packet_cases_hold(path, "staged")
