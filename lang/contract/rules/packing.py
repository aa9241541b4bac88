"""Rules that are kept packed, on their way into their table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from .column_dict import Array, Joining
from .ie_values import fold
from .rulekinds import Kind
from .rules import Reference, Rule

_MISSING: Any = object()


class Packed(Protocol):
    """Rules of one kind, no group, kept as columns; `base` is the number of the first one. `ids`
    and `names` (or none at all) by row."""

    base: int

    def __len__(self) -> int: ...
    def rule(self, row: int) -> Rule: ...
    @property
    def ids(self) -> Array: ...
    @property
    def names(self) -> list[str]: ...

    def images(self, kind: Kind) -> list[bytes]:
        """The match images by row."""

    def hashes(self, kind: Kind) -> Array:
        """Of the match images (column_dict.py)."""

    def referring(self, to: Reference) -> Array:
        """The rows that refer to it."""


class Kept(Packed, Protocol):
    """Rules that were in force before this book was made. `youngest`: the highest sequence."""

    @property
    def kind(self) -> str: ...
    @property
    def youngest(self) -> int: ...

    def pointing(self) -> Mapping[Reference, int]: ...


class Packing:
    """What packed rules come to in their table. `ids`: in order; `priorities`: None where they are
    not known; `rules`, `keys`: where there are many."""

    __slots__ = ("base", "ids", "keys", "names", "priorities", "rules")

    def __init__(self, base: int, block: Packed) -> None:
        self.base, self.ids = base, np.sort(block.ids)
        self.priorities = _priorities(getattr(block, "priorities", _MISSING))
        names = zip(block.names, block.ids.tolist(), strict=True) if block.names else ()
        self.names = {fold(name): id_ for name, id_ in names if name}
        self.rules: Joining[int] | None = None
        self.keys: Joining[bytes] | None = None


def _priorities(given: Any) -> set[int] | None:
    """Those of a column; None where there may be any."""
    if given is _MISSING:
        return None
    return {0} if given is None else set(np.unique(given).tolist())


class Claimed:
    """Ids in runs: `first` and `last` of each, in order."""

    def __init__(self, ids: Array) -> None:
        """`ids`: in order, none twice and at least one."""
        ids = ids.astype(np.uint64)
        ends = np.flatnonzero(np.diff(ids) != 1)
        self.first = ids[np.concatenate([[0], ends + 1])]
        self.last = ids[np.concatenate([ends, [len(ids) - 1]])]

    def __contains__(self, id_: int) -> bool:
        return self._run(id_) >= 0

    def behind(self, id_: int) -> int:
        """The first that is none of them behind this one, which is."""
        return int(self.last[self._run(id_)]) + 1

    def _run(self, id_: int) -> int:
        at = int(self.first.searchsorted(np.uint64(id_), "right")) - 1
        return at if at >= 0 and id_ <= self.last.item(at) else -1
