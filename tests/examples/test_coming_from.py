"""The programs of docs/coming-from.md are checked, written as `fmt` writes them, and loaded."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from helioc.compiler.bundle import compile_pipeline
from helioc.runtime.kernel.program_stats import measure_object
from page_programs import heading, only, sections, without_a_warning

SECTIONS = sections("coming-from.md")


def test_each_function_is_written_three_times() -> None:
    assert len(SECTIONS) == 10
    for section in SECTIONS:
        assert re.findall(r"^```(\w+)", section, re.MULTILINE) == ["p4", "c", "helio"]


@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize("section", SECTIONS, ids=heading)
def test_programs_load_without_a_warning(section: str, tmp_path: Path) -> None:
    pipeline = without_a_warning(only(section, "helio"), tmp_path / "program.hp")
    assert not measure_object(compile_pipeline(pipeline).object).refused
