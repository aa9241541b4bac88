"""Text to tokens, as `Helio.g4` has them, but some ten times faster than the generated lexer.

A test compares the two. Comments come out beside the tokens, because the grammar does not see them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from ..text import literals
from ..text.diagnostics import Diagnostic
from ..text.source import Source, Span
from ..tree import Comment
from .lexer_errors import (
    CALLED,
    DIVIDED,
    QUOTES,
    bad_address,
    bad_number,
    block_comment,
    foreign_call,
    long_name,
    nothing_to_close,
    stray_character,
    stray_quotes,
    too_deep,
    unclosed_error,
)

_TOKEN = re.compile(
    r"""(?P<SPACE>[ \t\r\n]+)
    | (?P<COMMENT>//[^\n]*)
    | (?P<BLOCK>/\*.*?(?:\*/|\Z))
    | (?P<ADDRESS>[0-9]\w*(?:\.\w+)+ | [0-9a-fA-F]*:[0-9a-fA-F]*:[0-9a-fA-F:]*)
    | (?P<NUMBER>[0-9]\w*)
    | (?P<IDENT>[A-Za-z_]\w*)
    | (?P<SIGN>->|=>|\.\.|!=|<=|>=|<<|>>|[+-]%?=|[|&^]=|[+*-]%|[+-]\||[{}()\[\]:=,|&/.<>+*%^~-])
    | (?P<STRAY>[^\w \t\r\n{}()\[\]:=,|&/.<>+*%^~!-]+ | .)""",
    re.VERBOSE | re.ASCII | re.DOTALL,
)
_OPEN = {"{": "}", "(": ")", "[": "]"}
_CLOSE = {")", "]", "}"}

DEEPEST = 32
"""How deep brackets, `else if` and operators may nest."""

NAME_MOST = 64
"""Bytes of a name. Names in C are made of two of them at most, or cut (`function_name`), and a BTF
name has 127 at most (KSYM_NAME_LEN of Linux 5.10)."""

MOST_LEXICAL_ERRORS = 20
"""Limit of reported wrong characters, literals and brackets of a file."""


class Token:
    """One token, in the shape that ANTLR's parser reads. `kind` is a lexer rule of the grammar, or
    the text itself for keywords and signs; `type` is the generated parser's number for it."""

    __slots__ = ("channel", "depth", "first", "kind", "start", "stop", "text", "tokenIndex", "type")

    def __init__(self, kind: str, text: str, start: int, index: int, first: bool) -> None:
        self.kind = kind
        self.text = text
        self.start = start
        self.stop = start + len(text)
        self.tokenIndex = index
        self.first = first  # nothing but space before it on its line
        self.depth = 0  # open brackets around it; a closing one counts as outside
        self.type = 0
        self.channel = 0


@dataclass
class Lexed:
    """A file's tokens (the last is `EOF`), its plain comments, the doc comments above tokens (by
    token index), and what was wrong."""

    tokens: list[Token] = field(default_factory=list)
    comments: list[Comment] = field(default_factory=list)
    docs: dict[int, list[Comment]] = field(default_factory=dict)
    errors: list[Diagnostic] = field(default_factory=list)
    ends: list[Span] = field(default_factory=list)  # `;`: one habit, for one error
    broken_at: int | None = None  # the token from which brackets cannot be trusted
    blamed: set[int] = field(default_factory=set)  # tokens about which enough has been said
    quoted: set[int] = field(default_factory=set)  # tokens within a text in quotes
    too_deep: bool = False
    cut_short: bool = False  # by a comment that does not end, which was reported

    def report(self, error: Diagnostic) -> None:
        if len(self.errors) < MOST_LEXICAL_ERRORS:
            self.errors.append(error)


def lex(source: Source) -> Lexed:
    """Split `source`. What is no token is left out and reported in `errors`."""
    out = Lexed()
    text, tokens, first = source.text, out.tokens, True
    quoted = told = -1  # where a text in quotes ends, and what was reported
    long = set[str]()  # names that are too long, each reported once
    for found in _TOKEN.finditer(text):
        kind = found.lastgroup
        word, start = found[0], found.start()
        if kind == "SPACE":
            first = first or "\n" in word
            continue
        if kind == "COMMENT":
            _comment(out, source, word, start, first)
            continue
        within = start < quoted
        if kind == "STRAY" and word[0] in QUOTES and not within:
            quoted = _end_of_quoted(text, start)
        if kind == "STRAY" and start < told:
            continue  # of what was reported
        if kind == "STRAY" and word[0] == ";":
            out.ends.append(Span(source, start, start + len(word)))
        elif kind == "STRAY" and word[0] in CALLED and (said := _called(source, tokens, start)):
            told = start + len(text[start:].partition("\n")[0])  # the rest of its line is of it
            out.report(said)
        elif kind == "STRAY" and word[0] in QUOTES:
            told = quoted
            out.report(stray_quotes(Span(source, start, quoted)))
        elif kind == "STRAY":
            out.report(stray_character(Span(source, start, start + len(word))))
        elif kind == "BLOCK":
            out.report(block_comment(Span(source, start, start + 2), word.endswith("*/")))
            out.cut_short = not word.endswith("*/")
        else:
            name = word if kind == "SIGN" else kind
            assert name is not None
            if within:
                out.quoted.add(len(tokens))
            tokens.append(Token(name, word, start, len(tokens), first))
            if kind == "NUMBER" or kind == "ADDRESS":
                _check_literal(out, source, tokens[-1])
            elif kind == "IDENT" and len(word) > NAME_MOST and word not in long:
                long.add(word)
                out.report(long_name(span(source, tokens[-1]), NAME_MOST))
        first = False
    end = tokens[-1].stop if tokens else 0
    tokens.append(Token("EOF", "", end, len(tokens), True))
    _match_brackets(out, source)
    return out


def _called(source: Source, tokens: list[Token], start: int) -> Diagnostic | None:
    """What to say of `log("…")` and `println!(…)`, by the word that is called."""
    text, brackets = source.text, [t.text for t in tokens[-2:]]
    macro = text[start] == "!"
    if macro and not re.match(r"!\s*[(\[{]", text[start:]):
        return None
    at = -1 if macro else -2
    if len(tokens) < 2 or tokens[at].kind != "IDENT" or (not macro and brackets[-1] != "("):
        return None
    return foreign_call(span(source, tokens[at]), macro)


def _end_of_quoted(text: str, start: int) -> int:
    """Behind the quote that ends what begins at `start`, if its line has one."""
    line = text[start:].partition("\n")[0]
    return start + max(1, line.find(line[0], 1) + 1)


def span(source: Source, token: Token) -> Span:
    return Span(source, token.start, token.stop)


def _comment(out: Lexed, source: Source, text: str, start: int, first: bool) -> None:
    where = Span(source, start, start + len(text.rstrip()))
    if first and text.startswith("///") and not text.startswith("////"):
        out.docs.setdefault(len(out.tokens), []).append(Comment(where, text.rstrip(), True))
    else:
        out.comments.append(Comment(where, plain(text.rstrip()), first))


def plain(text: str) -> str:
    """A comment as an ordinary one: `///` where nothing takes a doc comment is a `//`."""
    return text[1:] if text.startswith("///") and not text.startswith("////") else text


def _check_literal(out: Lexed, source: Source, token: Token) -> None:
    if token.kind == "NUMBER" or DIVIDED.fullmatch(token.text):
        if literals.number(token.text) is None:
            out.report(bad_number(span(source, token)))
    elif literals.address(token.text) is None:
        out.report(bad_address(span(source, token)))


def _match_brackets(out: Lexed, source: Source) -> None:
    """Give every token its depth; report what does not pair."""
    open_: list[Token] = []
    suspect: Token | None = None
    early: tuple[Token, Token] | None = None
    before = ""
    for token in out.tokens:
        kind, word, before = token.kind, before, token.text
        if token.tokenIndex in out.quoted:
            token.depth = len(open_)
        elif kind in _OPEN:
            if kind == "{" and word != "in":  # never inside other brackets, but for sets
                _close_inner(out, source, open_, token)
            token.depth = len(open_)
            open_.append(token)
            if len(open_) > DEEPEST:
                out.report(too_deep(span(source, token), DEEPEST))
                out.too_deep = True
                return
        elif kind in _CLOSE:
            if kind == "}":
                _close_inner(out, source, open_, token)
            if not open_ or _OPEN[open_[-1].kind] != kind:
                _broken(out, early[1] if early else token)
                pair = [span(source, t) for t in early or ()]
                out.report(nothing_to_close(span(source, token), *pair))
                return
            opener = open_.pop()
            token.depth = len(open_)
            if source.text.find("\n", opener.start, token.start) < 0:
                continue
            shift = _indent(source, opener) - _indent(source, token)
            if suspect is None and token.first and shift > 0:
                suspect = opener  # closed by what looks like an outer block's brace
            if early is None and shift < 0:
                early = opener, token  # closed by what looks like an inner block's brace
        else:
            token.depth = len(open_)
    if open_:
        culprit = suspect or open_[-1]
        _broken(out, out.tokens[-1] if out.cut_short else culprit)
        if not out.cut_short:
            out.report(_unclosed(source, culprit, out.tokens[-1]))


def _close_inner(out: Lexed, source: Source, open_: list[Token], token: Token) -> None:
    """A brace ends what `(` and `[` are open: these never hold one."""
    while open_ and open_[-1].kind != "{":
        out.blamed.add(token.tokenIndex)
        out.report(_unclosed(source, open_.pop(), token))


def _broken(out: Lexed, token: Token) -> None:
    if out.broken_at is None:
        out.broken_at = token.tokenIndex


def _unclosed(source: Source, opener: Token, end: Token) -> Diagnostic:
    return unclosed_error(span(source, opener), span(source, end), opener.kind, _OPEN[opener.kind])


def _indent(source: Source, token: Token) -> int:
    """The column in which the line of `token` begins, from 0."""
    start = source.text.rfind("\n", 0, token.start) + 1
    end = start
    while source.text[end].isspace():
        end += 1
    return end - start
