"""The hash of keys that filters and indexes share: see `RuleKind`."""

from __future__ import annotations

import struct
from operator import mul

import numpy as np
import numpy.typing as npt

from ...lang.contract.manifest.manifest import HASH_FACTOR

MOST = (1 << 64) - 1
_HALF, _FACTOR = np.uint64(32), np.uint64(HASH_FACTOR)

#: Of keys: see `hashes_of`.
Hashes = npt.NDArray[np.uint64]


class KeyHash:
    """Of the keys of a kind: `size` bytes each, a multiple of 4."""

    __slots__ = ("_factors", "_unpack")

    def __init__(self, size: int) -> None:
        whole, rest = divmod(size, 8)
        self._unpack = struct.Struct(f"<{whole}Q{'I' if rest else ''}").unpack
        self._factors = [pow(HASH_FACTOR, i + 1, 1 << 64) for i in range(whole + bool(rest))]

    def of(self, key: bytes) -> int:
        total: int = sum(map(mul, self._unpack(key), self._factors)) & MOST
        return (total ^ total >> 32) * HASH_FACTOR & MOST


def hashes_of(keys: npt.NDArray[np.uint8]) -> Hashes:
    """Of each key: [row, byte]."""
    count, size = keys.shape
    total, word = np.zeros(count, np.uint64), np.zeros((count, 8), np.uint8)
    for i, at in enumerate(range(0, size, 8)):
        if at + 8 > size:
            word[:] = 0
        word[:, : size - at] = keys[:, at : at + 8]
        total += word.view("<u8")[:, 0] * np.uint64(pow(HASH_FACTOR, i + 1, 1 << 64))
    return (total ^ total >> _HALF) * _FACTOR
