"""The programs of docs/cookbook.md are checked, written as `fmt` writes them, and do what their
packet tests say."""

from __future__ import annotations

from pathlib import Path

import pytest
from helioc.compiler.lower.unit import Join
from packet_cases import packet_cases_hold
from page_programs import heading, only, sections, without_a_warning

pytestmark = pytest.mark.usefixtures("kernel")


@pytest.mark.parametrize("join", ["staged", "fused"])
@pytest.mark.parametrize("section", sections("cookbook.md"), ids=heading)
def test_recipes_do_what_they_say(section: str, join: Join, tmp_path: Path) -> None:
    file = tmp_path / "recipe.hp"
    without_a_warning(only(section, "helio"), file)
    file.with_suffix(".test.yaml").write_text(only(section, "yaml"))
    assert packet_cases_hold(file, join) > 0
