"""Lines of canonical text, and the comments of the source put back among them."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property

from ..text.render import len_on_screen
from ..text.source import Source
from ..tree import Comment
from .fold import WIDEST, fold

INDENT = "  "


@dataclass
class Line:
    """One line of output, and the part [start, end) of the source that it was made from."""

    depth: int
    start: int
    end: int
    blank: bool  # an empty line above
    text: str = ""
    hang: int = 0  # of what is broken, in columns; 0: as usual

    def fits(self, text: str) -> bool:
        return len(INDENT) * self.depth + len(self.text) + len(text) <= WIDEST


@dataclass
class _Entry:
    """A line with what is to be said behind it, or (without a line) a comment of its own."""

    depth: int
    text: str
    blank: bool
    comment: Comment | None = None
    indent: int = 0  # of the line in the source
    continued: bool = False  # a comment of its own that goes on with the one above it
    hang: int = 0

    @cached_property
    def code(self) -> str:
        """Of several lines where one would be too long: right of a block that follows."""
        hang = self.hang or len(INDENT) * (1 + self.text.endswith("{"))
        margin = len(INDENT) * self.depth
        line = " " * margin + self.text if self.text else ""
        return line if self.text.startswith("///") else "\n".join(fold(line, margin + hang))

    @property
    def width(self) -> int:
        """Of the last line."""
        return len(self.code.rpartition("\n")[2])


class Layout:
    """Collects lines. `begin` opens one, `write` adds to it; the next `begin` closes it."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.lines: list[Line] = []

    def begin(self, depth: int, start: int, blank: bool = False) -> None:
        self.lines.append(Line(depth, start, start, blank))

    def write(self, text: str, end: int) -> None:
        line = self.lines[-1]
        line.text += text
        line.end = max(line.end, end)

    def fits(self, text: str) -> bool:
        """Whether `text` has room in the line that was begun."""
        return self.lines[-1].fits(text)

    def gap(self, start: int, doc: bool = False) -> bool:
        """Whether the source has an empty line above the thing that begins its line at `start`,
        or above its doc comment."""
        source = self.source
        number, column = source.position(start)
        before = source.line(number)[: column - 1].strip()
        if before not in ("", "match", "import"):
            return False
        number -= 1
        while doc and source.line(number).lstrip().startswith("///"):
            number -= 1
        return number > 0 and not source.line(number).strip()

    def text(self, comments: tuple[Comment, ...]) -> str:
        """Everything, with `comments` behind or between the lines that they were at."""
        entries = self._place(comments)
        out: list[str] = []
        for run in _runs(entries):
            column = _column(run)
            for entry in run:
                if entry.blank and out:
                    out.append("")
                out.append(_spell(entry, column))
        return "\n".join(out) + "\n" if out else ""

    def _place(self, comments: tuple[Comment, ...]) -> list[_Entry]:
        starts = [line.start for line in self.lines]
        before: dict[int, list[Comment]] = {}
        behind: dict[int, Comment] = {}
        for comment in comments:
            i = bisect_right(starts, comment.span.start) - 1
            if i >= 0 and comment.span.start < self.lines[i].end:
                while i > 0 and starts[i - 1] == starts[i]:
                    i -= 1  # above the doc comment too
                before.setdefault(i, []).append(comment)
            elif i >= 0 and not comment.own_line and i not in behind and i + 1 not in before:
                behind[i] = comment
            else:
                before.setdefault(i + 1, []).append(comment)
        entries: list[_Entry] = []
        for i, line in enumerate(self.lines):
            self._own_lines(entries, before.get(i, []), self._depth_above(i))
            said = behind.get(i)
            indent = self._indent_of(said) if said else 0
            entries.append(_Entry(line.depth, line.text, line.blank, said, indent, hang=line.hang))
        self._own_lines(entries, before.get(len(self.lines), []), 0)
        return entries

    def _depth_above(self, i: int) -> int:
        """How deep a comment above line `i` stands: inside the braces that the line closes."""
        line = self.lines[i]
        return line.depth + line.text.startswith("}")

    def _own_lines(self, entries: list[_Entry], comments: list[Comment], depth: int) -> None:
        for comment in comments:
            above = entries[-1] if entries else None
            blank = self.gap(comment.span.start) if comment.own_line else False
            if comment.own_line and above is not None and self._goes_on(above, comment):
                entries.append(_Entry(depth, "", blank, comment, above.indent, True))
            else:
                entries.append(_Entry(depth, "", blank, comment))

    def _goes_on(self, above: _Entry, comment: Comment) -> bool:
        """Whether a comment on the next line hangs: it begins right of the line that the one above
        stands behind, how far does not matter. Behind a line that opens a block it is inside."""
        if above.comment is None or not (above.continued or above.text):
            return False
        if above.text.endswith("{"):
            return False
        next_line = self._line_of(above.comment) + 1 == self._line_of(comment)
        return next_line and self._indent_of(comment) > above.indent

    def _line_of(self, comment: Comment) -> int:
        return self.source.position(comment.span.start)[0]

    def _indent_of(self, comment: Comment) -> int:
        """Columns on the screen in front of a comment's line."""
        line = self.source.line(self._line_of(comment))
        return len_on_screen(line[: len(line) - len(line.lstrip())])


def _column(run: list[_Entry]) -> int:
    """Where the comments behind a run of lines stand: two columns behind the longest."""
    return 2 + max((e.width for e in run if e.comment and e.text), default=0)


def _runs(entries: list[_Entry]) -> list[list[_Entry]]:
    """Entries whose comments are aligned: not across empty lines and the ends of blocks."""
    runs: list[list[_Entry]] = []
    for entry in entries:
        above = runs[-1][-1].text if runs else "{"
        separate = entry.blank or above.endswith("{") or entry.text.startswith("}")
        if not runs or (separate and not entry.continued):
            runs.append([])
        runs[-1].append(entry)
    return runs


def _spell(entry: _Entry, column: int) -> str:
    if entry.comment is None:
        return entry.code
    if entry.text or entry.continued:
        return entry.code + " " * (column - entry.width) + entry.comment.text
    return INDENT * entry.depth + entry.comment.text
