"""Every syntax error: its source and what is shown of it, kept in tests/golden/faults/."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from explained import explained
from helioc.lang.syntax import foreign_words
from helioc.lang.syntax.parser import LARGEST_FILE, MOST_TOKENS, parse, read
from helioc.lang.syntax.planned import PLANNED
from helioc.lang.syntax.syntax_hints import HARD
from helioc.lang.text.diagnostics import Diagnostic, Refused
from helioc.lang.text.render import render_all
from helioc.lang.text.source import Source

EXPLANATIONS = explained("syntax")
LINES = """pipeline p {
  ie a = 1, u8
  stage s {
    %s
  }
}
"""
DECLARED = """pipeline p {
  ie a = 1, u8
  %s
  run parser -> s
}
"""
CASES = {
    "H0101-misspelt-statement": LINES % "fnd PDR else { drop }",
    "H0101-misspelt-else": LINES % "find PDR esle { drop }",
    "H0101-misspelt-declaration": DECLARED % "rul PDR [64k] { counts packets }",
    "H0101-misspelt-guard": DECLARED % "parser { a -> b wen type = 1 }",
    "H0101-misspelt-clause": DECLARED % "rule PDR [64k] { cuonts packets }",
    "H0101-missing-sign": DECLARED % "ie b 2, u8",
    "H0101-missing-value": LINES % "user.tos =",
    "H0101-double-equal": LINES % "if user.tos == 3 { drop }",
    "H0101-ampersands": LINES % "if a && b { drop }",
    "H0101-literal": DECLARED % "rule PDR [many] { counts packets }",
    "H0101-not-a-statement": LINES % "17",
    "H0101-end-of-file": "pipeline",
    "H0101-late-import": "header h { x : u8 }\nimport std.ip\n",
    "H0101-outside": "header h { x : u8 }\nrule PDR [64k] { counts packets }\n",
    "H0101-several": LINES % "fnd PDR\n    user.tos 3\n    pop 7\n    forward a\n    drop",
    "H0101-habits-of-c": LINES
    % """if a || b { drop }
    a.b++
    a.b--
    for i in 0..4 { drop }
    while a { drop }
    loop { drop }
    break
    goto t
    switch a.b { drop }
    return drop""",
    "H0101-habits-of-xdp": LINES
    % """XDP_ABORTED
    XDP_DROP
    XDP_PASS
    XDP_REDIRECT
    XDP_TX
    redirect a.b
    exit
    continue
    send_back""",
    "H0101-habits-of-p4": LINES
    % """R.apply()
    if R.apply().hit { drop }
    if hdr.a.isValid() { drop }
    hdr.a.setInvalid()
    hdr.a.setValid()
    mark_to_drop()
    packet.extract(hdr.a)
    accept
    reject""",
    "H0101-habits": LINES
    % """if a.b is not local { drop }
    if a.b = 10.0.0.0/8 { drop }
    forward P via 10.0.0.2
    drop()
    pass()
    count(c)
    match a.b { A => drop
      _ => }""",
    "H0102-block": LINES % "if user { pass\n    find PDR",
    "H0102-argument": LINES % "if hash(user.src { pass }",
    "H0102-index": DECLARED % "rule PDR [64k { counts packets }",
    "H0102-at-the-end": "header h {\n  x : u8\n// the end",
    "H0103-brace": LINES % "if user { pass } }",
    "H0103-round": LINES % "if user) { pass }",
    "H0104-suffix": DECLARED % "rule PDR [64K] { counts packets }",
    "H0104-letters": LINES % "user.tos = 12ab",
    "H0104-binary": LINES % "user.tos = 0b101",
    "H0104-large": LINES % ("user.tos = 1" + "0" * 39),
    "H0105-ip4": LINES % "user.dst = 10.0.0.256",
    "H0105-ip6": LINES % "user.dst = 2001:::1",
    "H0106-signs": LINES % 'if !user { pass; }\n    user.tos = "3"  # why',
    "H0106-letters": LINES % "größe.länge = 3",
    "H0106-nul": LINES % "pass \0\0",
    "H0106-arrow": DECLARED % "parser { a → b }",
    "H0107-element": DECLARED % "ie match = 2, u8",
    "H0107-field": "header h {\n  next : u8\n  when : u8\n}\n",
    "H0107-target": LINES % "user.drop = 3",
    "H0108-blocks": LINES % ("if a { " * 33 + "}" * 33),
    "H0108-operators": LINES % ("user.tos = " + "a + " * 70 + "a"),
    "H0108-else": LINES % ("if a {} " + ("\n    " + "else if a {} " * 16) * 32),
    "H0112-block": "/* two\n   lines */\nheader h { x : u8 }\n",
    "H0113-chain": "header h {\n  ihl : u4\n  require 5 <= ihl <= 15\n}\n",
    "H0114-is": LINES % "if user.dst + 1 is local { pass }",
    "H0114-gives": LINES % "if PDR.x gives FAR { pass }",
    "H0115-else": LINES % "if a { pass } else { drop } else if b { pass }",
    "H0116-node": LINES % "if vlan[vlan.id].pcp = 1 { drop }",
    "H0116-middle": LINES % "user.tos = a.b[1].c",
    "H0118-name": LINES % f"if {'a' * 65}.tos = 3 {{ drop }}\n    {'a' * 65}.tos = {'b' * 64}.tos",
    "H0119-ages": DECLARED % "rule PDR [64k] {\n    match src exact user.src\n    ages 60\n  }",
    "H0119-meters": DECLARED % "rule PDR [64k] {\n    counts packets\n    meters mbr, burst\n  }",
    "H0119-meter": LINES % "if a { pass }\n    if not meter PDR is red { drop }",
    "H0119-meter-statement": LINES % "meter PDR",
    "H0119-mirror": LINES % "mirror SESSION.tap",
    "H0119-flood": LINES % "flood PEERS of SEGMENT",
    "H0119-event": DECLARED % "event USAGE { volume : u64 } limit 1k per second",
    "H0119-emit": LINES % "emit USAGE { volume = 3 }",
    "H0119-const": DECLARED % "const MESH = 10.0.0.0/8",
    "H0119-let": LINES % "let tenant = first(vlan.id, 0)",
    "H0119-in": LINES % "if user.protocol in { 6, 17 } { pass }",
    "H0119-plus": LINES % "user.tos += 1",
    "H0119-minus": LINES % "user.tos -= 1",
    "H0119-several": DECLARED % "const A = 1\n  event E { a : u8 }\n  stage s { mirror B }",
    "H0119-file": "const MESH = 10.0.0.0/8\nlet a = 1\n" + DECLARED % "ports lan",
    "H0119-declared": DECLARED % "mirror B\n  let a = 1",
    "H0119-stage": LINES
    % "const A = 1\n    event E { a : u8 }\n    user.tos = user.tos in { 1, 2 }\n"
    "    if user.tos not in { 1, 2 } { pass }\n    match a in b { }",
    "H0119-rule": DECLARED
    % "rule R [4] {\n    mirror a\n    meter b\n    const c = 5\n    gives d\n  }",
    "H0119-argument": LINES % "find R(a in { 1, 2 }) else { pass }\n    remember S(a = 1, n += 1)",
    "H0119-graph": DECLARED % "parser {\n    a -> b when type in { 5, 6 }\n  }",
    "H0117-field": DECLARED % "parser { a -> b when bottom u4 = 4 }",
}


def found_in(text: str) -> list[Diagnostic]:
    try:
        parse(Source("p.hp", text))
    except Refused as refused:
        return refused.diagnostics
    return []


@pytest.mark.parametrize("name", CASES)
def test_what_is_shown(name: str, golden: Callable[[str, str], None]) -> None:
    found = found_in(CASES[name])
    assert {d.code for d in found} == {name[:5]}
    source = CASES[name] if CASES[name].endswith("\n") else CASES[name] + "\n"
    golden(f"faults/{name}.txt", f"{source}\n{'=' * 96}\n{render_all(found)}")


def test_what_is_shown_of_files(tmp_path: Path, golden: Callable[[str, str], None]) -> None:
    large, latin = tmp_path / "large.hp", tmp_path / "latin.hp"
    large.write_bytes(b"\n" * (LARGEST_FILE + 1))
    latin.write_bytes(b"header h {\n  // caf\xe9\n}\n")
    shown = []
    for path in (tmp_path / "none.hp", tmp_path, latin, large):
        with pytest.raises(Refused) as refused:
            read(path, path.name if path != tmp_path else "folder")
        shown.append(render_all(refused.value.diagnostics))
    shown.append(render_all(found_in("header h {" + "x " * MOST_TOKENS + "\n}\n")))
    golden("faults/files.txt", "\n".join(shown))


def test_every_code_is_shown() -> None:
    assert EXPLANATIONS.keys() - {"H0109", "H0110", "H0111"} == {name[:5] for name in CASES}


def test_habits_are_shown() -> None:
    """All of them, but for four words that are read as a value: see check/cases."""
    found = [d for text in CASES.values() for d in found_in(text)]
    assert set(foreign_words.SIGNS.values()) <= {d.help for d in found}
    words = {
        d.span.text for d in found if d.span and d.help == foreign_words.WORDS.get(d.span.text)
    }
    assert foreign_words.WORDS.keys() - words == {"false", "null", "true", "valid"}


def test_words_of_other_languages_may_be_names() -> None:
    lines = "\n".join(
        f"    if {word}.{word} = 1 {{ {word}({word}) }}" for word in foreign_words.WORDS
    )
    assert found_in(f"pipeline p {{\n  stage s {{\n{lines}\n  }}\n}}\n") == []


def test_the_language_page_names_what_is_not_there_yet() -> None:
    """And `check` names all of that: syntax here, `now` and the rest in check/cases."""
    page = (Path(__file__).parents[3] / "docs" / "language.md").read_text()
    _, _, section = page.partition("## Not in this release")
    rows = re.findall(r"^\| .* \| (.*) \| H0119 \|$", section, re.MULTILINE)
    assert set(re.findall(r"`(\S+)`", " ".join(rows))) == PLANNED.keys()
    shown = {
        d.span.text
        for text in CASES.values()
        for d in found_in(text)
        if d.code == "H0119" and d.span
    }
    assert shown == PLANNED.keys() - {"now"}


def test_words_of_later_releases_may_be_names() -> None:
    words = [word for word in PLANNED if word.isalpha()]
    declared = "\n".join(f"  ie {word} = {n}, u8" for n, word in enumerate(words, 1))
    lines = "\n".join(f"    if {word}.{word} = 1 {{ {word}({word}) }}" for word in words)
    matched = "\n".join(f"    match {word} exact {word}.{word}" for word in words)
    rule, stage = f"rule R [1] {{\n{matched}\n  }}", f"stage s {{\n{lines}\n  }}"
    text = f"pipeline p {{\n{declared}\n  {rule}\n  {stage}\n}}\n"
    assert found_in(text) == []
    assert {d.code for d in found_in(text.replace("ie let = ", "ie let "))} == {"H0101"}


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
