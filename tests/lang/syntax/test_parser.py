from __future__ import annotations

from pathlib import Path

import pytest
from helioc.lang import tree
from helioc.lang.syntax.lexer import DEEPEST
from helioc.lang.syntax.parser import LARGEST_FILE, parse, read
from helioc.lang.syntax.print_expr import expr, set_
from helioc.lang.syntax.printer import format_program
from helioc.lang.syntax.syntax_statements import MOST_BRANCHES
from helioc.lang.text.diagnostics import Refused
from helioc.lang.text.source import Source

NAMES = (
    "protocol action interface key type length checksum size next local max rest src dst version"
    " flags state port named packets bytes weight extent payload write before link ports parser"
    " accept require header from to via by over priority precedence back icmp mss lru end"
    " continue"
).split()


def program(text: str) -> tree.Program:
    return parse(Source("t.hp", text))


def pipeline(body: str) -> tree.Pipeline:
    return program(f"pipeline p {{\n{body}\n}}").pipelines[0]


def statements(body: str) -> tuple[tree.Statement, ...]:
    stage = pipeline(f"stage s {{\n{body}\n}}").declarations[0]
    assert isinstance(stage, tree.Stage)
    return stage.body.statements


def condition(text: str) -> tree.Expr:
    (statement,) = statements(f"if {text} {{}}")
    assert isinstance(statement, tree.If)
    assert not isinstance(statement.condition, tree.Find | tree.Asked)
    return statement.condition


def codes(text: str) -> list[str]:
    with pytest.raises(Refused) as refused:
        program(text)
    return [d.code for d in refused.value.diagnostics]


def test_the_samples_parse(sample: Path) -> None:
    found = parse(read(sample))
    assert found.headers or found.pipelines


@pytest.mark.parametrize("word", NAMES)
def test_words_of_the_language_are_names_where_nothing_else_could_stand(word: str) -> None:
    found = program(f"header h {{ {word} : u8 {{ {word} : u8 }} x : {word} }}").headers[0]
    assert [f.name.text for f in found.members if isinstance(f, tree.Field) and f.name] == [
        word,
        "x",
    ]
    pipeline(f"ie {word} = 1, {word} | {word} {{ {word} = 1 }} ports {word}, {word}")
    pipeline(f"parser {{ a -> {word} as {word} when {word} = 1 and {word} = 2 on {word} b -> c }}")
    pipeline(f"rule {word} [1] {{ match {'x'} {word} {word}.{word} gives {word}, {word} }}")
    pipeline(f"stage {word} {{ find {word} pop to {word} a.{word} = {word}.{word} + {word}(b) }}")
    pipeline(f"rule x [1] {{ spread {word} [1..2] by {word} over {word}({word}) counts {word} }}")
    pipeline(f"on {word} {{ reply icmp }} run {word} -> {word} action {word}({word}) {{}}")
    program(f"import {word}.{word}, {word} header {word} {{}} pipeline {word} {{}}")


def test_words_that_continue_an_expression_are_names_where_none_can() -> None:
    pipeline("ports in, out parser { in -> let as const when in = 1 on in }")
    (statement,) = statements("if in.in in { in } and not let in in..const { pop in }")
    assert isinstance(statement, tree.If)
    assert not isinstance(statement.condition, tree.Find | tree.Asked)
    assert expr(statement.condition) == "in.in in in and not let in in..const"


@pytest.mark.parametrize("word", ["size", "extent", "accept", "require", "payload", "max"])
def test_clauses_of_a_header_are_told_from_fields_of_that_name(word: str) -> None:
    text = f"header h {{ {word} : u8 x : u8[2] max 4 {word} : u8 size 4 extent {word} }}"
    kinds = [type(m).__name__ for m in program(text).headers[0].members]
    assert kinds == ["Field", "Field", "Field", "Size", "Extent"]


def test_members_need_no_line_ends() -> None:
    (found,) = program("header h { a : u8 = 0  b : u16 : u9 = 0 when a { c : u8 } size a }").headers
    assert [type(m).__name__ for m in found.members] == ["Field"] * 3 + ["Group", "Size"]


@pytest.mark.parametrize(
    "text, meant",
    [
        ("a or b and c", "(a or (b and c))"),
        ("not a and b", "((not a) and b)"),
        ("not a = 1", "(not (a = 1))"),
        ("a + b * c = d", "((a + (b * c)) = d)"),
        ("a | b ^ c & d = e", "((a | (b ^ (c & d))) = e)"),
        ("a | b & c << d + e * f", "(a | (b & (c << (d + (e * f)))))"),
        ("a *% b +% c -| d % e", "(((a *% b) +% c) -| (d % e))"),
        ("~a + ~~b in 1..2", "((~a + ~~b) in 1..2)"),
        ("not a in { 1, 2 } or b", "((not (a in { 1, 2 })) or b)"),
        ("a - b - c > 0", "(((a - b) - c) > 0)"),
        ("a & 0xf = 3", "((a & 0xf) = 3)"),
        ("(a or b) and c", "((a or b) and c)"),
        ("a.b is local or not c", "((a.b is local) or (not c))"),
        ("PDR gives FAR", "(PDR gives FAR)"),
        ("a << 2 >> 1 != 0", "(((a << 2) >> 1) != 0)"),
    ],
)
def test_precedence(text: str, meant: str) -> None:
    def spell(node: tree.Expr) -> str:
        if isinstance(node, tree.Binary):
            return f"({spell(node.left)} {node.operator} {spell(node.right)})"
        if isinstance(node, tree.Unary):
            inner = spell(node.operand)
            return f"(not {inner})" if node.operator == "not" else f"~{inner}"
        if isinstance(node, tree.In):
            return f"({spell(node.subject)} in {set_(node.members)})"
        return f"({expr(node)})" if isinstance(node, tree.Is | tree.Gives) else expr(node)

    assert spell(condition(text)) == meant


