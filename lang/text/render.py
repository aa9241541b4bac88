"""A diagnostic as the framed text that a terminal shows."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from itertools import groupby

from .diagnostics import Diagnostic, Label
from .frozen import Frozen
from .source import Source

TAB = 4
"""Columns to which a tab is widened."""
_WIDEST = 120
"""Of a longer line only the part around the labels is shown."""
_MOST_LINES = 4
"""A span over more lines is shown by its first and last."""

_RESET = "\x1b[0m"
BOLD = "\x1b[1m"
BLUE = "\x1b[1;34m"
ERROR = "\x1b[1;31m"
WARNING = "\x1b[1;33m"
_SEVERITY = {"error": ERROR, "warning": WARNING}


def render(diagnostic: Diagnostic, colour: bool = False) -> str:
    """The whole diagnostic, without a line end behind its last line."""
    severity = diagnostic.severity
    head = paint(f"{severity}[{diagnostic.code}]", _SEVERITY[severity], colour)
    lines = [head + paint(f": {_clean(diagnostic.title)}", BOLD, colour)]
    numbers = [n for label in diagnostic.labels for n in _lines_of(label)]
    width = len(str(max(numbers, default=1)))
    culprit = diagnostic.labels[0] if diagnostic.labels else None
    for i, (source, labels) in enumerate(_by_source(diagnostic.labels)):
        first = labels[0].span
        arrow = "-->" if i == 0 else ":::"
        place = f"{_clean(source.name)}:{first.line}:{first.column}"
        lines.append(paint(f"{' ' * width}{arrow} ", BLUE, colour) + place)
        lines.extend(_excerpt(source, labels, culprit, width, _SEVERITY[severity], colour))
    if diagnostic.help:
        bar = paint(f"{' ' * width} = ", BLUE, colour)
        indent = " " * (width + len(" = help: "))
        text = f"\n{indent}".join(_clean(line) for line in diagnostic.help.split("\n"))
        lines.append(f"{bar}{paint('help', BOLD, colour)}: {text}")
    return "\n".join(lines)


def render_all(diagnostics: Iterable[Diagnostic], colour: bool = False) -> str:
    """All of them, an empty line between each two, with a line end; empty if there are none."""
    texts = [render(d, colour) for d in diagnostics]
    return "\n\n".join(texts) + "\n" if texts else ""


def _by_source(labels: tuple[Label, ...]) -> list[tuple[Source, list[Label]]]:
    """Labels by file: the culprit's file first, the others in order of mention."""
    groups: dict[int, tuple[Source, list[Label]]] = {}
    for label in labels:
        groups.setdefault(id(label.span.source), (label.span.source, []))[1].append(label)
    return list(groups.values())


def _lines_of(label: Label) -> list[int]:
    """The numbers of the lines that show `label`."""
    first = label.span.line
    last = label.span.source.position(max(label.span.start, label.span.end - 1))[0]
    if last - first < _MOST_LINES:
        return list(range(first, last + 1))
    return [first, last]


class _Mark(Frozen):
    """The part of a label that lies on one line: characters [start, end), counted from 0."""

    line: int
    start: int
    end: int
    text: str
    primary: bool


def _excerpt(
    source: Source, labels: list[Label], culprit: Label | None, width: int, hue: str, colour: bool
) -> list[str]:
    marks = [mark for label in labels for mark in _marks(source, label, label is culprit)]
    marks.sort(key=lambda mark: (mark.line, -mark.start))
    bar = paint(f"{' ' * width} |", BLUE, colour)
    lines: list[str] = []
    previous = None
    for number, found in groupby(marks, key=lambda mark: mark.line):
        if previous is not None and number > previous + 1:
            lines.append(paint("...", BLUE, colour))
        previous = number
        group = list(found)
        line, cut = _window(source.line(number), min(mark.start for mark in group))
        gutter = paint(f"{number:>{width}} |", BLUE, colour)
        lines.append(f"{gutter} {_shown(line)}".rstrip())
        for mark in group:
            start, end = (len_on_screen(line[: max(0, i - cut)]) for i in (mark.start, mark.end))
            under = ("^" if mark.primary else "-") * max(1, end - start)
            under += f" {_clean(mark.text)}" if mark.text else ""
            lines.append(
                f"{bar} {' ' * start}{paint(under, hue if mark.primary else BLUE, colour)}"
            )
    return lines


def _window(line: str, first: int) -> tuple[str, int]:
    """What is shown of `line`, and how many characters of it are left out on the left, if the mark
    that stands first is to be seen. Dots stand for what is left out."""
    if len(line) <= _WIDEST:
        return line, 0
    start = max(0, first - _WIDEST // 2)
    kept = line[start : start + _WIDEST]
    dots = "…" if start + _WIDEST < len(line) else ""
    return (f"…{kept}{dots}", start - 1) if start else (kept + dots, 0)


def _marks(source: Source, label: Label, primary: bool) -> list[_Mark]:
    numbers = _lines_of(label)
    marks = []
    for number in numbers:
        line = source.line(number)
        start, end = len(line) - len(line.lstrip()), len(line.rstrip())
        if number == label.span.line:
            start = label.span.column - 1
        if number == numbers[-1]:
            last, column = source.position(label.span.end)
            end = min(column - 1, len(line)) if last == number else end
        text = label.text if number == numbers[-1] else ""
        marks.append(_Mark(number, start, max(start, end), text, primary))
    return marks


def len_on_screen(text: str) -> int:
    """Columns that `text` takes from the first column on, tabs widened."""
    column = 0
    for character in text:
        column += _columns_of(character, column)
    return column


def _columns_of(character: str, column: int) -> int:
    if character == "\t":
        return TAB - column % TAB
    if unicodedata.combining(character) or unicodedata.category(character) == "Cf":
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _shown(line: str) -> str:
    """`line` with tabs widened and control characters made visible."""
    out, column = [], 0
    for character in line:
        step = _columns_of(character, column)
        out.append(" " * step if character == "\t" else _visible(character))
        column += step
    return "".join(out)


def _visible(character: str) -> str:
    """A terminal must not obey what stands in a file: U+0000 is shown as its picture U+2400."""
    number = ord(character)
    if number < 0x20:
        return chr(0x2400 + number)
    category = unicodedata.category(character)
    if category == "Cf":
        return ""
    return "\ufffd" if category in ("Cc", "Cs", "Zl", "Zp") else character


def _clean(text: str) -> str:
    return "".join(map(_visible, text))


def paint(text: str, hue: str, colour: bool) -> str:
    """`text` in a hue, where the terminal takes colours."""
    return f"{hue}{text}{_RESET}" if colour else text
