"""Rules kept as columns; a `Rule` is made of one when somebody asks for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeVar, overload

import numpy as np

from .column_dict import hashes_of
from .columns import Array, Column, one
from .kind_fields import FORM_CODES, Field
from .packing import Packing
from .rulekinds import Kind
from .rules import Form, Matcher, Reference, Rule
from .ruletable import Table

_T = TypeVar("_T")
_FORMS: dict[int, Form] = {code: form for form, code in FORM_CODES.items()}


class Block:
    """Rules of one kind as columns, in the order of their sequences, which follow one another.

    `ids` u32, `matchers` and `values` by element; `references` and `targets` hold, a row, an index
    into `meant` (0: none)."""

    def __init__(self, kind: Kind, count: int, sequence: int) -> None:
        self.kind, self.count, self.sequence = kind, count, sequence
        self.base = 0
        self.ids: Array = np.zeros(count, np.uint32)
        self.matchers: dict[str, Column] = {}
        self.values: dict[str, Column] = {}
        self.priorities: Array | None = None
        self.meant: list[Reference | None] = [None]
        self.references: dict[str, Array] = {}
        self.targets: Array | None = None
        self.names: list[str] = []
        self.packing: Packing | None = None  # where it was made beforehand

    def __len__(self) -> int:
        return self.count

    def rule(self, row: int) -> Rule:
        match: list[tuple[str, Matcher]] = []
        for field in self.kind.match:
            column = self.matchers.get(field.codec.name)
            if column is None or column.forms is None or column.others is None:
                continue
            code = int(column.forms[row])
            if code:
                matcher = Matcher(_FORMS[code], int(column.values[row]), int(column.others[row]))
                match.append((column.name, matcher))
        gives = self.kind.rule.gives
        values = [(n, int(c.values[row])) for n in gives if (c := self.values.get(n)) is not None
                  and c.forms is not None and c.forms[row]]  # fmt: skip
        references = [(n, r) for n in gives if n in self.references
                      and (r := self.meant[int(self.references[n][row])]) is not None]  # fmt: skip
        return Rule(
            self.kind.name, int(self.ids[row]), self.sequence + row,
            self.names[row] if self.names else "", 0,
            int(self.priorities[row]) if self.priorities is not None else 0,
            tuple(match), tuple(values), tuple(references),
            self.meant[int(self.targets[row])] if self.targets is not None else None, (),
        )  # fmt: skip

    def reference(self, row: int) -> Reference:
        """To the rule of this row."""
        return Reference(self.kind.name, int(self.ids[row]))

    def images(self, kind: Kind, rows: Array | None = None) -> list[bytes]:
        """The match images, of these rows or of all."""
        at = slice(None) if rows is None else rows
        size, count = kind.key_size, self.count if rows is None else len(rows)
        image = np.zeros((count, size), np.uint8)
        for field, column in self._matched(kind):
            _image(image, field, column, at)
        if self.priorities is not None:
            end = size - kind.priority_shift // 8
            image[:, end - 8 : end] = _big_endian(self.priorities[at], 8)
        data = image.tobytes()
        return [data[i : i + size] for i in range(0, len(data), size)]

    def hashes(self, kind: Kind) -> Array:
        """Of the match images, a row each."""
        parts: list[tuple[int, Array]] = []
        for field, column in self._matched(kind):
            assert column.forms is not None and column.others is not None
            wide = field.wide
            numbers = (column.others, column.values, column.forms)
            for shift, values in zip((0, wide, 2 * wide), numbers, strict=True):
                parts.append((field.shift + shift, one(values)))
        if self.priorities is not None:
            parts.append((kind.priority_shift, self.priorities))
        return hashes_of(parts, self.count)

    def _matched(self, kind: Kind) -> Iterator[tuple[Field, Column]]:
        for field in kind.match:
            column = self.matchers.get(field.codec.name)
            if column is not None:
                yield field, column

    def referring(self, to: Reference) -> Array:
        """The rows that refer to it."""
        at = [index for index, each in enumerate(self.meant) if each == to]
        found = np.zeros(self.count, np.bool_)
        for pointers in (self.targets, *self.references.values()):
            if at and pointers is not None:
                found |= np.isin(pointers, at)
        return np.flatnonzero(found)

    def commit(self, tables: Mapping[str, Table]) -> None:
        """Put the rules into their table."""
        table = tables[self.kind.name]
        table.pack(self, self.packing)
        pointed = {kind: table.pointed for kind, table in tables.items()}
        for pointers in (self.targets, *self.references.values()):
            if pointers is None:
                continue
            counts = np.bincount(pointers, minlength=len(self.meant))
            for reference, count in zip(self.meant, counts.tolist(), strict=True):
                into = pointed.get(reference.kind) if count and reference is not None else None
                if into is not None and reference is not None:
                    into[reference.id] = into.get(reference.id, 0) + count


def _big_endian(values: Array, size: int) -> Array:
    wide = values.astype(">u8").view(np.uint8).reshape(len(values), 8)
    return wide[:, 8 - size :]


def _image(image: Array, field: Field, column: Column, at: Array | slice) -> None:
    size = field.codec.size
    end = image.shape[1] - field.shift // 8
    assert column.forms is not None and column.others is not None
    image[:, end - size : end] = _big_endian(column.others[at], size)
    image[:, end - 2 * size : end - size] = _big_endian(column.values[at], size)
    image[:, end - 2 * size - 1] = column.forms[at]


class Lazy(Sequence[_T]):
    """What each row of a block is to `made`, one by one."""

    def __init__(self, count: int, made: Callable[[int], _T]) -> None:
        self._rows, self._made = range(count), made

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, index: int) -> _T: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[_T]: ...
    def __getitem__(self, index: int | slice) -> _T | Sequence[_T]:
        rows = self._rows[index]
        return self._made(rows) if isinstance(rows, int) else [self._made(row) for row in rows]
