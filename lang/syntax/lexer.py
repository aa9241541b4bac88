"""Text to tokens, as `Helio.g4` has them, but some ten times faster than the generated lexer.

A test compares the two. Comments come out beside the tokens, because the grammar does not see them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from ..text import literals
from ..text.diagnostics import Diagnostic, Label
from ..text.source import Source, Span
from ..tree import Comment

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
    broken_at: int | None = None  # the token from which brackets cannot be trusted
    blamed: set[int] = field(default_factory=set)  # tokens about which enough has been said
    too_deep: bool = False

    def report(self, error: Diagnostic) -> None:
        if len(self.errors) < MOST_LEXICAL_ERRORS:
            self.errors.append(error)


def lex(source: Source) -> Lexed:
    """Split `source`. What is no token is left out and reported in `errors`."""
    out = Lexed()
    text, tokens, first = source.text, out.tokens, True
    quoted = -1  # where a text in quotes begins
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
        if kind == "STRAY" and word[0] == '"':
            again = 0 <= quoted < start and "\n" not in text[quoted:start]
            quoted = -1 if again else start
            if again and len(word) == 1:
                continue  # the end of what was reported
        if kind == "STRAY":
            out.report(_stray_character(Span(source, start, start + len(word))))
        elif kind == "BLOCK":
            out.report(_block_comment(Span(source, start, start + 2)))
        else:
            name = word if kind == "SIGN" else kind
            assert name is not None
            tokens.append(Token(name, word, start, len(tokens), first))
            if kind == "NUMBER" or kind == "ADDRESS":
                _check_literal(out, source, tokens[-1])
            elif kind == "IDENT" and len(word) > NAME_MOST and word not in long:
                long.add(word)
                out.report(_long_name(span(source, tokens[-1]), NAME_MOST))
        first = False
    end = tokens[-1].stop if tokens else 0
    tokens.append(Token("EOF", "", end, len(tokens), True))
    _match_brackets(out, source)
    return out


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
    if token.kind == "NUMBER":
        if literals.number(token.text) is None:
            out.report(_bad_number(span(source, token)))
    elif literals.address(token.text) is None:
        out.report(_bad_address(span(source, token)))


def _match_brackets(out: Lexed, source: Source) -> None:
    """Give every token its depth; report what does not pair."""
    open_: list[Token] = []
    suspect: Token | None = None
    early: tuple[Token, Token] | None = None
    before = ""
    for token in out.tokens:
        kind, word, before = token.kind, before, token.text
        if kind in _OPEN:
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
                _broken(out, token)
                pair = [span(source, t) for t in early or ()]
                out.report(_nothing_to_close(span(source, token), *pair))
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
        _broken(out, culprit)
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
    return _unclosed_error(span(source, opener), span(source, end), opener.kind, _OPEN[opener.kind])


def _indent(source: Source, token: Token) -> int:
    """The column in which the line of `token` begins, from 0."""
    start = source.text.rfind("\n", 0, token.start) + 1
    end = start
    while source.text[end].isspace():
        end += 1
    return end - start


# ---- errors ---------------------------------------------------------------------------------


_INSTEAD = {
    ";": "a line needs no `;` at its end",
    "#": "a comment begins with `//`",
    '"': 'names and values stand without quotes; only rules match a text: `(qname, "a.example")`',
    "'": "names and values stand without quotes",
    "`": "names and values stand without quotes",
    "!": "write `not` for a negation, `!=` for a comparison",
    "?": "write `if` … `else` …",
    "\ufeff": "a byte order mark may only stand at the beginning of the file",
    "\u00a0": "this is a no-break space: write an ordinary one",
    "\u2013": "write `-`",
    "→": "write `->`",
    "⇒": "write `=>`",
    "…": "write `..`",
    "≤": "write `<=`",
    "≥": "write `>=`",
    "≠": "write `!=`",
}


def _unclosed_error(opener: Span, end: Span, bracket: str, closer: str) -> Diagnostic:
    what = "the file ends" if not end.text else f"`{end.text}` comes"
    labels = (Label(opener, "opened here"), Label(end, f"{what} before the `{closer}`"))
    return Diagnostic("H0102", f"this `{bracket}` is never closed", labels, f"add a `{closer}`")


def _nothing_to_close(
    where: Span, opener: Span | None = None, closer: Span | None = None
) -> Diagnostic:
    """`closer` is what looks as if it were one too many, `opener` what it closes."""
    labels = [Label(where, "nothing is open that it could close")]
    if opener and closer:
        labels.append(Label(closer, f"this one has closed the `{{` of line {opener.line}"))
    title, hint = f"this `{where.text}` closes nothing", "remove it, or add its beginning"
    return Diagnostic("H0103", title, tuple(labels), hint)


_TIME = re.compile(r"\d+(?:ns|us|ms|s|min|h)")


def _bad_number(where: Span) -> Diagnostic:
    text = where.text
    hint = "write decimal `17`, hexadecimal `0x11`, or binary thousands `4k` (4096) and `1M`"
    if text[:2].lower() in ("0b", "0o"):
        hint = "write it as a decimal or hexadecimal (`0x…`) number"
    elif text[:2] == "0X":
        hint = f"did you mean `0x{text[2:]}`?"
    elif text[-1:] in "Km" and text[:-1].isdigit():
        hint = f"did you mean `{text.swapcase()}`?"
    elif _TIME.fullmatch(text):
        hint = "a time is a number of its own unit: `ages 30` are seconds, `now` counts nanoseconds"
    elif literals.looks_like_number(text):
        hint = "the largest number is 128 bits wide"
    return Diagnostic("H0104", "this is not a number", (Label(where, "cannot be read"),), hint)


def _bad_address(where: Span) -> Diagnostic:
    hint = "write IPv4 as `10.0.0.1`, IPv6 as `2001:db8::1`, MAC as `02:00:00:00:00:01`"
    return Diagnostic("H0105", "this is not an address", (Label(where, "cannot be read"),), hint)


def _stray_character(where: Span) -> Diagnostic:
    character = where.text[0]
    shown = f"`{character}`" if character.isprintable() else f"the character U+{ord(character):04X}"
    what = f"{shown} means nothing here" if len(where.text) == 1 else "these mean nothing here"
    hint = _INSTEAD.get(character, "")
    if not hint and character.isalpha():
        hint = "names are made of the letters a-z and A-Z, digits and `_`"
    return Diagnostic("H0106", what, (Label(where, "not part of the language"),), hint)


def _long_name(where: Span, limit: int) -> Diagnostic:
    labels = (Label(where, f"{len(where.text)} letters, digits and `_`"),)
    hint = f"a name has at most {limit}, such as `{where.text[:24].rstrip('_')}`"
    return Diagnostic("H0118", "this name is too long", labels, hint)


def too_deep(where: Span, limit: int) -> Diagnostic:
    labels = (Label(where, f"this is level {limit + 1}"),)
    return Diagnostic(
        "H0108",
        "this is nested too deeply",
        labels,
        f"at most {limit} levels are read: split it into stages, actions or shorter expressions",
    )


def _block_comment(where: Span) -> Diagnostic:
    labels = (Label(where, "this begins no comment"),)
    return Diagnostic(
        "H0112", "comments go to the end of the line", labels, "begin each line of it with `//`"
    )
