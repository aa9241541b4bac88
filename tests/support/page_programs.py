"""Programs that pages of the documentation hold."""

from __future__ import annotations

import re
from pathlib import Path

from helioc.compiler.driver import check_file
from helioc.compiler.model import Pipeline
from helioc.lang.syntax.parser import parse
from helioc.lang.syntax.printer import format_program
from helioc.lang.text.diagnostics import Diagnostics
from helioc.lang.text.source import Source

DOCS = Path(__file__).parents[2] / "docs"


def sections(page: str) -> list[str]:
    return re.split(r"^## ", (DOCS / page).read_text(), flags=re.MULTILINE)[1:]


def heading(section: str) -> str:
    return section.split("\n")[0]


def only(section: str, language: str) -> str:
    """The one block of that language."""
    (text,) = re.findall(rf"^```{language}\n(.*?)^```", section, re.MULTILINE | re.DOTALL)
    return str(text)


def without_a_warning(text: str, file: Path) -> Pipeline:
    """The program, as `fmt` writes it, in that file."""
    assert format_program(parse(Source("program.hp", text))) == text
    file.write_text(text)
    found = Diagnostics()
    pipeline = check_file(file, found)
    assert found.found == []
    return pipeline