@pytest.mark.parametrize(
    "text, value",
    [("17", 17), ("0x8100", 0x8100), ("64k", 65536), ("1M", 1048576), ("0", 0)],
)
def test_numbers(text: str, value: int) -> None:
    found = condition(text)
    assert isinstance(found, tree.Number) and (found.value, found.text) == (value, text)


@pytest.mark.parametrize(
    "text, kind, value",
    [
        ("10.0.0.1", "ip4", 0x0A000001),
        ("2001:db8::1", "ip6", 0x20010DB8 << 96 | 1),
        ("::", "ip6", 0),
        ("1:2:3:4:5:6:7:8", "ip6", 0x00010002000300040005000600070008),
        ("02:00:00:00:00:0a", "mac", 0x02000000000A),
    ],
)
def test_addresses(text: str, kind: str, value: int) -> None:
    found = condition(text)
    assert isinstance(found, tree.Address) and (found.kind, found.value) == (kind, value)


def test_guards() -> None:
    text = "parser { a -> b as c when p = 1 | 4..7 | 0x80 & 0xf0 and q = 2 write 3, 4 on x, y }"
    (parser,) = pipeline(text).declarations
    assert isinstance(parser, tree.Parser)
    (edge,) = parser.edges
    assert edge.alias and edge.alias.text == "c"
    shapes = [(r.high is not None, r.mask is not None) for r in edge.guard[0].alternatives]
    assert shapes == [(False, False), (True, False), (False, True)]
    assert [t.field.text for t in edge.guard] == ["p", "q"]
    assert len(edge.write) == 2 and [p.text for p in edge.ports] == ["x", "y"]


def test_stacks_and_looking_ahead() -> None:
    text = "parser { a -> a[2] as c when p = 1 and next u4 = 4 }"
    (parser,) = pipeline(text).declarations
    assert isinstance(parser, tree.Parser)
    (edge,) = parser.edges
    assert edge.depth and edge.depth.value == 2 and edge.alias and edge.alias.text == "c"
    assert [t.ahead.text if t.ahead else "" for t in edge.guard] == ["", "u4"]


def test_indices() -> None:
    node, element = condition("a[1] and b.c[d.e + 1]").left, condition("b.c[d.e + 1]")  # type: ignore[union-attr]
    assert isinstance(node, tree.Path) and [n.text for n in node.parts] == ["a[1]"]
    assert isinstance(element, tree.Path) and isinstance(element.index, tree.Binary)
    assert (element.text, element.span.text) == ("b.c[d.e + 1]", "b.c[d.e + 1]")
    (append,) = statements("append a { b = c } / d behind e[1]")
    assert isinstance(append, tree.Append) and append.behind.text == "e[1]"
    assert [e.node.text for e in append.path] == ["a", "d"]
    (pop,) = statements("pop to a[0]")
    assert isinstance(pop, tree.Pop) and pop.node.text == "a"


def test_statements() -> None:
    found = statements(
        """if a { drop } else if b { pass } else { default }
        match FAR.x { A o => { pop to user }, _ => send back }
        find X else { drop } choose Y from X.Z
        push a { b = c, d = 1 } / e before f clamp mss forward a.b via c.d
        reply icmp no_route user.tos = 1 + 2 apply(FAR)"""
    )
    names = "If MatchOn Find Choose Push Clamp Forward Reply Assign Apply".split()
    assert [type(s).__name__ for s in found] == names
    first = found[0]
    assert isinstance(first, tree.If) and first.otherwise
    assert isinstance(first.otherwise.statements[0], tree.If)
    assert first.otherwise.span.text.startswith("if b")
    push = found[4]
    assert isinstance(push, tree.Push) and push.before and push.before.text == "f"
    assert [len(e.fields) for e in push.path] == [2, 0]


