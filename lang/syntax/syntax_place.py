"""Where parsing stopped."""

from __future__ import annotations

from ..text.frozen import Frozen
from ..text.source import Source, Span
from .lexer import Token


class Place(Frozen):
    """Where parsing stopped: the token, the rules being parsed (innermost first), the expected
    tokens, and the words that were acceptable at this and earlier tokens."""

    source: Source
    tokens: list[Token]
    index: int
    rules: tuple[str, ...]
    expected: set[str]
    seen: dict[int, set[str]]

    @property
    def token(self) -> Token:
        return self.tokens[self.index]

    @property
    def rule(self) -> str:
        return self.rules[0]

    def begins(self, index: int) -> bool:
        """Whether that token is the first of a line or follows a brace."""
        return self.tokens[index].first or self.tokens[index - 1].text in ("{", "}")

    def span(self, index: int, count: int = 1) -> Span:
        """The place of `count` tokens, beginning with `index`."""
        last = self.tokens[min(index + count, len(self.tokens)) - 1]
        return self.source.span(self.tokens[index].start, last.stop)
