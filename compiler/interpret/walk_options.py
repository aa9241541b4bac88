"""Options of a header, one behind the other: docs/semantics.md#options."""

from __future__ import annotations

from collections.abc import Iterator

from ...lang.contract.base.domain_names import LONGEST
from ..model import Expr, Field, Group, Options, Own
from .evaluate import evaluate


class BadOptions(Exception):
    """An option is shorter than what it begins with, or ends behind the others' end."""


def starts_of(options: Options, data: bytes, begin: int, end: int) -> dict[str, int]:
    """The byte at which the first option of each name starts that has all its fields. They are in
    `data` from `begin` up to `end`. Raises `BadOptions`."""
    found: dict[str, int] = {}
    for at, kind, size in _walk(options, data, begin, end):
        group = options.named(kind)
        if group is not None and _has_all(options, group, data[at : at + size]):
            found.setdefault(group.name, at)
    return found


def _has_all(options: Options, group: Group, option: bytes) -> bool:
    """Whether it has all its fields, of which the last may be the text of a name."""
    if len(option) * 8 < group.width:
        return False
    if not group.text:
        return True
    field = next(f for f in options.fields if f.name == group.text)
    length = _number(option, field)
    return length <= LONGEST and len(option) >= length + group.width // 8


def _walk(options: Options, data: bytes, at: int, end: int) -> Iterator[tuple[int, int, int]]:
    """The start, kind and size of each that has more than a kind."""
    heading = options.heading
    for _ in range(options.most):
        if at >= end:
            return
        if options.bare or options.end:  # the kind is the first byte
            if data[at] in options.end:
                return
            if data[at] in options.bare:
                at += 1
                continue
        if at + heading.minimum > end:
            raise BadOptions
        values = _values(options, data[at : at + heading.minimum])

        def read(expr: Expr, values: dict[str, int] = values) -> int:
            assert isinstance(expr, Own), expr
            return values[expr.field]

        size = evaluate(options.size, read)
        if size < heading.minimum or size > end - at:
            raise BadOptions
        yield at, values["kind"], size
        at += size


def _values(options: Options, data: bytes) -> dict[str, int]:
    return {f.name: _number(data, f) for f in options.heading.fields}


def _number(data: bytes, field: Field) -> int:
    shift = len(data) * 8 - field.offset - field.width
    return int.from_bytes(data, "big") >> shift & (1 << field.width) - 1
