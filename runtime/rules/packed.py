"""The rules of a loaded pipeline for a rule book, left as the images that they are in.

A writing command opens a pipeline of many rules to change a few: each becomes a `Rule` only when
somebody asks for it. What a book must know of all of them is found by the column.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from ...lang.contract.rules.column_dict import columns_of, hashes_of
from ...lang.contract.rules.rulebook import RuleBook
from ...lang.contract.rules.rulekinds import Kind
from ...lang.contract.rules.rules import Reference, Rule
from .bulk import rows
from .images import LIVE, ImageCodec, head_slice, of_heads
from .stored import SLOT
from .tables import Table
from .transaction import Writer

ByteArray = npt.NDArray[np.uint8]


def keep(book: RuleBook, writer: Writer) -> None:
    """Restore an empty book from the live rules of a writer."""
    rules: list[Rule] = []
    kept: list[PackedImages] = []
    for table in writer.tables.values():
        if table.kind.grouped or table.kind.spread is not None:
            rules += table.rules()
        else:
            kept.append(packed(table))
    book.restore(rules, kept)
    book.sequence = max(book.sequence, writer.next_sequence)


def packed(table: Table) -> PackedImages:
    """The live rules of a table as they are now; of no group or spread."""
    _, cells = columns_of(table.sequences)
    slots = np.frombuffer(table.cells, "<u8")[cells] >> np.uint64(24) & np.uint64(SLOT)
    return PackedImages(table.image_codec, rows(table.images, table.image_stride)[slots])


class PackedImages:
    """Images of one kind: [rule, byte]. Raises ValueError where one holds no rule."""

    def __init__(self, codec: ImageCodec, images: ByteArray) -> None:
        self.kind, self.base = codec.kind.name, 0
        self._codec, self._images = codec, images
        if not (of_heads("flags", images) == LIVE).all():
            raise ValueError(f"no rule in an image of {self.kind}")

    def __len__(self) -> int:
        return len(self._images)

    def rule(self, row: int) -> Rule:
        return self._codec.rule_of(self._images[row].data)[0]

    @property
    def ids(self) -> npt.NDArray[np.uint64]:
        return of_heads("id", self._images)

    @property
    def names(self) -> list[str]:
        if not self._codec.kind.named:
            return []
        return [self.rule(row).name for row in range(len(self))]

    @property
    def youngest(self) -> int:
        """The highest sequence, 0 without rules."""
        return int(of_heads("sequence", self._images).max(initial=0))

    def images(self, kind: Kind) -> list[bytes]:
        """The match images, as `Kind.key` makes them."""
        if not kind.keyed:
            return []
        size = kind.key_size
        out = np.zeros((len(self), size), np.uint8)
        for shift, data in self._matched(kind):
            end = size - shift // 8
            out[:, end - data.shape[1] : end] = data[:, ::-1]
        whole = out.tobytes()
        return [whole[at : at + size] for at in range(0, len(whole), size)]

    def hashes(self, kind: Kind) -> npt.NDArray[np.uint64]:
        """Of the match images."""
        return hashes_of(self._parts(kind), len(self))

    def _parts(self, kind: Kind) -> Iterator[tuple[int, npt.NDArray[Any]]]:
        for shift, data in self._matched(kind):
            for at in range(0, data.shape[1], 8):
                some = data[:, at : at + 8]
                if some.any():
                    yield shift + 8 * at, _number(some)

    def _matched(self, kind: Kind) -> Iterator[tuple[int, ByteArray]]:
        """What match images are made of: the bit at which it begins, and its bytes, the lowest
        first."""
        for field in kind.match:
            matched = self._codec.matched[field.codec.name]
            size = field.wide // 8
            upper = matched.at + 1 + matched.size
            yield field.shift, self._images[:, upper : upper + size]
            value = matched.at + 1
            yield field.shift + field.wide, self._images[:, value : value + size]
            yield field.shift + 2 * field.wide, self._images[:, matched.at : matched.at + 1]
        if kind.has_priority:
            yield kind.priority_shift, self._images[:, head_slice("priority")]

    def pointing(self) -> Counter[Reference]:
        """How often each rule is referred to."""
        found: Counter[Reference] = Counter()
        for at, tag, kind in self._referrers():
            to, _ = self._referring(at, tag)
            ids, counts = np.unique(to, return_counts=True)
            pairs = zip(ids.tolist(), counts.tolist(), strict=True)
            found.update({Reference(kind, id_): count for id_, count in pairs})
        return found

    def referring(self, to: Reference) -> npt.NDArray[np.int64]:
        """The rows that refer to it."""
        found = np.zeros(len(self), np.bool_)
        for at, tag, kind in self._referrers():
            if kind == to.kind:
                ids, rows = self._referring(at, tag)
                found[rows[ids == to.id]] = True
        return np.flatnonzero(found)

    def _referrers(self) -> Iterator[tuple[int, int, str]]:
        """Where in an image a rule may be referred to, by which tag, and of which kind it is."""
        for given in self._codec.given.values():
            for tag, kind in enumerate(given.references, 2):
                if kind != "port":
                    yield given.at, tag, kind
        for tag, kind in enumerate(self._codec.kind.alternatives, 1):
            yield self._codec.target_at, tag, kind

    def _referring(self, at: int, tag: int) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.int64]]:
        """The ids that are referred to there, and by which rows."""
        rows = np.flatnonzero(self._images[:, at] == tag)
        data = np.ascontiguousarray(self._images[rows, at + 1 : at + 5])
        return data.view("<u4")[:, 0], rows


def _number(data: ByteArray) -> npt.NDArray[np.uint64]:
    """Of each row, the lowest byte first; at most eight."""
    wide = np.zeros((len(data), 8), np.uint8)
    wide[:, : data.shape[1]] = data
    return wide.view("<u8")[:, 0]
