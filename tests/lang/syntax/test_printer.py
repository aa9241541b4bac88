from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any

import pytest
from golden import Golden, cases
from helioc.lang import tree
from helioc.lang.syntax.parser import parse, read
from helioc.lang.syntax.printer import format_program
from helioc.lang.text.diagnostics import Refused
from helioc.lang.text.source import Source
from hypothesis import given, settings
from hypothesis import strategies as st
from random_pipeline import pipeline_text

from ..conftest import PIPELINES, strip

(UNTIDY,) = cases(Path(__file__).parent / "cases" / "untidy.txt")
TEXTS = {p.name: p.read_text() for p in sorted(PIPELINES.rglob("*.hp"))}


def program(text: str) -> tree.Program:
    return parse(Source("t.hp", text))


def formatted(text: str) -> str:
    return format_program(program(text))


def check(text: str) -> str:
    """Format `text`: the same tree, the same comments, and nothing left to format."""
    before = program(text)
    out = format_program(before)
    after = program(out)
    assert strip(after) == strip(before)
    assert [c.text for c in after.comments] == [c.text for c in before.comments]
    assert format_program(after) == out
    assert not re.search(r"[ \t]$|\n\n\n", out, re.MULTILINE)
    return out


def test_the_samples_are_canonical(sample: Path) -> None:
    source = read(sample)
    assert format_program(parse(source)) == source.text


def test_everything_at_once(golden: Golden) -> None:
    golden(UNTIDY, formatted=check(UNTIDY.text))


@pytest.mark.parametrize(
    "text, expected",
    [
        ("a or (b and c)", "a or b and c"),
        ("(a or b) and not (c or d)", "(a or b) and not (c or d)"),
        ("not (a = 1)", "not a = 1"),
        ("((a + b) * c) - (d - e) = 1", "(a + b) * c - (d - e) = 1"),
        ("a - (b + c) != (d & 0xF)", "a - (b + c) != d & 0xF"),
        ("(a = b) = f(c, (d or e))", "(a = b) = f(c, d or e)"),
        ("not not a", "not not a"),
        ("(a in {1}) and not (b in {1..2,(3)})", "a in 1 and not b in { 1..2, 3 }"),
        ("(a|b)&c=(d^e)|f", "(a | b) & c = d ^ e | f"),
        ("~(a+b)=~(~a)", "~(a + b) = ~~a"),
        ("(a/b)%c = a/(b%c)", "a / b % c = a / (b % c)"),
        ("a -| (b +% c) = 1", "a -| (b +% c) = 1"),
        ("a in 10.0.0.0/8", "a in 10.0.0.0/8"),
        ("(a + b) << 2 = a + (b << 2)", "(a + b) << 2 = a + (b << 2)"),  # see H0120
        ("a & (b << 2) = (a + b) & 3", "a & (b << 2) = (a + b) & 3"),
        ("a | (b << 2) = (a << 2) & 3", "a | b << 2 = a << 2 & 3"),
        ("(not a) = b", "(not a) = b"),
    ],
)
def test_brackets_are_those_needed(text: str, expected: str) -> None:
    out = check(f"pipeline p {{ stage s {{ if {text} {{}} }} }}")
    assert f"if {expected} {{}}" in out


@pytest.mark.parametrize(
    "text, migrated",
    [
        ("1 + 1 << 2", "1 + (1 << 2)"),
        ("a & 0xf << 4 >> 1", "(a & 0xf) << 4 >> 1"),
        ("a + b & 3 - c", "a + (b & 3) - c"),
        ("f(a + b & 3)", "f(a + (b & 3))"),
        ("a << 2 & 3 + b * c", "(a << 2 & 3) + b * c"),
        ("a + b * c", "a + b * c"),
    ],
)
def test_what_bound_otherwise_gets_brackets(text: str, migrated: str) -> None:
    before = f"pipeline p {{\n  stage s {{ x.y = {text} }}\n}}\n"
    after = format_program(parse(Source("t.hp", before), as_before=True))
    assert f"x.y = {migrated} " in after
    assert formatted(after) == after
    assert format_program(parse(Source("t.hp", after), as_before=True)) == after


def test_an_empty_program() -> None:
    assert formatted("") == ""
    assert formatted("\n \n") == ""
    assert formatted("  // a\n\n\n// b") == "// a\n\n// b\n"


