"""Every code that any room can say has an explanation."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from helioc.commands.explanations import all_explanations, explanation
from helioc.lang.text.diagnostics import Refused

ROOT = Path(__file__).parents[2]


def said() -> set[str]:
    texts = (
        path.read_text()
        for room in ("lang", "compiler", "runtime", "commands")
        for path in (ROOT / room).rglob("*.py")
    )
    return {code for text in texts for code in re.findall(r'"(H0\d{3})"', text)}


def test_every_code_is_explained() -> None:
    assert not said() - all_explanations().keys()


#: Codes that no test names yet: what happens to kernels, cards, agents and files of others.
UNSEEN = set(
    """
    H0307 H0361 H0704 H0708 H0744 H0753 H0768 H0786 H0796 H0830
    H0831 H0836 H0853
""".split()
)


def test_a_test_names_every_code() -> None:
    """One, a case or what is kept of how it looks; of a new code there has to be one."""
    named: set[str] = set()
    for path in (ROOT / "tests").rglob("*"):
        if path.suffix in (".py", ".hp", ".txt", ".yaml") and path != Path(__file__):
            named |= set(re.findall(r"H\d{4}", path.name + path.read_text(errors="replace")))
    assert all_explanations().keys() - named == UNSEEN


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
