"""Requests: tokens are the grammar's, a known shape reads like a new one, nothing makes it fall."""

from __future__ import annotations

import time

import pytest
from antlr4 import InputStream
from helioc.lang.contract.request import request_antlr, request_parser
from helioc.lang.contract.request.request import IE, Change, Request, RuleItem, request_text
from helioc.lang.contract.request.request_antlr import TYPES
from helioc.lang.contract.request.request_parser import parse_request
from helioc.lang.contract.request.request_tokens import expression_of, tokens
from helioc.lang.grammar.RequestLexer import RequestLexer
from helioc.lang.text.diagnostics import Refused
from helioc.lang.text.render import render_all
from helioc.lang.text.source import Source
from hypothesis import example, given, settings
from hypothesis import strategies as st

SAMPLES = [
    "create PDR: (IP address, u32, 167837953), (protocol, u8, TCP), FAR: (action, u8, REDIRECT)",
    "create PDR (tos, u8, 184 & 0xfc), FAR 17 (action, u8, 1); delete FAR 3",
    'create OVERLAY 3 "my WAN" [(local_ip, u32, 10.0.0.0/8), (m, u48, 02:00:00:00:00:01)]',
    "create LBR 7 [FAR 17 [(weight, u16, 3)], FAR 18, (tos, u8, 1..2)] // why\nupdate FAR []",
    "create [(tos, u8, 184), [(a, u8, 1), []]], [(b, u8, 1)]; delete (tos, u8, 1), FAR [FAR 3]",
    "create PDR [(src, 10.0.0.0/8), (tos, 4), FAR [(action, DROP)], (hops, ::1, ::2), (t, a..b)]",
    "replace PDR;; ; delete LBR: FAR: (a, u128, 2001:db8::1), (b, u128, ::), X GRE-WAN1.2",
]
PIECES = st.sampled_from([
    "create", "UPDATE", "delete", "replace", "PDR", "FAR:", "17", "0x1F", "10.0.0.1", "10.0.0",
    "1.2.3.4.5", "::1", "2001:db8::", "1:2:3:4:5:6:7:8", "02:00:00:00:00:01",
    "aa:bb:cc:dd:ee:ff::1", "GRE-WAN1",
    "a-b.c", '"q"', '"', "(", ")", "[", "]", ",", ";", ":", "/", "&", "..", ".", " ",
    "\n", "// c\n", "-", "é", "1a", "0x", "(tos, u8, 184)", "[(tos, u8, 1)]", "(tos, 1)", "\0",
])  # fmt: skip
TEXTS = st.lists(PIECES, max_size=25).map("".join) | st.lists(PIECES, max_size=25).map(" ".join)


def bare(request: Request) -> Request:
    """Without places."""

    def item(one: RuleItem | IE) -> RuleItem | IE:
        if isinstance(one, IE):
            return one._replace(at=())
        return one._replace(at=(), items=tuple(map(item, one.items)))

    return Request(tuple(Change(c.operation, tuple(map(item, c.items))) for c in request.changes))


def test_the_generated_parser_reads_what_is_new(monkeypatch: pytest.MonkeyPatch) -> None:
    """All others only repeat what it said of the same shape."""
    monkeypatch.setattr(request_antlr, "RequestParser", None)
    monkeypatch.setattr(request_parser, "_shapes", {})
    monkeypatch.setattr(request_parser, "_expected", [])
    for text in SAMPLES:
        with pytest.raises(TypeError):
            parse_request(Source("request", text))


@pytest.mark.parametrize("text", SAMPLES)
def test_printing_is_read_again(text: str) -> None:
    request = parse_request(Source("request", text))
    again = parse_request(Source("request", request_text(request)))
    assert bare(again) == bare(request)


