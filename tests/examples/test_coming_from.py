"""The programs of docs/coming-from.md are checked, written as `fmt` writes them, and loaded."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from helioc.compiler.bundle import compile_pipeline
from helioc.compiler.driver import check_file
from helioc.lang.syntax.parser import parse
from helioc.lang.syntax.printer import format_program
from helioc.lang.text.diagnostics import Diagnostics
from helioc.lang.text.source import Source
from helioc.runtime.kernel.program_stats import measure_object

PAGE = Path(__file__).parents[2] / "docs" / "coming-from.md"
SECTIONS = re.split(r"^## ", PAGE.read_text(), flags=re.MULTILINE)[1:]


def test_each_function_is_written_three_times() -> None:
    assert len(SECTIONS) == 10
    for section in SECTIONS:
        assert re.findall(r"^```(\w+)", section, re.MULTILINE) == ["p4", "c", "helio"]


@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize("section", SECTIONS, ids=lambda s: s.split("\n")[0])
def test_programs_load_without_a_warning(section: str, tmp_path: Path) -> None:
    (text,) = re.findall(r"^```helio\n(.*?)^```", section, re.MULTILINE | re.DOTALL)
    assert format_program(parse(Source("program.hp", text))) == text
    file = tmp_path / "program.hp"
    file.write_text(text)
    found = Diagnostics()
    pipeline = check_file(file, found)
    assert found.found == []
    assert not measure_object(compile_pipeline(pipeline).object).refused
