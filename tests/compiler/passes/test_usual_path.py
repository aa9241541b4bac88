"""The packets that most are have a row of tests in the pipelines that ship: a pass that leaves the
row out says nothing, and packets take a quarter more instructions."""

from __future__ import annotations

from pathlib import Path

import pytest
from helioc.compiler.driver import check_file, lowered, placed
from helioc.compiler.ir.nodes import Label
from helioc.compiler.ir.unit import Unit

PIPELINES = Path(__file__).parents[3] / "pipelines"


def with_row(unit: Unit) -> set[str]:
    """Roles whose parser begins with a row: what fails a test goes on at `other`."""
    labels = ((f.role, s) for f in unit.every_function if f.stage == "parser" for s in f.body)
    return {role for role, s in labels if isinstance(s, Label) and s.name == "other"}


@pytest.mark.parametrize(
    ("name", "roles"),
    [
        ("linx", {"lan", "wan"}),
        ("upf", {"n3", "n6", "n9"}),
        ("vxlan_gateway", {"underlay"}),
        ("srv6_edge", {"access"}),
    ],
)
def test_pipelines_that_ship_have_rows(name: str, roles: set[str]) -> None:
    pipeline = check_file(PIPELINES / f"{name}.hp")
    without_joining = frozenset({"join_parsers", "merge_functions", "share_blocks"})
    assert with_row(placed(pipeline, lowered(pipeline, "fused"), without_joining)) == roles