def test_what_is_a_length() -> None:
    """Of several values the first, if it is a word or a number."""
    text = "create A [(a, 1), (b, u8, 1), (c, u8), (d, ::1, ::2), (e, u32, 1, 2), (f, 1.1.1.1, x)]"
    (rule,) = parse_request(Source("r", text)).changes[0].items
    assert isinstance(rule, RuleItem)
    found = [(i.length, i.value) for i in rule.items if isinstance(i, IE)]
    assert found == [
        ("", "1"), ("u8", "1"), ("", "u8"), ("", "::1, ::2"), ("u32", "1, 2"), ("", "1.1.1.1, x"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "list_", ["::1, ::2/64", "::1, ::2..::9", "::1, ::2 & ::3, ::4", "::1/64, ::2"]
)
def test_a_list_has_single_values(list_: str) -> None:
    with pytest.raises(Refused) as refused:
        parse_request(Source("r", f"create A [(sids, {list_})]"))
    assert [d.code for d in refused.value.diagnostics] == ["H0402"]


def test_places() -> None:
    text = "create FAR 17 [(IP address, u32, 10.0.0.0/8)]"
    request = parse_request(Source("request", text))
    rule = request.changes[0].items[0]
    assert isinstance(rule, RuleItem)
    ie = rule.items[0]
    spelled = [text[a:b] for a, b in zip(ie.at[::2], ie.at[1::2], strict=True)]
    assert spelled == ["IP address", "u32", "10.0.0.0", "8", "(IP address, u32, 10.0.0.0/8)"]
    assert text[rule.at[0] : rule.at[1]] == "FAR 17"
    assert text[rule.at[0] : rule.at[2]] == text[7:]


@settings(max_examples=400, deadline=None)
@given(TEXTS)
@example("// only a comment")
@example("aa:bb:cc:dd:ee:ff:0z 1::2.3.4.5 10.0.0.1a 17abc 0x1g a--b a-b-")
def test_tokens_are_the_grammars(text: str) -> None:
    lexer = RequestLexer(InputStream(text))
    lexer.removeErrorListeners()
    expected = [(t.type, t.text, t.start) for t in lexer.getAllTokens()]
    found = tokens(Source("request", text))
    types = [TYPES[kind] for kind in found.kinds]
    assert list(zip(types, found.texts, found.starts, strict=True)) == expected


SHAPED = [
    "create PDR 7 [(src_ip, u32, 10.0.0.0/8), (tos, u8, 184 & 0xfc), FAR 17]",
    'create OVERLAY 3 "my WAN" [(IP address, u32, 10.0.0.1), (p, u16, 1..20)]',
    "update FAR 17 [(action, u8, DROP)]",
    "delete PDR 1",
    "replace PDR, FAR",
]
SPACES = ["", " ", "\n", "// c\n", "/", "// a // b\n", ";", "x", "1", ".", "-", ":", "_", '"', ".."]


@settings(max_examples=1500, deadline=None)
@given(st.sampled_from(SHAPED), st.data())
def test_an_expression_takes_a_text_apart_as_the_tokens_do(text: str, data: st.DataObject) -> None:
    """Whatever stands between the tokens: what the expression of a shape matches has that shape."""
    shape, pieces, *_ = tokens(Source("request", text))
    expression = expression_of(shape)
    assert expression is not None and expression.fullmatch(text) is not None
    spaces = st.just(" ") | st.sampled_from(SPACES)
    changed = data.draw(spaces) + "".join(piece + data.draw(spaces) for piece in pieces)
    match = expression.fullmatch(changed)
    if match is not None:
        kinds, texts, starts, ends = tokens(Source("request", changed))
        assert kinds in (shape, shape + ";")
        count = len(shape)
        assert match.groups() == tuple(texts[:count])
        assert match.regs[1:] == tuple(zip(starts, ends, strict=True))[:count]


def test_comments_do_not_make_an_expression_slow() -> None:
    expression = expression_of(tokens(Source("request", SHAPED[0])).kinds)
    assert expression is not None
    start = time.perf_counter()
    assert expression.fullmatch("create PDR 7 [" + "// a " * 5000 + "\n" + " \n//" * 5000) is None
    assert time.perf_counter() - start < 1.0


def outcome(text: str, cached: bool) -> object:
    try:
        request = parse_request(Source("request", text), cached=cached)
    except Refused as refused:
        return render_all(refused.diagnostics)
    return bare(request), [c.at for c in request.changes], request.changes


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(SAMPLES) | TEXTS, max_size=4), st.data())
def test_a_known_shape_reads_like_a_new_one(parts: list[str], data: st.DataObject) -> None:
    text = data.draw(st.sampled_from([";", "\n"])).join(parts)
    assert outcome(text, True) == outcome(text, False) == outcome(text, True)


def test_a_bracket_that_is_not_closed_in_a_long_request() -> None:
    """All that follows is within it; it is found without the grammar."""
    text = "create FAR 1 [(action, u8, DROP), FAR [(a, u8, 1)" + ", FAR [(a, u8, 1)]" * 2000 + "]"
    with pytest.raises(Refused) as error:
        parse_request(Source("request", text))
    (found,) = error.value.diagnostics
    assert found.code == "H0406" and "8192" in found.title
    assert found.span is not None and (found.span.start, found.span.end) == (13, 14)


@settings(max_examples=1500, deadline=None)
@given(st.sampled_from(SAMPLES), st.data())
def test_mutated_requests(text: str, data: st.DataObject) -> None:
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(text)))
        text = (
            text[:at] + data.draw(PIECES | st.just("")) + text[at + data.draw(st.integers(0, 4)) :]
        )
    try:
        parse_request(Source("request", text))
    except Refused as refused:
        assert all(d.code[:3] == "H04" for d in refused.diagnostics)
        assert render_all(refused.diagnostics)


@pytest.mark.parametrize(
    "text",
    [
        "create PDR " + "[FAR " * 20_000,
        "create " + "FAR: " * 20_000 + "FAR",
        "create FAR " + "9" * 20_000,
        "create FAR [(a, u8, " + "9" * 20_000 + ")]",
        "create FAR [(" + "a " * 20_000 + ", u8, 1)]",
        "(" * 20_000,
        "a" * 100_000,
        "1:" * 20_000,
        '"' * 10_001,
        "create FAR 1 " * 3_000,
        "// " * 50_000,
    ],
    ids=lambda text: text[:18],
)
def test_large_nonsense_takes_no_time(text: str) -> None:
    begun = time.process_time()
    try:
        parse_request(Source("request", text))
    except Refused as refused:
        assert render_all(refused.diagnostics)
    assert time.process_time() - begun < 8


def test_what_looks_like_an_address_without_end_is_read_in_no_time() -> None:
    """Minutes, where each of the tokens looks for the end of one."""
    with pytest.raises(Refused):
        parse_request(Source("<request>", "a:" * 200_000))
