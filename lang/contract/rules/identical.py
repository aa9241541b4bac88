"""Warns of identical rules in one set of columns. Rules in force are compared only by what they
match: by what they say that would take a look at each of them."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from ...text.diagnostics import Diagnostic, Label, Refused
from .block import Block
from .column_dict import among, near
from .columns import Array, Column, Columns
from .ie_values import Fault, fold
from .interleaving import NONE, YieldPoint
from .kind_fields import MATCH, PRIORITY, Field
from .never_match import no_such_packet
from .rulekinds import Kind, purpose

#: Rows whose match images are made at a time.
_AT_A_TIME = 256


def check(columns: Columns, kind: Kind) -> list[Diagnostic]:
    """What a file is warned of before anybody plans it. Raises `Refused` where two of its rules
    match the same."""
    block = _block_of(columns, kind)
    found = None
    if kind.keyed and not kind.grouped:
        hashes = block.hashes(kind)
        found = duplicate(block, kind, suspects(block, kind, hashes, np.sort(hashes), {}))
    if found is not None:
        row, fault = found
        label = Label(columns.place(row, "").span, fault.text)
        raise Refused([Diagnostic(fault.code, fault.title, (label,), fault.help)])
    return warnings(block, columns)


def _block_of(columns: Columns, kind: Kind) -> Block:
    """The columns by their roles; references are the words that the file has for them."""
    block = Block(kind, columns.count, 0)
    for column in columns.columns:
        field = kind.fields.get(fold(column.name))
        if column.kind == "reference":
            block.references[column.name] = column.values
        elif field is not None and field.role == MATCH:
            block.matchers[column.name] = column
        elif field is not None and field.role == PRIORITY:
            block.priorities = column.values
        elif field is not None:
            block.values[column.name] = column
    return block


def suspects(
    block: Block, kind: Kind, hashes: Array, order: Array, known: Mapping[bytes, Any]
) -> Array:
    """The rows that may match what another one does, or a rule that is `known` by what it matches:
    their hashes are equal. `order`: the hashes in order."""
    twice = among(order[1:][order[1:] == order[:-1]], hashes)
    if known:
        twice |= near(known, hashes, lambda: block.images(kind))
    return np.flatnonzero(twice)


def duplicate(
    block: Block, kind: Kind, rows: Array, known: Mapping[bytes, Any] = MappingProxyType({}),
    pause: YieldPoint = NONE,
) -> tuple[int, Fault] | None:  # fmt: skip
    """The first of these rows that matches what a row before it does, or a rule that is `known` by
    what it matches."""
    first: dict[bytes, int] = {}
    for at in range(0, len(rows), _AT_A_TIME):
        some = rows[at : at + _AT_A_TIME]
        pause()
        for row, key in zip(some.tolist(), block.images(kind, some), strict=True):
            if key in known or key in first:
                other = f"{kind.name} {known[key]!r}" if key in known else (
                    f"rule {first[key] + 1} of this file")  # fmt: skip
                title = f"{other} matches the same already"
                return row, Fault("H0452", title, "", "a duplicate", purpose(kind.rule))
            first[key] = row
    return None


def warnings(block: Block, columns: Columns) -> list[Diagnostic]:
    """Of these rules alone; those in force are not compared."""
    return [
        *_no_such_packets(block, columns), *_never_match(block, columns),
        *_said_before(block, columns),
    ]  # fmt: skip


def _no_such_packets(block: Block, columns: Columns) -> list[Diagnostic]:
    """A warning with a count: rules that match headers of which no packet has both."""
    found = []
    for i, j, nodes in block.kind.exclusive_pairs:
        a, b = (block.matchers.get(block.kind.match[at].codec.name) for at in (i, j))
        if a is None or b is None or a.forms is None or b.forms is None:
            continue
        rows = np.flatnonzero((a.forms != 0) & (a.values != 0) & (b.forms != 0) & (b.values != 0))
        if len(rows):
            fault = no_such_packet(f"{len(rows)} of these rules never match", a.name, b.name, nodes)
            label = Label(columns.place(int(rows[0]), b.name).span, fault.text)
            found.append(Diagnostic(fault.code, fault.title, (label,), fault.help, "warning"))
    return found


def _never_match(block: Block, columns: Columns) -> list[Diagnostic]:
    """A warning with a count: rules of this file that match the packets of others in it, by
    other elements."""
    kind, found = block.kind, []
    for i, j in kind.overlaps:
        first, second = kind.match[i], kind.match[j]
        a, b = (block.matchers.get(field.codec.name) for field in (first, second))
        if a is None or b is None or a.forms is None or b.forms is None:
            continue
        if 4 in a.forms or 4 in b.forms:
            continue  # a range says nothing of single bits
        count = _same_packets(block, a, b, first, second)
        if count:
            title = f"{count} of these rules never match: older ones take the same packets"
            place = columns.place(0, b.name)
            label = Label(place.span, f"by `{a.name}` or `{b.name}`")
            help_ = "say it by one of the two elements, and each once"
            found.append(Diagnostic("H0463", title, (label,), help_, "warning"))
    return found


def _said_before(block: Block, columns: Columns) -> list[Diagnostic]:
    """A warning with a count: rules of a kind without a match that say the same as others of
    this file, where it gives neither ids nor names."""
    given = {column.name for column in columns.columns}
    if block.kind.keyed or given & {"id", "name"}:
        return []
    said = [*block.references.values(), block.targets]
    for column in block.values.values():
        said += column.forms, column.values
    key: Array = np.zeros(block.count, np.int64)
    different = 1
    for array in (each for each in said if each is not None):
        values, codes = np.unique(array, return_inverse=True)
        known, key = np.unique(key * len(values) + codes.ravel(), return_inverse=True)
        different = len(known)
    count = block.count - different
    if not count:
        return []
    title = f"{count} of these rules say the same as others: by content none of them is meant"
    label = Label(columns.place(0, "").span, "no ids")
    help_ = "leave them out, or give each an id in a column `id`"
    return [Diagnostic("H0464", title, (label,), help_, "warning")]


def _same_packets(block: Block, a: Column, b: Column, first: Field, second: Field) -> int:
    """How many rows match at the same priority what a row before them does, by the other one of
    two elements or by both."""
    assert first.match is not None and second.match is not None
    assert a.forms is not None and b.forms is not None
    base = min(first.match.position, second.match.position)
    (v1, m1), (v2, m2) = bits(a, first, base), bits(b, second, base)
    value, mask = v1 | v2, m1 | m2
    # Few say the same by different elements.
    said = value * np.uint64(0x9E3779B97F4A7C15) ^ mask
    ways = (a.forms != 0).astype(np.uint8) | (b.forms != 0).astype(np.uint8) << 1
    each = [np.unique(said[ways == way]) for way in (1, 2, 3)]
    known, times = np.unique(np.concatenate(each), return_counts=True)
    if not (times > 1).any():
        return 0
    rows = np.flatnonzero(np.isin(said, known[times > 1]))
    others = [array for column in block.matchers.values() if column is not a and column is not b
              for array in (column.forms, column.values, column.others)]  # fmt: skip
    columns = [value, mask, block.priorities, *others]
    wide = [column[rows].astype(np.uint64) for column in columns if column is not None]
    return len(rows) - len(np.unique(np.stack(wide, axis=1), axis=0))


def bits(column: Column, field: Field, base: int) -> tuple[Any, Any]:
    """Value and mask of each row, `base` bits below their place in the lookup key (modulo 2^64:
    beyond that nothing overlaps the field that stands at `base`)."""
    assert field.match is not None and column.forms is not None and column.others is not None
    values, others = column.values.astype(np.uint64), column.others.astype(np.uint64)
    full = np.uint64(field.codec.full)
    host = full >> np.minimum(others, np.uint64(63))
    mask = np.select(
        [column.forms == 1, column.forms == 2, column.forms == 3], [full, full ^ host, others], 0
    ).astype(np.uint64)
    shift = np.uint64(field.match.position - base)
    return values << shift, mask << shift
