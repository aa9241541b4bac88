"""The tokens of a request, made by one regular expression.

They are those of `Request.g4` (a test compares), some twenty times faster than the generated lexer.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from ...text.source import Source

# One letter a kind: the letters of a change are its shape.
CREATE, UPDATE, DELETE, REPLACE = "c", "u", "d", "r"
NUMBER, IP4, IP6, MAC, WORD, STRING = "n", "4", "6", "m", "w", "s"
BAD, STRAY = "b", "?"
VERBS = {"create": CREATE, "update": UPDATE, "delete": DELETE, "replace": REPLACE}

_HEX = "[0-9a-f]++"
_FLAGS = re.VERBOSE | re.IGNORECASE | re.DOTALL | re.ASCII
# Groups are not repeated possessively, which Python 3.11.2 gets wrong; nor without end, which takes
# the square of the time where no address comes of it: an address has eight.
_TOKEN = re.compile(
    rf"""(?:\s++|//[^\n]*+)*(?:
      (?=[0-9a-f]*+:)(?:
        (?P<six>(?:{_HEX}:){{0,64}}(?:{_HEX}:|:):(?:{_HEX}(?::{_HEX})*)? | (?:{_HEX}:){{7}}{_HEX})
      | (?P<mac>(?:[0-9a-f]{{2}}:){{5}}[0-9a-f]{{2}}))
    | (?P<word>[a-z_][a-z0-9_]*+(?:[-.][a-z0-9_]++)*)
    | (?P<four>[0-9]++\.[0-9]++\.[0-9]++\.[0-9]++(?![a-z0-9_]|\.[a-z0-9_]))
    | (?P<number>(?:0x[0-9a-f]++|[0-9]++)(?![a-z0-9_]|\.[a-z0-9_]))
    | (?P<string>"[^"\r\n]*+")
    | (?P<mark>\.\.|[;,:()\[\]/&])
    | (?P<bad>[0-9][a-z0-9_]*+(?:\.[a-z0-9_]++)*)
    | (?P<stray>.)
    | (?P<end>\Z)
    )""",
    _FLAGS,
)
_KINDS = {"six": IP6, "mac": MAC, "four": IP4, "number": NUMBER, "string": STRING, "bad": BAD}
_LETTERS = ["", *(_KINDS.get(name, STRAY) for name in _TOKEN.groupindex)]
_WORD_GROUP = _TOKEN.groupindex["word"]
_MARK_GROUP = _TOKEN.groupindex["mark"]
_END_GROUP = _TOKEN.groupindex["end"]
_MOST_GROUPS = 64
_PLAIN_WORD = re.compile(r"[a-z_][a-z0-9_]*(?:[-.][a-z0-9_]+)*", re.IGNORECASE | re.ASCII)


class Tokens(NamedTuple):
    """Columns of a token list: letters of the kinds (`..` is "-"), spellings, first and last
    offsets."""

    kinds: str
    texts: Sequence[str]
    starts: Sequence[int]
    ends: Sequence[int]


def tokens(source: Source) -> Tokens:
    kinds: list[str] = []
    texts: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    for match in _TOKEN.finditer(source.text):
        group = match.lastindex
        if group is None or group == _END_GROUP:
            break
        text = match[group]
        if group == _WORD_GROUP:
            kinds.append(VERBS.get(text.lower(), WORD))
        elif group == _MARK_GROUP:
            kinds.append(text[0] if text != ".." else "-")
        else:
            kinds.append(_LETTERS[group])
        texts.append(text)
        start, end = match.span(group)
        starts.append(start)
        ends.append(end)
    return Tokens("".join(kinds), texts, starts, ends)


_SKIP = r"\s*+(?://[^\n]*+\s*+)*"
_ENDS = r"(?![a-z0-9_]|[-.][a-z0-9_])"
_SPELLED = {
    WORD: rf"(?!(?:{'|'.join(VERBS)}){_ENDS})[a-z_][a-z0-9_]*(?:[-.][a-z0-9_]+)*{_ENDS}",
    IP4: r"[0-9]+\.[0-9]+\.[0-9]+\.[0-9]+(?![a-z0-9_]|\.[a-z0-9_])",
    NUMBER: r"(?:0x[0-9a-f]+|[0-9]+)(?![a-z0-9_]|\.[a-z0-9_])",
    STRING: r'"[^"\r\n]*"',
    **{letter: verb + _ENDS for verb, letter in VERBS.items()},
    **{mark: re.escape(mark) for mark in ",()[]&"},
    "/": "/(?!/)",
    "-": r"\.\.",
}


def expression_of(kinds: str) -> re.Pattern[str] | None:
    """What the whole text of a request with these kinds of tokens matches, a group a token. None
    where that cannot be said so simply: a `:` may be a part of an address."""
    if len(kinds) > _MOST_GROUPS or not _SPELLED.keys() >= set(kinds):
        return None
    parts = [f"({_SPELLED[kind]})" for kind in kinds]
    return re.compile(_SKIP + _SKIP.join(parts) + rf"{_SKIP};?{_SKIP}", _FLAGS)


def is_word(text: str) -> bool:
    """A name that needs no quotes."""
    return _PLAIN_WORD.fullmatch(text) is not None and text.lower() not in VERBS
