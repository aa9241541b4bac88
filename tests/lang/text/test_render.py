from __future__ import annotations

import re

from helioc.lang.text.diagnostics import Diagnostic, Label
from helioc.lang.text.render import render, render_all
from helioc.lang.text.source import Source

EDGES = Source("linx.hp", "parser {\n" + "\n" * 12 + "    outer -> udp when protocol = 17\n"
               "    outer -> gre when protocol = 16..47\n}\n")  # fmt: skip


def at(source: Source, words: str, text: str = "") -> Label:
    start = source.text.index(words)
    return Label(source.span(start, start + len(words)), text)


def shown(*labels: Label, hint: str = "", colour: bool = False) -> list[str]:
    return render(Diagnostic("H0213", "a title", labels, hint), colour).split("\n")[1:]


def test_two_places_as_the_language_shows_them() -> None:
    labels = (
        at(EDGES, "protocol = 16..47", "also matches 17"),
        at(EDGES, "protocol = 17", "matches 17"),
    )
    text = render(
        Diagnostic("H0213", "these two edges overlap", labels, "narrow the range to 18..47")
    )
    assert text == (
        "error[H0213]: these two edges overlap\n"
        "  --> linx.hp:15:23\n"
        "14 |     outer -> udp when protocol = 17\n"
        "   |                       ------------- matches 17\n"
        "15 |     outer -> gre when protocol = 16..47\n"
        "   |                       ^^^^^^^^^^^^^^^^^ also matches 17\n"
        "   = help: narrow the range to 18..47"
    )


def test_two_places_on_one_line() -> None:
    source = Source("a.hp", "ie a = 1, a\n")
    assert shown(at(source, "1", "first"), at(source, "a ", "second")) == [
        " --> a.hp:1:8",
        "1 | ie a = 1, a",
        "  |        ^ first",
        "  |    -- second",
    ]


def test_places_in_two_files() -> None:
    one, two = (
        Source("one.hp", "header h {}\n"),
        Source("two.hp", "\n\n\n\n\n\n\n\n\nheader h {}\n"),
    )
    assert shown(at(one, " h ", "again"), at(two, " h ", "first"), hint="rename\none") == [
        "  --> one.hp:1:7",
        " 1 | header h {}",
        "   |       ^^^ again",
        "  ::: two.hp:10:7",
        "10 | header h {}",
        "   |       --- first",
        "   = help: rename",
        "           one",
    ]


def test_a_span_over_lines() -> None:
    source = Source("a.hp", "stage s {\n  pass\n}\n")
    assert shown(Label(source.span(0, 18), "all of it")) == [
        " --> a.hp:1:1",
        "1 | stage s {",
        "  | ^^^^^^^^^",
        "2 |   pass",
        "  |   ^^^^",
        "3 | }",
        "  | ^ all of it",
    ]


def test_a_span_over_many_lines_shows_both_ends() -> None:
    source = Source("a.hp", "stage s {\n" + "  pass\n" * 20 + "}\n")
    assert shown(Label(source.span(0, len(source.text) - 1), "here")) == [
        "  --> a.hp:1:1",
        " 1 | stage s {",
        "   | ^^^^^^^^^",
        "...",
        "22 | }",
        "   | ^ here",
    ]


def test_tabs_wide_and_invisible_characters() -> None:
    source = Source("a.hp", "\tx // 漢字 \u200be\u0301 \x1b[31m here\n")
    assert shown(at(source, "x", "a"), at(source, "here", "b")) == [
        " --> a.hp:1:2",
        "1 |     x // 漢字 e\u0301 ␛[31m here",
        f"  | {' ' * 22}---- b",
        "  |     ^ a",
    ]


def test_the_end_of_the_file() -> None:
    for text, expected in (("", ["1 |", "  | ^ end"]), ("ab\n", ["2 |", "  | ^ end"])):
        source = Source("a.hp", text)
        assert shown(Label(source.span(len(text), len(text)), "end"))[1:] == expected
    source = Source("a.hp", "ab")
    assert shown(Label(source.span(2, 2), "end")) == [" --> a.hp:1:3", "1 | ab", "  |   ^ end"]


def test_a_span_that_ends_with_its_line() -> None:
    source = Source("a.hp", "ab\r\ncd\n")
    assert shown(Label(source.span(0, 4), "x")) == [" --> a.hp:1:1", "1 | ab", "  | ^^ x"]


def test_a_long_line_is_shown_in_part() -> None:
    source = Source("a.hp", "x" * 500 + "BAD" + "y" * 500)
    lines = shown(at(source, "BAD", "this"))
    assert all(len(line) < 140 for line in lines)
    column = lines[2].index("^")
    assert lines[1][column : column + 3] == "BAD"
    assert lines[1].startswith("1 | …x") and lines[1].endswith("y…")


def test_no_place_at_all() -> None:
    found = Diagnostic("H0109", "cannot read x.hp", (), "look again", "warning")
    assert render(found) == "warning[H0109]: cannot read x.hp\n  = help: look again"


def test_colour_changes_no_text() -> None:
    plain, coloured = (shown(at(EDGES, "17", "a"), hint="b", colour=c) for c in (False, True))
    assert plain != coloured
    assert [re.sub(r"\x1b\[[0-9;]*m", "", line) for line in coloured] == plain


def test_all_of_them() -> None:
    one = Diagnostic("H0001", "one", ())
    assert render_all([]) == ""
    assert render_all([one, one]) == "error[H0001]: one\n\nerror[H0001]: one\n"
