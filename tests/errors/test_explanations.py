"""Every code that any room can say has a file in errors/, and every file is of such a code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from explained import explained
from helioc.lang.text.diagnostics import Refused
from helioc.lang.text.errors import explanation, statuses
from helioc.runtime.http2.codes import Code

ROOT = Path(__file__).parents[2]


def said() -> set[str]:
    texts = (
        path.read_text()
        for room in ("lang", "compiler", "runtime", "commands")
        for path in (ROOT / room).rglob("*.py")
    )
    return {code for text in texts for code in re.findall(r'"(H[09]\d{3})"', text)}


#: Codes that earlier releases said, and that stay explained.
GONE = {"H0303"}


def test_every_code_is_explained() -> None:
    assert not said() & GONE
    assert said() | GONE == explained().keys()


#: Codes that no test names yet: what happens to kernels, cards, agents and files of others.
UNSEEN = set(
    """
    H0307 H0361 H0704 H0708 H0753 H0768 H0786 H0796 H0830
    H0831 H0836
""".split()
)


def test_a_test_names_every_code() -> None:
    """One, a case or what is kept of how it looks; of a new code there has to be one."""
    named: set[str] = set()
    for path in (ROOT / "tests").rglob("*"):
        if path.suffix in (".py", ".hp", ".txt", ".yaml") and path != Path(__file__):
            named |= set(re.findall(r"H\d{4}", path.name + path.read_text(errors="replace")))
    assert explained().keys() - named == UNSEEN | GONE


def test_an_internal_error_is_explained() -> None:
    assert "an error in Helio" in explanation("H9999").text


def test_an_explanation_has_its_parts() -> None:
    for code, found in explained().items():
        assert found.title and not found.title.endswith("."), code
        assert len(found.text) > 30, code
        assert found.render(code).startswith(f"{code}: ")


def test_what_the_agent_answers_with_has_a_status() -> None:
    met = "request carrier edge load tables agent intent journal kernel upgrade anywhere"
    assert explained(*met.split()).keys() <= statuses().keys()
    assert set(statuses().values()) <= {code.name for code in Code} - {"OK"}


@pytest.mark.parametrize("code", ["H0212x", "../errors/H0212", "H9998", ""])
def test_an_unknown_code_is_answered(code: str) -> None:
    with pytest.raises(Refused, match=f"there is no code {code}"):
        explanation(code)


def test_every_example_is_tried() -> None:
    """By a test of what reads such a text; but for those that need a kernel or much memory."""
    tried = "syntax check request card trace edge agent intent upgrade wanted".split()
    shown = {code: found.met for code, found in explained().items() if found.wrong or found.right}
    assert {code for code, met in shown.items() if met not in (*tried, "packet test")} == {
        "H0330", "H0730",
    }  # fmt: skip