def test_comments_in_odd_places() -> None:
    text = """import // one
  a, // two
  b // three
// four
pipeline // five
  p // six
{ // seven
  ie // eight
    x // nine
    = 1, // ten
    u8 // eleven
  rule R [ // twelve
    1k] {
    match // thirteen
      x exact // fourteen
        a.b
    // fifteen
  }
  stage s { // sixteen
    if a // seventeen
    { pass } // eighteen
    else // nineteen
    { // twenty
    } // twenty-one
    push a { // twenty-two
      b = c, // twenty-three
      d = e
      // twenty-four
    } / f // twenty-five
    append a { // twenty-nine
      b = c } behind d // thirty
  }
  // twenty-six
} // twenty-seven
// twenty-eight"""
    assert check(text).count("//") == 30


def test_empty_lines_are_kept_one_at_a_time() -> None:
    text = "\n\nheader a {\n\n\n  x : u8\n\n\n\n  // c\n\n  y : u8\n\n}\n\n\nheader b {}\n\n"
    expected = "header a {\n\n  x : u8\n\n  // c\n\n  y : u8\n}\n\nheader b {}\n"
    assert check(text) == expected


def test_comments_stand_two_columns_behind_the_longest_line() -> None:
    wide = (
        "header a {\n  x : u8      // one\n  yy : u16    // two\n   // more\n"
        "  // of z\n  z : u8\n}\n"
    )
    assert check(wide) == (
        "header a {\n  x  : u8   // one\n  yy : u16  // two\n            // more\n"
        "  // of z\n  z  : u8\n}\n"
    )
    ragged = "header a {\n  x : u8 // one\n  y : u16  // two\n}\n"
    assert check(ragged) == "header a {\n  x : u8   // one\n  y : u16  // two\n}\n"


def _widened(text: str, random_: random.Random) -> str:
    """`text` with other white space within its lines: every indent times the same, which keeps what
    stands right of what."""
    factor = random_.choice([1, 2, 3, 7])
    out = []
    for line in text.split("\n"):
        code, slashes, comment = line.partition("//")
        inner = re.sub(r"(?<=\S)[ \t]+", lambda _: random_.choice([" ", "   ", "\t"]), code)
        indent = len(code) - len(code.lstrip(" "))
        if not code.strip():
            inner = " " * indent
        out.append(" " * (indent * (factor - 1)) + inner + slashes + comment)
    return "\n".join(out)


@settings(max_examples=100, deadline=None)
@given(st.sampled_from([*sorted(TEXTS), "untidy"]), st.randoms(use_true_random=False))
def test_white_space_within_lines_does_not_matter(name: str, random_: random.Random) -> None:
    text = TEXTS.get(name) or UNTIDY.parts["formatted"]
    assert formatted(_widened(text, random_)) == formatted(text)


def test_windows_line_ends_and_tabs_go() -> None:
    assert "\r" not in check("header a {\r\n\tx : u8\t// one\r\n\t// two\r\n}\r\n")


def _squeezed(text: str, random_: random.Random) -> str:
    """`text` with its white space outside comments changed."""
    out = []
    for piece in re.split(r"(//[^\n]*\n|\s+)", text):
        if piece.startswith("//"):
            out.append(piece)
        elif piece.isspace():
            out.append(random_.choice([" ", "\n", "  ", "\n\n\n", "\t", " // k\n", "\n  // o\n"]))
        else:
            out.append(piece)
    return "".join(out)


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(sorted(TEXTS)), st.randoms(use_true_random=False))
def test_any_layout_of_the_samples(name: str, random_: random.Random) -> None:
    check(_squeezed(TEXTS[name], random_))


WORDS = sorted({w for t in TEXTS.values() for w in re.findall(r"//[^\n]*\n|\w+|\S", t)} | {"\n"})


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(sorted(TEXTS)), st.data())
def test_mutated_samples(name: str, data: Any) -> None:
    words = re.findall(r"//[^\n]*\n|\w+|\s+|\S", TEXTS[name])
    for _ in range(data.draw(st.integers(1, 3))):
        i = data.draw(st.integers(0, len(words) - 1))
        words[i : i + data.draw(st.integers(0, 2))] = [data.draw(st.sampled_from(WORDS))]
    text = "".join(words)
    try:
        program(text)
    except Refused:
        return
    check(text)


