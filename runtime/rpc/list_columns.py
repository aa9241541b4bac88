"""Rules with their texts as bytes of `ListPart`s, thousands at a time: as listing.py's messages of
single rules, in protobuf's encoding."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator

import numpy as np

from ..rules.byte_columns import Cells, Mask, Numbers, beside, constant, length, texts, varint
from ..rules.moment import Array, Moment, Rules
from ..rules.texts import Rows, Texts
from . import control_pb2 as pb

#: Rules that are made at a time.
_AT_ONCE = 4096
_VARINT, _LENGTH = 0, 2  # wire types


class Columns:
    """Of one moment. `text`: with their texts; `counted`: only rules that counted packets."""

    def __init__(self, moment: Moment, text: bool, counted: bool) -> None:
        self._moment, self._counted = moment, counted
        self._texts = Texts(moment) if text else None

    def parts(self, table: Rules, rows: Rows, most: int) -> Iterator[bytes]:
        """The rules of these rows in messages of about `most` bytes."""
        counts = table.counts(rows)  # of all at once: the kernel is asked for all before them, too
        if self._counted:
            kept = counts[:, 0] > 0 if counts is not None else np.zeros(len(rows), np.bool_)
            rows, counts = rows[kept], counts[kept] if counts is not None else None
        tail = pb.ListPart(revision=self._moment.revision).SerializeToString()
        for first in range(0, len(rows), _AT_ONCE):
            some = rows[first : first + _AT_ONCE]
            counted = counts[first : first + _AT_ONCE] if counts is not None else None
            made, every = self._rules(table, some, counted), np.ones(len(some), np.bool_)
            rules = beside(_within(pb.ListPart, "rules", made, every))
            data, ends = rules.tobytes(), rules.lengths.cumsum().tolist()
            begin = 0
            while begin < len(data):
                end = ends[min(bisect_left(ends, begin + most), len(ends) - 1)]
                yield data[begin:end] + tail
                begin = end

    def _rules(self, table: Rules, rows: Rows, counts: Array | None) -> list[Cells]:
        every = np.ones(len(rows), np.bool_)
        ids = table.ids[rows].astype(np.uint64)
        parts = _within(pb.Rule, "kind", [constant(table.kind.name.encode(), every)], every)
        parts += _number(pb.Rule, "id", ids, ids > 0)
        if table.kind.named:
            name = texts(table.said_names(rows))
            parts += _within(pb.Rule, "name", [name], name.lengths > 0)
        if self._texts is not None:
            parts += _within(pb.Rule, "text", self._texts.of(table, rows), every)
        if counts is not None:
            parts += _number(pb.Rule, "packets", counts[:, 0], every)
            parts += _number(pb.Rule, "octets", counts[:, 1], every)
            sizes = [varint(counts[:, i]) for i in range(2, counts.shape[1])]
            parts += _within(pb.Rule, "sizes", sizes, every) if sizes else []
        owners = table.head("owner", rows).astype(np.uint64)
        if (owned := owners > 0).any():
            parts += _number(pb.Rule, "owned", np.ones(len(rows), np.uint64), owned)
            for kind, numbers, found in self._moment.owners_of(owners):
                reference = _within(pb.Reference, "kind", [constant(kind.encode(), found)], found)
                reference += _number(pb.Reference, "id", numbers, found & (numbers > 0))
                parts += _within(pb.Rule, "owner", reference, found)
        return parts


_Message = type[pb.Rule | pb.ListPart | pb.Reference]


def _key(message: _Message, field: str, wire_type: int) -> bytes:
    return bytes([message.DESCRIPTOR.fields_by_name[field].number << 3 | wire_type])


def _number(message: _Message, field: str, values: Numbers, where: Mask) -> list[Cells]:
    return [constant(_key(message, field, _VARINT), where), varint(values).only(where)]


def _within(message: _Message, field: str, content: list[Cells], where: Mask) -> list[Cells]:
    """A field that has a length, and nothing in other rows."""
    front = [constant(_key(message, field, _LENGTH), where), varint(length(content)).only(where)]
    return front + content
