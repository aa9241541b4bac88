"""CSV to packed columns: plain numbers and prefixes column-wise, any other spelling once."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ...text.diagnostics import FEW, Diagnostic, Label, Refused, did_you_mean
from ...text.source import Source
from .byte_values import NameCodec, RunCodec
from .columns import Array, Column, Columns, cell
from .csv_cells import Cells, decimals, one_by_one, prefixes, split
from .ie_values import Codec, Fault, ListCodec, fold
from .kind_fields import FORM_CODES, MATCH, REFERENCE, Field
from .rulekinds import Kind

_DTYPES: dict[int, Any] = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


def read_csv(source: Source, kind: Kind) -> Columns:
    """Pack a CSV of rules of this kind. Raises `Refused` with each distinct cell that is wrong."""
    header, columns = split(source)
    if not kind.plain:
        label = Label(cell(source, -1, None), f"{kind.name} rules hold others")
        title = f"{kind.name} rules cannot be packed"
        raise Refused([Diagnostic("H0470", title, (label,), "write them as a request")])
    errors: list[Diagnostic] = []
    warnings: list[Diagnostic] = []
    made: list[Column] = []
    seen: set[str] = set()
    for i, (name, cells) in enumerate(zip(header, columns, strict=True)):
        try:
            reader = _reader(kind, name, seen)
        except Fault as fault:
            errors.append(_error(fault, source, -1, i))
            continue
        made.append(reader.column(cells))
        if reader.faults or reader.warnings:
            texts = cells.texts()
            for text, wrong in list(reader.faults.items())[:FEW]:
                errors.append(_error(wrong, source, texts.index(text), i))
            for text, warning in list(reader.warnings.items())[:FEW]:
                rows = (
                    f"{warning.text}, in {count} rows" if (count := texts.count(text)) > 1 else ""
                )
                found = _error(warning, source, texts.index(text), i, rows)
                warnings.append(replace(found, severity="warning"))
    if errors:
        raise Refused(errors[:FEW])
    return Columns(kind.name, len(columns[0].lengths), tuple(made), source, tuple(warnings))


def _error(fault: Fault, source: Source, row: int, column: int, text: str = "") -> Diagnostic:
    label = Label(cell(source, row, column), text or fault.text)
    return Diagnostic(fault.code, fault.title, (label,), fault.help)


def _reader(kind: Kind, name: str, seen: set[str]) -> _Reader:
    folded = fold(name)
    if folded in seen:
        raise Fault("H0470", f"the column `{name}` stands twice", "", "the second time")
    seen.add(folded)
    if folded == "id":
        return _Ids("id")
    if folded == "name" and kind.rule.named:
        return _Words("name")
    for alternative in kind.alternatives:
        if folded == fold(alternative):
            return _Words(alternative)
    field = kind.fields.get(folded)
    if field is None:
        takes = ["id", *(["name"] if kind.rule.named else []),
                 *(f.codec.name for f in kind.fields.values()), *kind.alternatives]  # fmt: skip
        title = f"{kind.name} has no `{name}`"
        help_ = did_you_mean(name, takes) or f"the columns may be {', '.join(takes)}"
        raise Fault("H0470", title, "", "no such column", help_)
    if field.codec.width > 64 or isinstance(field.codec, ListCodec | RunCodec | NameCodec):
        title = f"`{name}` is too wide for packed columns"
        raise Fault("H0470", title, "", "more than 64 bits, or no number", "use a request")
    if field.role == REFERENCE:
        return _Words(field.codec.name)
    return _Matchers(field) if field.role == MATCH else _Values(field)


class _Reader(dict[bytes, int]):
    """A cell's spelling to the index of what it means; index 0 is an empty cell."""

    def __init__(self, name: str) -> None:
        super().__init__({b"": 0})
        self.name = name
        self.faults: dict[bytes, Fault] = {}
        self.warnings: dict[bytes, Fault] = {}

    def __missing__(self, raw: bytes) -> int:
        text = raw.decode("utf-8", "replace").strip()
        try:
            index = self.read(text) if text else 0
            if text and (warning := self.ignored(text)) is not None:
                self.warnings[raw] = warning
        except Fault as fault:
            self.faults[raw] = fault
            index = 0
        self[raw] = index
        return index

    def read(self, text: str) -> int:
        raise NotImplementedError

    def ignored(self, text: str) -> Fault | None:
        """A warning about what was read."""
        return None

    def column(self, cells: Cells) -> Column:
        raise NotImplementedError

    def indices(self, cells: Cells) -> Array:
        return one_by_one(cells, self, np.arange(len(cells.lengths)))