def test_documentation_goes_to_what_follows() -> None:
    text = """/// A header,
///  indented.
header h {
  /// a field
  x : u8
  /// nothing follows
}
/// one
pipeline p {
  /// two
  ie a = 1, u8 /// not one
  ie b = 2, u8
  //// nor this
  stage s { }
}
"""
    found = program(text)
    (header,), (line,) = found.headers, found.pipelines
    assert header.doc == "A header,\n indented."
    assert isinstance(header.members[0], tree.Field) and header.members[0].doc == "a field"
    assert line.doc == "one"
    assert [getattr(d, "doc", None) for d in line.declarations] == ["two", "", ""]
    comments = [(c.text, c.own_line) for c in found.comments]
    assert comments == [
        ("// nothing follows", True),
        ("// not one", False),
        ("//// nor this", True),
    ]


def test_spans_are_the_words_themselves() -> None:
    (stage,) = pipeline("stage s { find PDR else { drop } }").declarations
    assert isinstance(stage, tree.Stage)
    (find,) = stage.body.statements
    assert isinstance(find, tree.Find) and find.otherwise
    assert stage.span.text == "stage s { find PDR else { drop } }"
    assert find.span.text == "find PDR else { drop }"
    assert (find.kind.span.text, find.otherwise.span.text) == ("PDR", "{ drop }")


def test_several_errors_in_one_run() -> None:
    text = """pipeline p {
  ie x 5, u8
  ie y = 6, u8
  rule R [1k] { cuonts packets }
  stage s {
    fnd R
    pass
    user.tos = = 3
  }
  run a => b
}
"""
    assert codes(text) == ["H0101"] * 5


def test_windows_line_ends_tabs_and_a_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "x.hp"
    path.write_bytes(b"\xef\xbb\xbfpipeline p {\r\n\t// c \r\n\tports a,\tb\r\n}\r\n")
    found = parse(read(path))
    assert found.comments[0].text == "// c"
    assert isinstance(found.pipelines[0].declarations[0], tree.Ports)


def test_an_empty_file_is_a_program() -> None:
    for text in ("", "\n\n", "// only this"):
        found = program(text)
        assert not found.headers and not found.pipelines and not found.imports


@pytest.mark.parametrize(
    "text",
    [
        "{" * 5000,
        "(" * 5000,
        "pipeline p { stage s { " + "if a { " * 2000 + "} " * 2000 + "} }",
        "pipeline p { stage s { if " + "(" * 2000 + "a" + ")" * 2000 + " {} } }",
        "pipeline p { stage s { if " + "not " * 5000 + "a {} } }",
        "pipeline p { stage s { if " + "a + " * 5000 + "a {} } }",
        "pipeline p { stage s { if a {} " + "else if a {} " * 5000 + " } }",
        "header h { x : " + "u8[" * 5000 + "]" * 5000 + " }",
    ],
)
def test_deep_nesting_is_an_error_like_another(text: str) -> None:
    assert "H0108" in codes(text)


def test_nesting_up_to_the_limit_is_read() -> None:
    depth = DEEPEST - 2
    program("pipeline p { stage s { " + "if a { " * depth + "} " * depth + "} }")
    program("pipeline p { stage s { if " + "(" * depth + "a" + ")" * depth + " {} } }")


def test_a_chain_of_else_if_is_one_level() -> None:
    def chain(many: int, last: str = "") -> str:
        return "if a {} " + "else if a {} " * (many - 1) + f"else {{ {last} }}"

    around = "pipeline p {{ stage s {{ {} }} }}".format
    for text in (chain(MOST_BRANCHES), chain(100, chain(MOST_BRANCHES - 100))):
        assert format_program(program(around(text))).count("else if") == text.count("else if")
    for text in (chain(MOST_BRANCHES + 1), chain(100, chain(MOST_BRANCHES - 99))):
        with pytest.raises(Refused) as refused:
            program(around(text))
        (found,) = refused.value.diagnostics
        assert (found.code, found.title) == ("H0108", "this has too many `else if`")


@pytest.mark.parametrize("text", ["\0" * 300_000, "; " * 150_000, "a:b:" * 70_000, "é" * 99_999])
def test_a_large_wrong_file_is_refused_with_few_words(text: str) -> None:
    assert 1 <= len(codes(text)) <= 40


def test_reading_what_cannot_be_read(tmp_path: Path) -> None:
    large, latin = tmp_path / "large.hp", tmp_path / "latin.hp"
    large.write_bytes(b"\n" * (LARGEST_FILE + 1))
    latin.write_bytes(b"// a\n// caf\xe9\n")
    expected = {tmp_path / "none.hp": "H0109", tmp_path: "H0109", large: "H0111", latin: "H0110"}
    for path, code in expected.items():
        with pytest.raises(Refused) as refused:
            read(path)
        assert [d.code for d in refused.value.diagnostics] == [code]
    assert refused.value.diagnostics[0].span is not None
    assert (refused.value.diagnostics[0].span.line, refused.value.diagnostics[0].span.column) == (
        2,
        7,
    )


@pytest.mark.parametrize("word", ["elif", "elseif"])
def test_other_words_for_else_if(word: str) -> None:
    with pytest.raises(Refused) as refused:
        program(f"pipeline p {{ stage s {{ if a {{ drop }} {word} b {{ drop }} }} }}")
    assert refused.value.diagnostics[0].help == "did you mean `else if`?"
