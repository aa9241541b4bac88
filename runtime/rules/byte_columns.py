"""Columns of bytes with gaps, by row: what texts and messages of thousands of rules are put
together of at a time, a hundred numpy calls for all in place of as many steps for each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]
Mask = npt.NDArray[np.bool_]
Numbers = npt.NDArray[np.uint64]

_TEN = np.uint64(10)


class Cells(NamedTuple):
    """Of each row some bytes: those of `data` [row, column] that are `there`, of which there are
    `lengths` [row]."""

    data: Bytes
    there: Mask
    lengths: Numbers

    def only(self, where: Mask) -> Cells:
        """Nothing in the other rows."""
        if where.all():
            return self
        return Cells(self.data, self.there & where[:, None], self.lengths * where)

    def among(self, where: Mask) -> Cells:
        """These rows as those of more that are `where`, nothing in the others."""
        data = np.zeros((len(where), self.data.shape[1]), np.uint8)
        there = np.zeros(data.shape, np.bool_)
        lengths = np.zeros(len(where), np.uint64)
        data[where], there[where], lengths[where] = self
        return Cells(data, there, lengths)

    def tobytes(self) -> bytes:
        """One row behind the other."""
        return self.data[self.there].tobytes()


def beside(parts: Sequence[Cells]) -> Cells:
    """The bytes of each row one behind the other."""
    return Cells(
        np.concatenate([part.data for part in parts], axis=1),
        np.concatenate([part.there for part in parts], axis=1),
        length(parts),
    )


def length(parts: Sequence[Cells]) -> Numbers:
    """Of all of them together."""
    found: Numbers = np.sum([part.lengths for part in parts], axis=0, dtype=np.uint64)
    return found


def constant(text: bytes, where: Mask) -> Cells:
    """The same in these rows."""
    shape = len(where), len(text)
    return Cells(
        np.broadcast_to(np.frombuffer(text, np.uint8), shape),
        np.broadcast_to(where[:, None], shape),
        where * np.uint64(len(text)),
    )


def texts(found: Sequence[bytes]) -> Cells:
    """One a row; none ends with a zero."""
    array: Any = np.array(found, "S")
    data = array.view(np.uint8).reshape(len(found), -1)
    lengths = np.fromiter(map(len, found), np.uint64, len(found))
    there = np.arange(data.shape[1], dtype=np.uint64) < lengths[:, None]
    return Cells(data, there, lengths)


def numbers(data: Bytes) -> Numbers:
    """Of each row, the lowest byte first; at most eight."""
    wide = np.zeros((len(data), 8), np.uint8)
    wide[:, : data.shape[1]] = data
    return wide.view("<u8")[:, 0]


def _counted(data: Bytes, there: Mask) -> Cells:
    return Cells(data, there, there.sum(axis=1, dtype=np.uint64))


def decimal(values: Numbers) -> Cells:
    """As `str` has them."""
    width = len(str(int(values.max()))) if len(values) else 1
    powers = _TEN ** np.arange(width - 1, -1, -1, dtype=np.uint64)
    above = values[:, None] // powers
    there = above > 0
    there[:, -1] = True
    return _counted((above % _TEN).astype(np.uint8) + np.uint8(ord("0")), there)


_OF_BYTE = decimal(np.arange(256, dtype=np.uint64))
_HEX = np.frombuffer(b"".join(b"%02x" % each for each in range(256)), np.uint8).reshape(256, 2)


def dotted(values: Numbers) -> Cells:
    """IPv4 addresses."""
    shifts = np.array([24, 16, 8, 0], np.uint64)
    parts = (values[:, None] >> shifts & np.uint64(255)).astype(np.intp)
    data = np.full((len(values), 4, 4), ord("."), np.uint8)
    there = np.ones(data.shape, np.bool_)
    data[:, :, :3], there[:, :, :3] = _OF_BYTE.data[parts], _OF_BYTE.there[parts]
    lengths = _OF_BYTE.lengths[parts].sum(axis=1) + np.uint64(3)
    return Cells(data.reshape(-1, 16)[:, :15], there.reshape(-1, 16)[:, :15], lengths)


def colons(values: Numbers) -> Cells:
    """MAC addresses."""
    shifts = np.arange(40, -1, -8, dtype=np.uint64)
    parts = (values[:, None] >> shifts & np.uint64(255)).astype(np.intp)
    data = np.full((len(values), 6, 3), ord(":"), np.uint8)
    data[:, :, :2] = _HEX[parts]
    found = data.reshape(-1, 18)[:, :17]
    return Cells(found, np.ones(found.shape, np.bool_), np.full(len(found), 17, np.uint64))


def varint(values: Numbers) -> Cells:
    """As protobuf has them."""
    width = max(1, -(-int(values.max()).bit_length() // 7)) if len(values) else 1
    shifts = np.arange(0, 7 * width, 7, dtype=np.uint64)
    above = values[:, None] >> shifts
    there = above > 0
    there[:, 0] = True
    data = (above & np.uint64(127)).astype(np.uint8)
    data[:, :-1] |= there[:, 1:].astype(np.uint8) << np.uint8(7)
    return _counted(data, there)
