"""Text with a name, and places in it."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path, PurePath

#: What the text of a request is called that was not read from a file, and packed rules.
REQUEST, PACKED = "<request>", "<columns>"


@dataclass(frozen=True, eq=False)
class Source:
    """A file's text. `name` is what diagnostics show; offsets count characters from 0."""

    name: str
    text: str
    path: Path | None = None

    @cached_property
    def _starts(self) -> list[int]:
        starts = [0]
        starts.extend(i + 1 for i, c in enumerate(self.text) if c == "\n")
        return starts

    @property
    def file(self) -> str:
        """The name without its folders."""
        return PurePath(self.name).name

    def position(self, offset: int) -> tuple[int, int]:
        """(line, column) of an offset, both counted from 1."""
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1

    def line(self, number: int) -> str:
        """The text of line `number` (from 1), without its line end."""
        if not 1 <= number <= len(self._starts):
            return ""
        start = self._starts[number - 1]
        end = self.text.find("\n", start)
        return self.text[start : len(self.text) if end < 0 else end].rstrip("\r")

    def span(self, start: int, end: int) -> Span:
        return Span(self, start, max(start, end))


@dataclass(frozen=True, eq=False)
class Row(Source):
    """All there is to show of a row (from 0) of packed rules: its text says which it is, and the
    column if one is meant."""

    kind: str = ""
    row: int = 0
    column: str = ""

    @classmethod
    def of(cls, name: str, kind: str, row: int, column: str) -> Row:
        text = f"{kind}, rule {row + 1}" + (f", {column}" if column else "")
        return cls(name, text, None, kind, row, column)


@dataclass(frozen=True)
class Span:
    """The characters [start, end) of a source."""

    source: Source = field(repr=False)
    start: int
    end: int

    @property
    def line(self) -> int:
        return self.source.position(self.start)[0]

    @property
    def column(self) -> int:
        return self.source.position(self.start)[1]

    @property
    def text(self) -> str:
        return self.source.text[self.start : self.end]

    def to(self, other: Span) -> Span:
        """From the start of this span to the end of `other`."""
        return Span(self.source, self.start, max(self.end, other.end))

    def __str__(self) -> str:
        return f"{self.source.name}:{self.line}:{self.column}"


NOWHERE = Span(Source("<none>", ""), 0, 0)
