"""Text of a `.hp` file to its tree.

The generated parser runs twice at most: first bare, and only if that fails again with an error
strategy that says what would fit and finds a place to go on, so that one run shows several errors.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from antlr4.error.Errors import InputMismatchException, RecognitionException
from antlr4.error.ErrorStrategy import ErrorStrategy

from ..grammar.HelioParser import HelioParser
from ..text.diagnostics import Diagnostic, Diagnostics, Label, Refused, did_you_mean
from ..text.source import Source, Span
from ..tree import Program
from . import syntax_hints
from .foreign_files import foreign_file
from .lexer import Lexed, Token, lex, span
from .lexer_errors import stray_ends
from .program import build
from .syntax_place import Place

LARGEST_FILE = 1 << 20
"""Bytes."""
MOST_TOKENS = 100_000
"""Words and signs of one file: some hundred pipelines."""
MOST_ERRORS = 10
"""Limit of syntax errors that are shown for one file."""

_TYPES = {text.strip("'"): i for i, text in enumerate(HelioParser.literalNames) if i}
_KINDS = {"IDENT": HelioParser.IDENT, "NUMBER": HelioParser.NUMBER, "ADDRESS": HelioParser.ADDRESS}
_KINDS |= {"EOF": -1}
_WORDS = {text: number for text, number in _TYPES.items() if text[0].isalpha()}
_TEXTS = {number: text for text, number in {**_TYPES, **_KINDS}.items()}

# Rules that are a list of things in braces, and the things: where reading can go on.
_LISTS = {
    "file",
    "header",
    "member",
    "fieldRest",
    "pipeline",
    "graph",
    "rule_",
    "block",
    "matchOn",
    "chain",
    "tlv",
}
_ITEMS = {
    "importLine",
    "header",
    "member",
    "field",
    "pipeline",
    "declaration",
    "edge",
    "clause",
    "chainMember",
    "tlvOption",
}
_ITEMS |= {"statement", "arm", "file"}
_LIST_RULES = frozenset(map(HelioParser.ruleNames.index, _LISTS))
_ITEM_RULES = frozenset(map(HelioParser.ruleNames.index, _ITEMS))
_LOOPS = frozenset((9, 10))  # STAR_LOOP_BACK and STAR_LOOP_ENTRY of ANTLR's ATNState


def parse(source: Source, as_before: bool = False) -> Program:
    """The tree of `source`. Raises `Refused` with every syntax error found. `as_before`: operators
    bind by the precedence before that of P4-16, for `fmt --migrate`."""
    try:
        return _parsed(source, as_before)
    except Refused as refused:
        other = foreign_file(source)
        raise Refused([other] if other else refused.diagnostics) from None


def _parsed(source: Source, as_before: bool) -> Program:
    lexed = lex(source)
    found = Diagnostics(lexed.errors)
    if len(lexed.tokens) > MOST_TOKENS:
        where = span(source, lexed.tokens[MOST_TOKENS])
        raise Refused([_too_many_words(where, MOST_TOKENS)])
    if lexed.too_deep:
        found.stop_if_errors()
    _number(lexed.tokens)
    try:
        context = _Parser(_Stream(lexed.tokens), _Bare()).file_()
    except _GiveUp:
        strategy = _Careful(source, lexed)
        _Parser(_Stream(lexed.tokens), strategy).file_()
        found.extend(strategy.errors)
        context = None
    if context is not None:
        program, errors_of_tree = build(source, lexed, context, as_before)
        found.extend(errors_of_tree)
    said = {d.span.line for d in found.found if d.span}
    if ends := [end for end in lexed.ends if end.line not in said]:
        found.add(stray_ends(ends))
    found.found.sort(key=lambda d: d.span.start if d.span else 0)
    found.stop_if_errors()
    return program


def read(path: Path, name: str | None = None) -> Source:
    """The file at `path` as a source that diagnostics call `name`. Raises `Refused` if it cannot
    be read, is larger than `LARGEST_FILE` or is not UTF-8."""
    source = Source(name or str(path), "", path)
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST_FILE + 1)
            size = max(len(data), path.stat().st_size)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise Refused([_unreadable(source, why.lower(), _near(path))]) from error
    if len(data) > LARGEST_FILE:
        raise Refused([_too_large(source, size, LARGEST_FILE)])
    data = data.removeprefix(b"\xef\xbb\xbf")
    try:
        return Source(source.name, data.decode(), path)
    except UnicodeDecodeError as error:
        before = data[: error.start].decode()
        shown = Source(source.name, before + data[error.start :].decode(errors="replace"), path)
        where = shown.span(len(before), len(before) + 1)
        raise Refused([_not_utf8(where, data[error.start])]) from error


def _near(path: Path) -> str:
    """The file beside it that may have been meant."""
    try:
        names = [] if path.exists() else [p.name for p in path.parent.iterdir() if p.is_file()]
    except (OSError, ValueError):
        return ""
    near = did_you_mean(path.name, names)
    return near.replace("`", f"`{path.parent}/", 1) if near and path.parent != Path() else near


def _number(tokens: list[Token]) -> None:
    words, types = _WORDS, _TYPES
    identifier = _KINDS["IDENT"]
    for token in tokens:
        if token.kind == "IDENT":
            token.type = words.get(token.text, identifier)
            if token.type != identifier:
                token.kind = token.text
        else:
            token.type = types.get(token.kind) or _KINDS[token.kind]


class _Stream:
    """What the generated parser and its prediction ask of a token stream."""

    def __init__(self, tokens: list[Token]) -> None:
        self.tokens = tokens
        self.index = 0
        self.last = len(tokens) - 1

    def LA(self, offset: int) -> int:
        return self.tokens[min(self.index + offset - 1, self.last)].type

    def LT(self, offset: int) -> Token | None:
        index = self.index + (offset - 1 if offset > 0 else offset)
        return self.tokens[min(index, self.last)] if index >= 0 else None

    def get(self, index: int) -> Token:
        return self.tokens[index]

    def consume(self) -> None:
        if self.index < self.last:
            self.index += 1

    def mark(self) -> int:
        return -1

    def release(self, marker: int) -> None:
        pass

    def seek(self, index: int) -> None:
        self.index = index


class _Parser(HelioParser):
    """The generated parser, without features that are not needed here."""

    def __init__(self, stream: _Stream, strategy: ErrorStrategy) -> None:
        super().__init__(stream)
        self._errHandler = strategy

    def consume(self) -> Token:
        """Put the token itself into the tree, where the base class makes a node of it."""
        stream = self._input
        token: Token = stream.tokens[stream.index]
        if stream.index < stream.last:
            stream.index += 1
        children = self._ctx.children
        if children is None:
            self._ctx.children = [token]
        else:
            children.append(token)
        return token

    def match(self, ttype: int) -> Token:
        stream = self._input
        if stream.tokens[stream.index].type == ttype:
            return self.consume()
        token: Token = self._errHandler.recoverInline(self)
        return token


class _GiveUp(Exception):
    """The text has a syntax error; `_Careful` will say which."""


class _Bare(ErrorStrategy):
    """No error handling at all: the grammar is LL(1), so most of it would only compute."""

    def reset(self, recognizer: Any) -> None:
        pass

    def reportMatch(self, recognizer: Any) -> None:
        pass

    def sync(self, recognizer: Any) -> None:
        pass

    def recoverInline(self, recognizer: Any) -> Token:
        raise _GiveUp

    def reportError(self, recognizer: Any, error: RecognitionException) -> None:
        raise _GiveUp


class _Careful(ErrorStrategy):
    """Notes each error once, then goes on at the next line of the same depth."""

    def __init__(self, source: Source, lexed: Lexed) -> None:
        self.source = source
        self.lexed = lexed
        self.errors: list[Diagnostic] = []
        self.recovering = False
        self.stop = False
        self.seen: dict[int, set[str]] = {}  # words that could have stood at a token
        # Where characters are missing from the tokens, the grammar's complaints mean little.
        self.silent = {d.span.line for d in lexed.errors if d.span}

    def reset(self, recognizer: Any) -> None:
        pass

    def reportMatch(self, recognizer: Any) -> None:
        pass

    def inErrorRecoveryMode(self, recognizer: Any) -> bool:
        return False

    def sync(self, recognizer: Any) -> None:
        """Called before each optional part and each turn of a loop."""
        state = recognizer._interp.atn.states[recognizer.state]
        expected = recognizer.atn.nextTokens(state)
        self._note(recognizer, expected)
        stream = recognizer._input
        if stream.LA(1) in expected or -2 in expected:  # -2: the rule may end here
            return
        looping = state.stateType in _LOOPS
        if not looping or recognizer._ctx.getRuleIndex() not in _LIST_RULES or stream.LA(1) == -1:
            raise InputMismatchException(recognizer)
        fits = {-1, *expected}
        while stream.LA(1) not in fits:
            self._report(recognizer, expected)
            self._skip(stream, stream.tokens[stream.index])

    def recoverInline(self, recognizer: Any) -> Token:
        raise InputMismatchException(recognizer)

    def reportError(self, recognizer: Any, error: RecognitionException) -> None:
        if not self.recovering:
            self.recovering = True
            expected = recognizer.getExpectedTokens()
            self._note(recognizer, expected)
            self._report(recognizer, expected)

    def recover(self, recognizer: Any, error: RecognitionException) -> None:
        if recognizer._ctx.getRuleIndex() not in _ITEM_RULES:
            raise error
        self._skip(recognizer._input, recognizer._ctx.start)
        self.recovering = False

    def _skip(self, stream: _Stream, item: Token) -> None:
        """Go to the next line as deep as the `item` that failed, or to the end around it."""
        token = stream.tokens[stream.index]
        if token is item:
            stream.consume()
        while token.kind != "EOF":
            token = stream.tokens[stream.index]
            if token.depth < item.depth:
                return
            if token.depth == item.depth and token.first and token.kind not in "})]":
                return
            stream.consume()

    def _note(self, recognizer: Any, expected: Any) -> None:
        texts = {_TEXTS[t] for t in expected if t in _TEXTS}
        if "IDENT" in texts:  # words that would stand there as names are no suggestion
            texts &= syntax_hints.HARD
        self.seen.setdefault(recognizer._input.index, set()).update(texts)

    def _report(self, recognizer: Any, expected: Any) -> None:
        stream = recognizer._input
        broken = self.lexed.broken_at
        if broken is not None and stream.index >= broken:
            return
        if len(self.errors) >= MOST_ERRORS or stream.index in self.lexed.blamed:
            return
        near = self.lexed.tokens[max(0, stream.index - 1) : stream.index + 1]
        if any(self.source.position(token.start)[0] in self.silent for token in near):
            return
        texts = {_TEXTS[t] for t in expected if t in _TEXTS}
        rules = tuple(_rules(recognizer._ctx))
        tokens = self.lexed.tokens
        place = Place(self.source, tokens, stream.index, rules, texts, self.seen)
        self.errors.append(syntax_hints.explain(place))


def _rules(context: Any) -> Iterator[str]:
    """The grammar's rules that are being read, innermost first."""
    while context is not None:
        yield HelioParser.ruleNames[context.getRuleIndex()]
        context = context.parentCtx


# ---- errors ---------------------------------------------------------------------------------


def _unreadable(source: Source, why: str, hint: str = "") -> Diagnostic:
    return Diagnostic("H0109", f"cannot read {source.name}: {why}", (), hint)


def _not_utf8(where: Span, byte: int) -> Diagnostic:
    labels = (Label(where, f"the byte 0x{byte:02x} stands here"),)
    return Diagnostic("H0110", "this file is not UTF-8 text", labels, "save it as UTF-8")


def _too_large(source: Source, size: int, limit: int) -> Diagnostic:
    return Diagnostic(
        "H0111",
        f"{source.name} is too large: {size} bytes",
        (),
        f"a pipeline file has at most {limit} bytes",
    )


def _too_many_words(where: Span, limit: int) -> Diagnostic:
    labels = (Label(where, f"word {limit + 1}"),)
    title = "this file is too large"
    return Diagnostic(
        "H0111", title, labels, f"a pipeline file has at most {limit} words and signs"
    )
