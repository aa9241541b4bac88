"""Rules in bulk: CSV to packed columns, and packed columns as a file (`.hpr`).

CSV: a header line of element names (also `id`, `name`, and the kinds that the rule gives: `FAR`),
then a line a rule, cells spelled as in text requests, an empty cell for an element left out:

    src_ip,protocol,dscp,FAR
    10.1.0.0/16,UDP,46,17

`.hpr`, all numbers little-endian:

    magic     4 bytes "HPR\\n"
    version   u16 = 2
    reserved  u16 = 0
    digest    16 bytes, BLAKE2b of all that follows
    header    u32, its length in bytes, then the header: JSON, {"kind": "PDR", "count": 60000,
              "columns": [{"name": "src_ip", "kind": "matcher", "width": 4}, …]}, and for a column
              of kind "reference" also "words": the distinct spellings
    columns   one after the other, without gaps:
              matcher    form u8 x count (0 absent, 1 value, 2 prefix, 3 mask, 4 range), then
                         value and other, each unsigned of `width` bytes (1, 2, 4, 8) x count
              value      present u8 x count, then value x count
              reference  u32 x count: 0 absent, else an index into `words`, counted from 1
              id         u32 x count: 0 for one that is to be allotted
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from ...text.diagnostics import Diagnostic, Label, Refused
from ...text.source import PACKED, Row, Source, Span

Array = npt.NDArray[Any]
ColumnKind = Literal["matcher", "value", "reference", "id"]

MAGIC = b"HPR\n"
VERSION = 2
_DIGEST = 16
_BEGIN = 8 + _DIGEST  # of what the digest covers
_MOST_ROWS = 1 << 26
_WIDTHS = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


@dataclass(frozen=True, eq=False)
class Column:
    """`forms` (matcher) or presence (value), `values`, `others` (matcher); of a reference `values`
    are indices into `words`, counted from 1."""

    name: str
    kind: ColumnKind
    values: Array
    forms: Array | None = None
    others: Array | None = None
    words: tuple[str, ...] = ()

    @property
    def width(self) -> int:
        return int(self.values.dtype.itemsize)

    def arrays(self) -> Iterator[Array]:
        return (a for a in (self.forms, self.values, self.others) if a is not None)


def numbered(columns: Columns, ids: Array) -> Columns | None:
    """The same rules with these ids; None where they have all of them."""
    others = []
    for column in columns.columns:
        if column.kind != "id":
            others.append(column)
        elif (column.values == ids).all():
            return None
    return replace(columns, columns=(Column("id", "id", ids), *others))


def one(values: Array) -> Array:
    """The same, or what all rows say as an array of one."""
    return values[:1] if (values == values[0]).all() else values


@dataclass(frozen=True, eq=False)
class Columns:
    """Rules of one kind, packed. `source`: the CSV they came from, for diagnostics; `name`: without
    one, their file. `warnings`: about its cells."""

    kind: str
    count: int
    columns: tuple[Column, ...]
    source: Source | None = None
    warnings: tuple[Diagnostic, ...] = ()
    name: str = PACKED

    def place(self, row: int, column: str) -> Label:
        """Where a row's cell stands, or which row it is."""
        names = [c.name for c in self.columns]
        index = names.index(column) if column in names else None
        if self.source is None:
            at = Row.of(self.name, self.kind, row, column)
            return Label(at.span(0, len(at.text)))
        return Label(cell(self.source, row, index))

    def placed(self, found: Diagnostic) -> Diagnostic:
        """The same at its place in the CSV, or in the file, where it is about packed rules."""
        at = found.span.source if found.span else None
        if not isinstance(at, Row) or at.name != PACKED:
            return found
        place = self.place(at.row, at.column).span
        return replace(found, labels=(Label(place, found.labels[0].text),))


def cell(source: Source, row: int, column: int | None) -> Span:
    """The place of a cell, or of a line (None). The header is row -1; blank lines are none."""
    start = 0
    seen = -2
    for line in source.text.splitlines(keepends=True):
        seen += bool(line.strip())
        if line.strip() and seen == row:
            break
        start += len(line)
    line = source.text[start:].split("\n", 1)[0].rstrip("\r")
    if column is None:
        return source.span(start, start + len(line))
    cells = line.split(",")
    before = sum(len(c) + 1 for c in cells[:column])
    text = cells[column] if column < len(cells) else ""
    start += before + len(text) - len(text.lstrip())
    return source.span(start, start + len(text.strip()))


# ---- .hpr -----------------------------------------------------------------------------------


