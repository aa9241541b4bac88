"""Keys of a rule kind: which are taken, and to which cell each leads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from errno import E2BIG, EEXIST
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from ...lang.contract.manifest.manifest import RuleKind
from ..kernel.libbpf import BpfError
from ..kernel.maps import BPF_NOEXIST, Map
from .index import Index
from .key_hash import Hashes
from .matches import Bound
from .pools import NoRoom
from .stored import ENTRIES, ENTRY

Array = npt.NDArray[Any]


class Entries(Protocol):
    """Keys are bytes, or [row, byte]; entries an array of ENTRIES."""

    @property
    def root(self) -> int:
        """What cell 0 says of where the keys are; more of them may change it."""

    def add(self, key: bytes, hash_: int, cell: int, bound: Bound) -> bool:
        """Whether the key was free, and leads to the cell now. Raises NoRoom, BpfError."""

    def cell_of(self, key: bytes) -> int | None:
        """The cell that the key leads to."""

    def remove(self, keys: Iterable[bytes]) -> None:
        """Those of the keys that are there."""

    def add_many(
        self, keys: Array, hashes: Hashes, entries: Array, beside: ThreadPoolExecutor | None
    ) -> list[Future[int]]:
        """Keys that are free and differ. Returns what is to be waited for. Raises NoRoom, BpfError;
        some are there then."""

    def reclaim(self) -> None:
        """After a grace period: what keys took that went before it can be used again."""

    def has_any(self, keys: Array, hashes: Hashes) -> bool:
        """Whether one of the keys is taken."""

    def read_all(self) -> tuple[Array, Array]:
        """All keys, and their entries."""

    def saved(self) -> dict[str, Array]:
        """What `restore` makes the same of: by name, see snapshot.py."""

    def restore(self, found: Mapping[str, Array]) -> None:
        """Fill empty maps of the same build. Raises BpfError."""

    def adopt(self, died: bool) -> tuple[Array, Array]:
        """As `read_all`, once before all else; `died`: a writer did, in whatever it was doing."""

    def close(self) -> None: ...


def entries_of(kind: RuleKind, maps: Mapping[str, Map]) -> Entries | None:
    """None of a kind that nothing looks up."""
    entries = maps.get(f"{kind.prefix}_entries")
    if entries is None:
        return None
    if not kind.buckets:
        return HashEntries(kind, entries)
    index, cells = (maps[f"{kind.prefix}_{name}"].mmap() for name in ("index", "cells"))
    return Index(kind, index, entries.mmap(), entries.spec.stride, cells)


class HashEntries:
    """In a kernel hash (layout 1)."""

    root = 0

    def __init__(self, kind: RuleKind, entries: Map) -> None:
        self._kind, self._map = kind, entries

    def add(self, key: bytes, hash_: int, cell: int, bound: Bound) -> bool:
        try:
            self._map.update(key, ENTRY.pack(cell, *bound), BPF_NOEXIST)
        except BpfError as error:
            if error.errno == EEXIST:
                return False
            if error.errno == E2BIG:
                raise NoRoom(self._kind.name, "keys") from None
            raise
        return True

    def cell_of(self, key: bytes) -> int | None:
        entry = self._map.lookup(key)
        return None if entry is None else int.from_bytes(entry[:4], "little")

    def remove(self, keys: Iterable[bytes]) -> None:
        self._map.delete_batch(b"".join(keys))

    def add_many(
        self, keys: Array, hashes: Hashes, entries: Array, beside: ThreadPoolExecutor | None
    ) -> list[Future[int]]:
        values = entries.view(np.uint8).reshape(len(keys), ENTRIES.itemsize)
        if beside is None:
            self._update(keys.data, values.data)
            return []
        half = len(keys) // 2
        return [
            beside.submit(self._update, keys[some].data, values[some].data)
            for some in (slice(0, half), slice(half, None))
        ]

    def _update(self, keys: memoryview, values: memoryview) -> int:
        try:
            return self._map.update_batch(keys, values)
        except BpfError as error:
            if error.errno == E2BIG:
                raise NoRoom(self._kind.name, "keys") from None
            raise

    def reclaim(self) -> None:
        """Nothing: the kernel waits by itself."""

    def has_any(self, keys: Array, hashes: Hashes) -> bool:
        return any(self._map.lookup(key.tobytes()) is not None for key in keys)

    def read_all(self) -> tuple[Array, Array]:
        data, values = self._map.read_all()
        keys = np.frombuffer(data, np.uint8).reshape(-1, self._kind.key_size)
        return keys, np.frombuffer(values, ENTRIES)

    def saved(self) -> dict[str, Array]:
        keys, entries = self.read_all()
        return {"keys": keys.reshape(-1), "entries": entries.view(np.uint8)}

    def restore(self, found: Mapping[str, Array]) -> None:
        self._map.update_batch(found["keys"].data, found["entries"].data)

    def adopt(self, died: bool) -> tuple[Array, Array]:
        return self.read_all()

    def close(self) -> None:
        """Nothing."""