def test_reserved_values_keep_their_reasons() -> None:
    text = (
        "pipeline p {\n"
        "  ie short = 1, u8 { A = 1, B = 2 reserved }\n"
        "  ie action = 2, u8 { DROP = 1, // gone\n"
        "/// Nothing holds\n   ///   packets.\n"
        "BUFFER=4   reserved }\n"
        "  ie reserved = 3, u8\n"
        "}\n"
    )
    assert formatted(text) == (
        "pipeline p {\n"
        "  ie short    = 1, u8  { A = 1, B = 2 reserved }\n"
        "  ie action   = 2, u8  {\n"
        "    DROP   = 1,  // gone\n"
        "    /// Nothing holds\n    ///   packets.\n"
        "    BUFFER = 4 reserved\n"
        "  }\n"
        "  ie reserved = 3, u8\n"
        "}\n"
    )
    assert formatted(formatted(text)) == formatted(text)


LONG = ", ".join(f"number_{i} = ipv4.id" for i in range(12))
WIDE = ", ".join(f"number_{i} : u16" for i in range(12))


@pytest.mark.parametrize(
    "statement",
    [
        f"remember S({LONG}) else {{}}",
        f"remember S({LONG})  // all of them",
        f"recall S({LONG}) else {{ drop }}",
        f"forget S({LONG})",
        f"if recall S({LONG}) {{ forget S({LONG}) }}",
        f"if recall S({LONG}) {{ pass }} else if remember S({LONG}) {{ drop }} else {{ pass }}",
        f"remember S({LONG}, last = hash({', '.join(['ipv4.id'] * 20)}))",
        f"if a {{ remember S({LONG}) }}",
        f"match a.b {{ 6 => remember S({LONG}) }}",
    ],
)
def test_slots_are_broken_at_the_widest_column(statement: str) -> None:
    """Behind a comma, and what is written so is written so again."""
    out = check(
        f"pipeline p {{ state S [1k] {{ match {WIDE} gives {WIDE} }} stage s {{\n{statement}\n}} }}"
    )
    assert "          number_5 : u16, " in out
    for line in out.splitlines():
        if line.lstrip().startswith(
            ("remember", "recall", "forget", "match n", "gives", "number_")
        ):
            assert len(line.partition("  //")[0].partition(") { ")[0]) <= 100


SUM = " + ".join(f"number_{i}" for i in range(12))
ASKED = " or ".join(f"ipv4.number_{i} = 1 and udp" for i in range(6))
INSIDE = [
    f"find K({LONG}) else {{ drop }}",
    f"find K({LONG})  // all of them",
    f"choose F from K.L({LONG}) over hash({', '.join(['ipv4.id'] * 20)}) else {{ default }}",
    f"push a {{ {LONG} }} / b {{ x = y }} behind c[1]",
    f"push a {{ x = {SUM} }} before c",
    f"append {' / '.join(['a { x = 1, y = 2, z = ipv4.destination }'] * 4)} behind a",
    f"push a {{ x = 1 }} / b {{ {LONG} }} / c",
    f"emit E {{ {LONG} }}",
    f"x.y = {SUM}",
    f"x.y += ({SUM}) * hash({SUM}, {SUM}, 3)",
    f"let sum = {SUM}",
    f"queue {SUM}",
    f"exchange S.state from {SUM} to {SUM}",
    f"if {ASKED} {{ pass }}",
    f"if not ({ASKED}) and ({ASKED}) {{}} else if {ASKED} {{ drop }} else {{ pass }}",
    f"if find K({LONG}) {{ pass }} else if a {{ drop }} else {{ pass }}",
    f"if a {{ find K({LONG}) else {{ drop }} }}",
    f"if x in {{ {', '.join(map(str, range(60)))} }} or a {{ pass }}",
    f"if meter K is red {{ push a {{ {LONG} }} }} else {{ emit E {{ {LONG} }} }}",
    f"match x.y {{ {' | '.join(map(str, range(60)))} => drop 6 => find K({LONG}) }}",
    f"match {SUM} {{ 6 => if {ASKED} {{ drop }} 17 => {{ pass }} }}",
    f"swap {'a' * 60}.{'b' * 60}, {'c' * 60}.{'d' * 60}",
]
BESIDE = [
    f"ports {', '.join(f'role_{i}' for i in range(20))}",
    "parser { a -> b when x = 1 on lan c -> d as e when "
    + " and ".join(f"field_{i} = {i} | 0x10..0x20" for i in range(6))
    + " write 1, 2, 3 if it fits on lan, wan\n e -> f on wan\n"
    + f"chain g by h max 8 {{ i when {' | '.join(map(str, range(50)))} write 7 }} }}",
    f"const C = {{ {', '.join(map(str, range(60)))} }}",
    f"ie e = 1, u8 {{ {', '.join(f'NAME_{i} = {i}' for i in range(12))} }}",
    f"ie e = 1, {' | '.join(f'RULE_{i}' for i in range(20))}",
    f"rule K [1k] named by {'k' * 60} {{ match {'a' * 40} exact {'b' * 60} "
    f"gives {' | '.join(f'RULE_{i}' for i in range(20))} "
    f"emit E {{ {LONG} }} after 300 idle }}",
    f"rule K [1k] {{ spread F[1..8] by weight over hash({', '.join(['ipv4.id'] * 20)}) "
    f"counts {', '.join(['packets'] * 20)} }}",
    f"event E {{ {WIDE} }} limit 10 per second, 1 by {', '.join(f'number_{i}' for i in range(12))}",
    f"event E {{}} limit 10 per second, 1 by {', '.join(f'number_{i}' for i in range(12))}",
    f"registers {'r' * 60}[{'m' * 60}][{'n' * 60}] : u32",
    f"run parser -> {' -> '.join(f'stage_{i}' for i in range(20))}",
]
PARTS = "  ".join(f"field_{i} : u4 = 3" for i in range(12))
HEADERS = [
    f"x : u48 {{ {PARTS} }}",
    f"when {' or '.join(f'flag_{i}' for i in range(20))} {{ x : u8 }} when a {{ y : u8 }}",
    f"when a {{ {PARTS} }} when bc {{ y : u8 }}",
    f"options : tlv(kind : u8, length : u8, {', '.join(f'bare {i}' for i in range(20))}) max 40 "
    f"{{ mss when kind = {' | '.join(map(str, range(60)))} {{ {PARTS} }} end when kind = 1 {{}} }}",
    f"sum : u16 = {SUM}",
    f"accept {ASKED}",
    f"size {SUM}",
]


