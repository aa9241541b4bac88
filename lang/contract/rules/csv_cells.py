"""The cells of a CSV as bytes, and the two spellings that fill most of them, read column-wise."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...text.diagnostics import Diagnostic, Label, Refused
from ...text.source import Source
from .columns import Array, cell

#: Cells longer than this are read one by one.
_WIDE = 64


class Cells:
    """One column: `content` (rows x width, 0 behind a cell's end) and `lengths`."""

    def __init__(self, content: Array, lengths: Array) -> None:
        self.content, self.lengths = content, lengths

    def texts(self, rows: Array | None = None) -> list[bytes]:
        """The cells, of those rows."""
        content = self.content if rows is None else self.content[rows]
        width = content.shape[1]
        if not width:
            return [b""] * len(content)
        found: list[bytes] = np.ascontiguousarray(content).view(f"S{width}").ravel().tolist()
        return found


def split(source: Source) -> tuple[list[str], list[Cells]]:
    """The header's names and the columns. Raises `Refused` for lines of unequal length."""
    text = source.text.replace("\r\n", "\n").removeprefix("\ufeff")
    if '"' in text or "\0" in text:
        return _quoted(source, text)
    if "\n\n" in text or not text.endswith("\n") or text[:1] == "\n":
        text = "\n".join(line for line in text.split("\n") if line.strip()) + "\n"
    first, _, rest = text.partition("\n")
    header = [name.strip() for name in first.split(",")]
    if not rest.strip():
        raise _empty(source)
    data = np.frombuffer(rest.encode("utf-8", "replace"), np.uint8)
    breaks = data == ord("\n")
    ends = np.flatnonzero(breaks | (data == ord(",")))
    widths = np.diff(np.flatnonzero(breaks[ends]), prepend=-1)
    wrong = np.flatnonzero(widths != len(header))
    if len(wrong):
        raise _uneven(source, int(wrong[0]), int(widths[wrong[0]]), len(header))
    starts = np.empty_like(ends)
    starts[0], starts[1:] = 0, ends[:-1] + 1
    n = len(header)
    return header, [_gather(data, starts[i::n], ends[i::n]) for i in range(n)]


def _gather(data: Array, starts: Array, ends: Array) -> Cells:
    lengths = ends - starts
    width = int(lengths.max(initial=0))
    if width > _WIDE:
        raw = data.tobytes()
        return _of([raw[a:b] for a, b in zip(starts.tolist(), ends.tolist(), strict=True)])
    columns = np.zeros((width, len(starts)), np.uint8)  # transposed: each read is of one position
    last, least = len(data) - 1, int(lengths.min())
    for j in range(width):
        if j < least:
            columns[j] = data[starts + j]
        else:
            columns[j] = np.where(lengths > j, data[np.minimum(starts + j, last)], 0)
    return Cells(columns.T, lengths)


def _of(cells: Sequence[bytes]) -> Cells:
    lengths = np.array([len(c) for c in cells])
    width = max(1, int(lengths.max(initial=1)))
    content = np.array(cells, f"S{width}").view(np.uint8).reshape(len(cells), width)
    return Cells(content, lengths)


def _quoted(source: Source, text: str) -> tuple[list[str], list[Cells]]:
    try:
        rows = [row for row in csv.reader(text.splitlines(), strict=True) if any(row)]
    except csv.Error as error:
        title, help_ = f"this is no CSV: {error}", 'write names with commas in quotes: "a,b"'
        raise Refused([Diagnostic("H0471", title, (Label(source.span(0, 0)),), help_)]) from None
    if len(rows) < 2:
        raise _empty(source)
    header = [name.strip() for name in rows[0]]
    for i, row in enumerate(rows[1:]):
        if len(row) != len(header):
            raise _uneven(source, i, len(row), len(header))
    columns = zip(*rows[1:], strict=True)
    return header, [_of([c.encode("utf-8", "replace") for c in column]) for column in columns]


def _empty(source: Source) -> Refused:
    help_ = "write a line of element names, then a line for each rule"
    label = Label(source.span(0, 0), "no rules")
    return Refused([Diagnostic("H0470", "the file holds no rules", (label,), help_)])


def _uneven(source: Source, row: int, width: int, expected: int) -> Refused:
    title = f"this line has {width} cells, the header {expected}"
    label = Label(cell(source, row, None), f"{width} cells")
    help_ = "an element that is left out is an empty cell"
    return Refused([Diagnostic("H0471", title, (label,), help_)])


# ---- the usual spellings --------------------------------------------------------------------


def decimals(cells: Cells, most: int) -> tuple[Array, Array]:
    """(which cells are plain decimals up to `most`, their values)."""
    content, lengths = cells.content, cells.lengths
    value = np.zeros(len(lengths), np.uint64)
    good = (lengths > 0) & (lengths <= 18)
    for j in range(min(content.shape[1], 18)):
        digit = content[:, j] - np.uint8(48)
        inside = lengths > j
        good &= ~inside | (digit < 10)
        value = np.where(inside, value * np.uint64(10) + digit, value)
    if content.shape[1]:
        good &= (content[:, 0] != 48) | (lengths == 1)
    return good & (value <= most), value


def prefixes(cells: Cells) -> tuple[Array, Array, Array]:
    """(which cells are IPv4 addresses or prefixes 1 to 32 without host bits, values, lengths)."""
    content, lengths = cells.content, cells.lengths
    n = len(lengths)
    value, number = np.zeros(n, np.uint32), np.zeros(n, np.uint32)
    digits, part = np.zeros(n, np.uint8), np.zeros(n, np.uint8)
    bad = (lengths == 0) | (lengths > 18)
    for j in range(min(content.shape[1], 18)):
        byte = content[:, j]
        digit = byte - np.uint8(48)
        is_digit, inside = digit < 10, lengths > j
        dot, slash = byte == ord("."), byte == ord("/")
        # A leading zero, an empty or too large byte, a dot too many, a slash too early.
        bad |= is_digit & (digits > 0) & (number == 0)
        bad |= inside & ~(is_digit | dot | slash)
        bad |= (dot | slash) & ((digits == 0) | (number > 255))
        bad |= dot & (part >= 3) | slash & (part != 3)
        ends = dot | slash
        value = np.where(ends, value << np.uint32(8) | number, value)
        number = np.where(is_digit, number * np.uint32(10) + digit, np.where(ends, 0, number))
        digits = np.where(ends, 0, digits + is_digit).astype(np.uint8)
        part += ends
        number = number.astype(np.uint32)
    bad |= (digits == 0) | (digits > 3)
    whole = part == 3
    bad |= (
        ~whole & (part != 4)
        | whole & (number > 255)
        | (part == 4) & ((number == 0) | (number > 32))
    )
    value = np.where(whole, value << np.uint32(8) | number, value).astype(np.uint32)
    bits = np.where(whole, 32, np.minimum(number, 32)).astype(np.uint32)
    host = (np.uint64(1) << (np.uint64(32) - bits.astype(np.uint64))) - np.uint64(1)
    bad |= value & host.astype(np.uint32) != 0
    return ~bad, value, bits


def one_by_one(cells: Cells, read: Any, rows: Array) -> Array:
    """What `read`, a dict that fills itself, gives for the cells of those rows."""
    return np.fromiter(map(read.__getitem__, cells.texts(rows)), np.uint32, len(rows))