class _Ids(_Reader):
    def read(self, text: str) -> int:
        if not text.isdecimal() or len(text) > 10 or not 0 < int(text) < 1 << 32:
            raise Fault("H0458", f"`{text}` is no id", "", "", "ids are 1 to 4294967295")
        return int(text)

    def column(self, cells: Cells) -> Column:
        return Column("id", "id", self.indices(cells))


class _Words(_Reader):
    """References and names: what they mean is found when they are planned."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.words: list[str] = []

    def read(self, text: str) -> int:
        self.words.append(text)
        return len(self.words)

    def column(self, cells: Cells) -> Column:
        return Column(self.name, "reference", self.indices(cells), words=tuple(self.words))


class _Values(_Reader):
    def __init__(self, field: Field) -> None:
        super().__init__(field.codec.name)
        self.codec: Codec = field.codec
        self.dtype = _DTYPES[1 << (field.codec.size - 1).bit_length()]
        self.read_values = [0]

    def read(self, text: str) -> int:
        self.read_values.append(self.codec.number(text))
        return len(self.read_values) - 1

    def column(self, cells: Cells) -> Column:
        at = self.indices(cells)
        present = (at != 0).astype(np.uint8)
        return Column(self.name, "value", np.array(self.read_values, self.dtype)[at], present)


class _Matchers(_Values):
    def __init__(self, field: Field) -> None:
        super().__init__(field)
        assert field.match is not None
        self.match = field.match.kind
        self.forms, self.others = [0], [0]

    def read(self, text: str) -> int:
        form, value, other = split_value(text)
        matcher = self.codec.matcher(self.match, form, value, other)
        if matcher is None:
            return 0
        self.forms.append(FORM_CODES[matcher.form])
        self.read_values.append(matcher.value)
        self.others.append(matcher.other)
        return len(self.forms) - 1

    def ignored(self, text: str) -> Fault | None:
        return self.codec.ignored(self.match, *split_value(text))

    def column(self, cells: Cells) -> Column:
        count = len(cells.lengths)
        forms, others = np.zeros(count, np.uint8), np.zeros(count, self.dtype)
        values = np.zeros(count, self.dtype)
        good = np.zeros(count, bool)
        codec = self.codec
        if codec.kind == "ip4" and self.match == "lpm":
            good, read, bits = prefixes(cells)
            whole = bits == 32
            values[good] = read[good]
            forms[good] = np.where(whole, 1, 2)[good]
            others[good] = np.where(whole, 0, bits)[good]
        elif codec.kind == "uint" and not codec.values and codec.implied_mask is None:
            good, read = decimals(cells, codec.full)
            values[good] = read[good].astype(self.dtype)
            forms[good] = 1
        rest = np.flatnonzero(~good)
        at = one_by_one(cells, self, rest)
        forms[rest] = np.array(self.forms, np.uint8)[at]
        values[rest] = np.array(self.read_values, self.dtype)[at]
        others[rest] = np.array(self.others, self.dtype)[at]
        return Column(self.name, "matcher", values, forms, others)


def split_value(text: str) -> tuple[Any, str, str]:
    """Form, value and other of a cell."""
    if text[:1] == '"':  # a name, whatever it has
        return "value", text, ""
    for form, separator in (("range", ".."), ("prefix", "/"), ("mask", "&")):
        value, found, other = text.partition(separator)
        if found:
            return form, value.strip(), other.strip()
    return "value", text, ""
