"""Every syntax error: its source and what is shown of it (cases/errors.txt, habits.txt)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from explained import explained
from golden import Case, Golden, cases
from helioc.lang.syntax import foreign_lines, foreign_words
from helioc.lang.syntax.parser import LARGEST_FILE, MOST_TOKENS, parse, read
from helioc.lang.syntax.planned import PLANNED
from helioc.lang.syntax.syntax_hints import HARD
from helioc.lang.text.diagnostics import Diagnostic, Refused
from helioc.lang.text.render import render_all
from helioc.lang.text.source import Source

EXPLANATIONS = explained("syntax")
HERE = Path(__file__).parent
CASES = [
    c for name in ("errors", "habits", "newcomers") for c in cases(HERE / "cases" / f"{name}.txt")
]


def found_in(text: str) -> list[Diagnostic]:
    try:
        parse(Source("p.hp", text))
    except Refused as refused:
        return refused.diagnostics
    return []


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_what_is_shown(case: Case, golden: Golden) -> None:
    found = found_in(case.text)
    assert {d.code for d in found} == {case.name[:5]}
    golden(case, shown=render_all(found))


def test_a_nul_is_shown() -> None:
    (found,) = found_in("pipeline p {\n  pass \0\0\n}\n")
    assert found.code == "H0106" and "    pass ␀␀\n" in render_all([found]).replace("2 |", "  ")


def test_what_is_shown_of_files(tmp_path: Path, golden: Golden) -> None:
    large, latin = tmp_path / "large.hp", tmp_path / "latin.hp"
    large.write_bytes(b"\n" * (LARGEST_FILE + 1))
    latin.write_bytes(b"header h {\n  // caf\xe9\n}\n")
    shown = []
    for path in (tmp_path / "none.hp", tmp_path, latin, large):
        with pytest.raises(Refused) as refused:
            read(path, path.name if path != tmp_path else "folder")
        shown.append(render_all(refused.value.diagnostics))
    shown.append(render_all(found_in("header h {" + "x " * MOST_TOKENS + "\n}\n")))
    (case,) = cases(HERE / "cases" / "files.txt")
    golden(case, shown="\n".join(shown))


def test_every_code_is_shown() -> None:
    assert EXPLANATIONS.keys() - {"H0109", "H0110", "H0111"} == {case.name[:5] for case in CASES}


VALUES = {
    "any", "iif", "iifname", "length", "packet", "payload", "pkt", "range", "skb",
    "ACK", "FIN", "RST", "SYN", "bpf_get_prandom_u32", "bpf_ktime_get_ns", "crc16", "crc32",
    "false", "ingress_global_timestamp", "jhash", "null", "time", "timestamp", "true", "valid",
}  # fmt: skip


def test_habits_are_shown() -> None:
    """All of them, but for those that are read as a value: see check/cases."""
    found = [d for case in CASES for d in found_in(case.text)]
    assert set(foreign_words.SIGNS.values()) <= {d.help for d in found}
    words = {
        d.span.text for d in found if d.span and d.help == foreign_words.WORDS.get(d.span.text)
    }
    assert foreign_words.WORDS.keys() - words == VALUES
    assert {*foreign_words.DECLARATIONS.values()} <= {d.help for d in found}
    lines = {hint for of_rule in foreign_lines.LINES.values() for hint in of_rule.values()}
    assert lines <= {d.help for d in found}


def test_words_of_other_languages_may_be_names() -> None:
    lines = "\n".join(
        f"    if {word}.{word} = 1 {{ {word}({word}) }}" for word in foreign_words.WORDS
    )
    assert found_in(f"pipeline p {{\n  stage s {{\n{lines}\n  }}\n}}\n") == []


def test_the_language_page_names_what_is_not_there_yet() -> None:
    """And `check` names all of that: syntax here, the rest in check/cases."""
    page = (Path(__file__).parents[3] / "docs" / "language.md").read_text()
    _, _, section = page.partition("## Not in this release")
    rows = re.findall(r"^\| .* \| (.*) \| H0119 \|$", section, re.MULTILINE)
    assert set(re.findall(r"`(\S+)`", " ".join(rows))) == PLANNED.keys()
    shown = {
        d.span.text for case in CASES for d in found_in(case.text) if d.code == "H0119" and d.span
    }
    assert shown == PLANNED.keys()


def test_words_of_later_releases_may_be_names() -> None:
    words = [word for word in PLANNED if word.isalpha()]
    declared = "\n".join(f"  ie {word} = {n}, u8" for n, word in enumerate(words, 1))
    lines = "\n".join(f"    if {word}.{word} = 1 {{ {word}({word}) }}" for word in words)
    matched = "\n".join(f"    match {word} exact {word}.{word}" for word in words)
    rule, stage = f"rule R [1] {{\n{matched}\n  }}", f"stage s {{\n{lines}\n  }}"
    text = f"pipeline p {{\n{declared}\n  {rule}\n  {stage}\n}}\n"
    assert found_in(text) == []
    assert {d.code for d in found_in(text.replace("ie ages = ", "ie ages "))} == {"H0101"}


FRAMES = ("%s", "pipeline p {\n%s\n}", "pipeline p { stage s {\n%s\n} }", "header h {\n%s\n}")


@pytest.mark.parametrize("code", [c for c, e in EXPLANATIONS.items() if e.wrong])
def test_examples_of_the_explanations(code: str) -> None:
    explanation = EXPLANATIONS[code]
    frames = [f for f in FRAMES if not found_in(f % explanation.right)]
    assert frames, "the right example is refused"
    assert code in {d.code for f in frames for d in found_in(f % explanation.wrong)}
    assert explanation.render(code).startswith(f"{code}: {explanation.title}\n")


def test_reserved_words_are_those_of_the_explanation() -> None:
    named = set(re.findall(r"`(\w+)`", EXPLANATIONS["H0107"].text))
    refused = {w for w in named if found_in(f"header {w} {{ x : u8 }}")}
    assert refused == named == HARD
