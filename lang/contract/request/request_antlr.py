"""The generated parser of requests, fed with our tokens; the only user of it besides its tests."""

from __future__ import annotations

from typing import Any

from antlr4 import CommonTokenStream, ParserRuleContext, PredictionMode
from antlr4.error.ErrorListener import ErrorListener
from antlr4.ListTokenSource import ListTokenSource
from antlr4.Token import CommonToken, Token

from ...grammar.RequestParser import RequestParser
from .request_tokens import (
    BAD,
    CREATE,
    DELETE,
    IP4,
    IP6,
    MAC,
    NUMBER,
    REPLACE,
    STRAY,
    STRING,
    UPDATE,
    WORD,
    Tokens,
)  # fmt: skip


def _marks() -> dict[str, int]:
    """Token types of the punctuation, by our letter for it."""
    names = RequestParser.literalNames
    spelled = {name.strip("'"): i for i, name in enumerate(names) if name != "<INVALID>"}
    return {mark: spelled[".." if mark == "-" else mark] for mark in ";,:()[]/&-"}


TYPES: dict[str, int] = {
    CREATE: RequestParser.CREATE, UPDATE: RequestParser.UPDATE, DELETE: RequestParser.DELETE,
    REPLACE: RequestParser.REPLACE, NUMBER: RequestParser.NUMBER, IP4: RequestParser.IP4,
    IP6: RequestParser.IP6, MAC: RequestParser.MAC, WORD: RequestParser.WORD,
    STRING: RequestParser.STRING, BAD: RequestParser.BAD_LITERAL, STRAY: RequestParser.STRAY,
    **_marks(),
}  # fmt: skip

# What a parser that stands in this rule wants, in a user's words.
_WANTED = {
    "type": "an element's name",
    "value": "a value",
    "literal": "a value",
    "kind": "the kind of a rule",
    "list_": "a rule or an element",
    "entry": "a rule or an element",
    "item": "a rule or an element",
}


class SyntaxFault(Exception):
    """The entry is not in the grammar. `index` counts all of the request's tokens."""

    def __init__(self, index: int, rule: str, expected: str) -> None:
        super().__init__(expected)
        self.index, self.rule, self.expected = index, rule, expected


class _Listener(ErrorListener):
    def __init__(self, base: int) -> None:
        self.base = base

    def syntaxError(
        self, recognizer: Any, offendingSymbol: Any, line: int, column: int, msg: str, e: Any
    ) -> None:
        rule = recognizer.ruleNames[recognizer._ctx.getRuleIndex()]
        expected = _expected(recognizer, rule)
        raise SyntaxFault(self.base + offendingSymbol.tokenIndex, rule, expected)


def _expected(parser: Any, rule: str) -> str:
    types = {t for interval in parser.getExpectedTokens().intervals or () for t in interval}
    punctuation = [m for m in ("(", ")", "]", ",") if TYPES[m] in types]
    if rule == "type" and TYPES[","] in types:
        return "`,`"
    if rule in _WANTED and TYPES[WORD] in types | {TYPES[WORD]} and rule != "value":
        return _WANTED[rule]
    if rule in ("element", "value") and punctuation:
        return "`,` or `)`" if {",", ")"} <= set(punctuation) else f"`{punctuation[0]}`"
    if rule == "block":
        return "`,` or `]`" if parser._ctx.list_() else "a rule, an element or `]`"
    if punctuation:
        return " or ".join(f"`{m}`" for m in punctuation)
    return "`,` or the end of the change" if rule == "oneChange" else "a rule or an element"


def parse_entry(found: Tokens, verb: int, start: int, end: int) -> ParserRuleContext:
    """The tree of a change that has one entry, tokens [start, end): the verb is token 0, the
    entry's count from 1. Raises `SyntaxFault`."""
    made: list[Any] = []
    for number, i in enumerate((verb, *range(start, end))):
        token = CommonToken(type=TYPES[found.kinds[i]])
        token.text = found.texts[i]
        token.tokenIndex = number
        made.append(token)
    last = CommonToken(type=Token.EOF)
    last.text, last.tokenIndex = "", len(made)
    made.append(last)
    parser = RequestParser(CommonTokenStream(ListTokenSource(made)))
    parser._interp.predictionMode = PredictionMode.SLL
    parser.removeErrorListeners()
    parser.addErrorListener(_Listener(start - 1))
    return parser.oneChange().change()
