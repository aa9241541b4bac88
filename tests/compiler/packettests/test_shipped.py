"""The packet tests that ship hold on the interpreter, the intermediate representation and the
kernel."""

from __future__ import annotations

from pathlib import Path

import pytest
from checked import ONLY_STAGED, checked, each_join
from helioc.compiler.driver import lowered, placed
from helioc.compiler.lower.unit import Join
from helioc.lang.text.diagnostics import Refused
from linx_world import PIPELINES
from packet_cases import packet_cases_hold

SHIPPED = sorted(PIPELINES.glob("*.hp"))


@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize(("path", "join"), each_join(SHIPPED), ids=lambda p: getattr(p, "stem", p))
def test_packet_tests_hold(path: Path, join: Join) -> None:
    assert packet_cases_hold(path, join) >= 15


@pytest.mark.parametrize("name", sorted(ONLY_STAGED))
def test_what_is_too_long_for_one_program_is_refused(name: str) -> None:
    pipeline = checked(PIPELINES / f"{name}.hp")
    with pytest.raises(Refused, match="H0335"):
        placed(pipeline, lowered(pipeline, "fused"))
