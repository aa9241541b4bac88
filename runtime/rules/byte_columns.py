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
    """Of each row some bytes: those of `octets` [row, column] that are `there`, so many."""

    octets: Bytes
    there: Mask
    lengths: Numbers

    def only(self, where: Mask) -> Cells:
        """Nothing in the other rows."""
        if where.all():
            return self
        return Cells(self.octets, self.there & where[:, None], self.lengths * where)

    def among(self, where: Mask) -> Cells:
        """These rows as those of more that are `where`, nothing in the others."""
        octets = np.zeros((len(where), self.octets.shape[1]), np.uint8)
        there = np.zeros(octets.shape, np.bool_)
        lengths = np.zeros(len(where), np.uint64)
        octets[where], there[where], lengths[where] = self
        return Cells(octets, there, lengths)

    def tobytes(self) -> bytes:
        """One row behind the other."""
        return self.octets[self.there].tobytes()


def beside(parts: Sequence[Cells]) -> Cells:
    """The bytes of each row one behind the other."""
    return Cells(
        np.concatenate([part.octets for part in parts], axis=1),
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
    octets = array.view(np.uint8).reshape(len(found), -1)
    lengths = np.fromiter(map(len, found), np.uint64, len(found))
    there = np.arange(octets.shape[1], dtype=np.uint64) < lengths[:, None]
    return Cells(octets, there, lengths)


def numbers(octets: Bytes) -> Numbers:
    """Of each row, the lowest byte first; at most eight."""
    wide = np.zeros((len(octets), 8), np.uint8)
    wide[:, : octets.shape[1]] = octets
    return wide.view("<u8")[:, 0]


def _counted(octets: Bytes, there: Mask) -> Cells:
    return Cells(octets, there, there.sum(axis=1, dtype=np.uint64))


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
    octets = np.full((len(values), 4, 4), ord("."), np.uint8)
    there = np.ones(octets.shape, np.bool_)
    octets[:, :, :3], there[:, :, :3] = _OF_BYTE.octets[parts], _OF_BYTE.there[parts]
    lengths = _OF_BYTE.lengths[parts].sum(axis=1) + np.uint64(3)
    return Cells(octets.reshape(-1, 16)[:, :15], there.reshape(-1, 16)[:, :15], lengths)


def colons(values: Numbers) -> Cells:
    """MAC addresses."""
    shifts = np.arange(40, -1, -8, dtype=np.uint64)
    parts = (values[:, None] >> shifts & np.uint64(255)).astype(np.intp)
    octets = np.full((len(values), 6, 3), ord(":"), np.uint8)
    octets[:, :, :2] = _HEX[parts]
    found = octets.reshape(-1, 18)[:, :17]
    return Cells(found, np.ones(found.shape, np.bool_), np.full(len(found), 17, np.uint64))


def varint(values: Numbers) -> Cells:
    """As protobuf has them."""
    width = max(1, -(-int(values.max()).bit_length() // 7)) if len(values) else 1
    shifts = np.arange(0, 7 * width, 7, dtype=np.uint64)
    above = values[:, None] >> shifts
    there = above > 0
    there[:, 0] = True
    octets = (above & np.uint64(127)).astype(np.uint8)
    octets[:, :-1] |= there[:, 1:].astype(np.uint8) << np.uint8(7)
    return _counted(octets, there)