def within_the_widest_column(text: str) -> str:
    """`text` formatted: what is longer is a comment, or has nowhere to end."""
    out = check(text)
    for line in out.splitlines():
        code = line.partition("//")[0].strip()
        assert len(line.partition("//")[0].rstrip()) <= 100 or " " not in code, line
    return out


@pytest.mark.parametrize("depth", [0, 12])
@pytest.mark.parametrize("statement", INSIDE)
def test_statements_are_broken_at_the_widest_column(statement: str, depth: int) -> None:
    nested = "if a {\n" * depth + statement + "\n}" * depth
    within_the_widest_column(f"pipeline p {{ stage s {{\n{nested}\n}} }}")


@pytest.mark.parametrize("declaration", BESIDE)
def test_declarations_are_broken_at_the_widest_column(declaration: str) -> None:
    within_the_widest_column(f"pipeline p {{\n{declaration}\n}}")


@pytest.mark.parametrize("member", HEADERS)
def test_headers_are_broken_at_the_widest_column(member: str) -> None:
    within_the_widest_column(f"header h {{\n{member}\n}}")


LONG_ONES = [
    f"import {', '.join(f'module_{i}' for i in range(20))}\n",
    *(f"header h {{\n/// {'word ' * 40}\n{each}\n}}\n" for each in HEADERS),
    *(f"pipeline p {{\n// {'word ' * 40}\n{each}\n}}\n" for each in BESIDE),
    *(f"pipeline p {{ stage s {{\n{each}\n}} }}\n" for each in INSIDE),
]


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(LONG_ONES), st.randoms(use_true_random=False))
def test_any_layout_of_what_is_too_long(text: str, random_: random.Random) -> None:
    within_the_widest_column(_squeezed(text, random_))


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.randoms(use_true_random=False))
def test_any_layout_of_a_generated_pipeline(seed: int, random_: random.Random) -> None:
    within_the_widest_column(_squeezed(pipeline_text(seed), random_))


def test_how_long_statements_are_broken(golden: Golden) -> None:
    (long,) = cases(Path(__file__).parent / "cases" / "long.txt")
    golden(long, formatted=within_the_widest_column(long.text))


def test_the_place_of_a_next_hop_is_written_without_its_comments() -> None:
    check("pipeline p { stage s { forward a.b via C.d[e.f // one\n & // two\n 3] } }")
