"""Every code that any room can say has an explanation."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from helioc.compiler.explanations import all_explanations, explanation
from helioc.lang.diagnostics import Refused

ROOT = Path(__file__).parents[2]


def said() -> set[str]:
    texts = (
        path.read_text()
        for room in ("lang", "compiler", "runtime")
        for path in (ROOT / room).rglob("*.py")
    )
    return {code for text in texts for code in re.findall(r'"(H0\d{3})"', text)}


def test_every_code_is_explained() -> None:
    assert not said() - all_explanations().keys()


def test_an_internal_error_is_explained() -> None:
    assert "fault is Helio's" in explanation("H9999")


def test_there_are_many() -> None:
    assert len(all_explanations()) >= 150


def test_an_explanation_has_its_parts() -> None:
    for code, found in all_explanations().items():
        assert found.title and not found.title.endswith("."), code
        assert len(found.text) > 30, code
        assert found.render(code).startswith(f"{code}: ")


def test_an_unknown_code_is_answered() -> None:
    with pytest.raises(Refused, match="there is no code H0212x"):
        explanation("H0212x")