def dump(columns: Columns) -> bytes:
    """The `.hpr` file of these columns."""
    described: list[dict[str, Any]] = []
    for column in columns.columns:
        entry: dict[str, Any] = {"name": column.name, "kind": column.kind, "width": column.width}
        if column.kind == "reference":
            entry["words"] = list(column.words)
        described.append(entry)
    header = json.dumps(
        {"kind": columns.kind, "count": columns.count, "columns": described},
        separators=(",", ":"), ensure_ascii=False,
    ).encode()  # fmt: skip
    parts = [len(header).to_bytes(4, "little"), header]
    for column in columns.columns:
        parts.extend(
            a.astype(a.dtype.newbyteorder("<"), copy=False).tobytes() for a in column.arrays()
        )
    content = b"".join(parts)
    return b"".join((MAGIC, VERSION.to_bytes(2, "little"), b"\0\0", _digest(content), content))


def _digest(content: bytes | memoryview) -> bytes:
    return hashlib.blake2b(content, digest_size=_DIGEST).digest()


def load(data: bytes, name: str = PACKED) -> Columns:
    """Read a `.hpr` file. Raises `Refused` (H0472) for anything that `dump` did not write."""
    try:
        return replace(_load(data), name=name)
    except (_NoColumns, ValueError, KeyError, TypeError, RecursionError) as error:
        what = str(error) if isinstance(error, _NoColumns) else "its header is damaged"
        label = Label(Source(name, "").span(0, 0))
        title, help_ = f"{name} is no file of packed rules: {what}", "make it anew from its CSV"
        raise Refused([Diagnostic("H0472", title, (label,), help_)]) from None


class _NoColumns(Exception):
    pass


def _need(condition: bool, what: str) -> None:
    if not condition:
        raise _NoColumns(what)


def _load(data: bytes) -> Columns:
    _need(data[:4] == MAGIC, "it does not begin with HPR")
    _need(len(data) >= _BEGIN + 4, "it is cut short")
    version = int.from_bytes(data[4:6], "little")
    _need(version == VERSION, f"version {version} is not the {VERSION} that this release reads")
    _need(data[6:8] == b"\0\0", "reserved bytes are set")
    _need(
        data[8:_BEGIN] == _digest(memoryview(data)[_BEGIN:]),
        "its digest is not that of its content",
    )
    start = _BEGIN + 4 + int.from_bytes(data[_BEGIN : _BEGIN + 4], "little")
    header = json.loads(data[_BEGIN + 4 : start].decode())
    _need(isinstance(header, dict), "its header is damaged")
    kind, count, described = header["kind"], header["count"], header["columns"]
    good = isinstance(kind, str) and isinstance(described, list) and type(count) is int
    _need(good and 0 < count <= _MOST_ROWS, "its header is damaged")
    columns: list[Column] = []
    for entry in described:
        column, start = _column(data, start, count, entry)
        columns.append(column)
    _need(start == len(data), "bytes are left behind the last column")
    names = [c.name for c in columns]
    _need(len(set(names)) == len(names), "a column stands twice")
    return Columns(kind, count, tuple(columns))


def _column(data: bytes, start: int, count: int, entry: dict[str, Any]) -> tuple[Column, int]:
    name, kind, width = entry["name"], entry["kind"], entry["width"]
    _need(
        isinstance(name, str) and type(width) is int and width in _WIDTHS, "its header is damaged"
    )
    words: tuple[str, ...] = ()
    layout: list[Any] = [_WIDTHS[width]]
    if kind == "matcher":
        layout = [np.uint8, _WIDTHS[width], _WIDTHS[width]]
    elif kind == "value":
        layout = [np.uint8, _WIDTHS[width]]
    elif kind == "reference":
        words = tuple(entry["words"])
        _need(width == 4 and all(isinstance(word, str) for word in words), "its header is damaged")
    else:
        _need(kind == "id" and width == 4, "its header is damaged")
    arrays: list[Array] = []
    for dtype in layout:
        size = count * np.dtype(dtype).itemsize
        _need(start + size <= len(data), "it is cut short")
        array = np.frombuffer(data, np.dtype(dtype).newbyteorder("<"), count, start)
        arrays.append(array.astype(dtype, copy=False))
        start += size
    if kind == "matcher":
        return Column(name, "matcher", arrays[1], arrays[0], arrays[2]), start
    if kind == "value":
        return Column(name, "value", arrays[1], arrays[0]), start
    if kind == "reference":
        _need(int(arrays[0].max()) <= len(words), "a reference has no word")
        return Column(name, "reference", arrays[0], words=words), start
    return Column(name, "id", arrays[0]), start
