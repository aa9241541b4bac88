"""Linux's jhash, and the slots of a spread. Both planes compute them here, so they cannot differ.

jhash is Bob Jenkins' lookup3 as in `include/linux/jhash.h`, for little-endian machines.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np  # see `_elect`
    import numpy.typing as npt

    _Words = npt.NDArray[np.uint32]

SLOTS = 256
_INITIAL = 0xDEADBEEF
_WORD = 0xFFFFFFFF


def jhash2(words: Sequence[int], initial: int = 0) -> int:
    """The kernel's `jhash2(words, len(words), initial)`: 32-bit words in, 32 bits out."""
    a = b = c = (_INITIAL + (len(words) << 2) + initial) & _WORD
    at, left = 0, len(words)
    while left > 3:
        a = (a + words[at]) & _WORD
        b = (b + words[at + 1]) & _WORD
        c = (c + words[at + 2]) & _WORD
        a, b, c = _mix(a, b, c)
        at, left = at + 3, left - 3
    if left == 0:
        return c
    tail = (*words[at:], 0, 0)
    return _final((a + tail[0]) & _WORD, (b + tail[1]) & _WORD, (c + tail[2]) & _WORD)


def jhash(data: bytes, initial: int = 0) -> int:
    """jhash2 over the bytes, padded with zeros to whole words, each read little-endian."""
    data += bytes(-len(data) % 4)
    return jhash2(struct.unpack(f"<{len(data) // 4}I", data), initial)


def slot(value: int) -> int:
    """The slot of a spread that a hash value picks."""
    return value >> 24


def spread_slots(members: Iterable[tuple[int, int]]) -> list[int]:
    """Fill the slots of a spread with the ids of its (id, weight) members: weighted rendezvous
    hashing, so that a change of members moves only the changed member's share. No members: []."""
    ordered = tuple(sorted(members))
    return [ordered[i][0] for i in winners(ordered).tolist()] if ordered else []


Ordered = tuple[tuple[int, int], ...]
"""Members of a spread, (id, weight), by id."""


def winners(ordered: Ordered) -> npt.NDArray[np.uint8]:
    """For each slot, which of the members it goes to: at least one of them, lowest id first."""
    found = _known.get(ordered)
    if found is None:
        (found,) = _elect([ordered])
        _keep(ordered, found)
    return found


def prepare(many: Iterable[Ordered]) -> None:
    """Have `winners` know these: of many at a time a spread takes a tenth of the time."""
    by_size: dict[int, list[Ordered]] = {}
    for ordered in dict.fromkeys(many):
        found = _known.get(ordered)
        if found is not None:
            _keep(ordered, found)
        elif ordered:
            by_size.setdefault(len(ordered), []).append(ordered)
    for alike in by_size.values():
        for at in range(0, len(alike), _AT_ONCE):
            some = alike[at : at + _AT_ONCE]
            for ordered, found in zip(some, _elect(some), strict=True):
                _keep(ordered, found)


#: Those that were asked for last, and how many: for each 256 bytes.
_known: dict[Ordered, npt.NDArray[np.uint8]] = {}
_MOST = 4096
#: Spreads whose scores fit a CPU's cache.
_AT_ONCE = 32
#: Bits of a score that say which member's it is.
_WHO = 255
_keeping = Lock()


def _keep(ordered: Ordered, found: npt.NDArray[np.uint8]) -> None:
    with _keeping:
        _known.pop(ordered, None)
        if len(_known) >= _MOST:
            del _known[next(iter(_known))]
        _known[ordered] = found


def _elect(alike: Sequence[Ordered]) -> npt.NDArray[np.uint8]:
    """The winners of spreads of as many members, a row each."""
    import numpy as np  # slow to import, and most who know this module spread nothing

    flat = (number for ordered in alike for member in ordered for number in member)
    members = np.fromiter(flat, np.int64).reshape(len(alike), -1, 2)  # id and weight
    weights = members[:, :, 1].astype(np.float64)
    divisors, rows = _negative_logarithms(members[:, :, 0])
    best = np.zeros((len(alike), SLOTS))
    for at in range(weights.shape[1]):
        # Positive numbers: in the place of their last bits says who it is, the lower id higher.
        score = weights[:, at : at + 1] / divisors[rows[:, at]]
        bits = score.view(np.int64)
        bits &= ~_WHO
        bits |= _WHO - at
        np.maximum(best, score, out=best)
    found: npt.NDArray[np.uint8] = (_WHO - (best.view(np.int64) & _WHO)).astype(np.uint8)
    return found


def _rotate(word: int, by: int) -> int:
    return ((word << by) | (word >> (32 - by))) & _WORD


def _mix(a: int, b: int, c: int) -> tuple[int, int, int]:
    a, c = ((a - c) & _WORD) ^ _rotate(c, 4), (c + b) & _WORD
    b, a = ((b - a) & _WORD) ^ _rotate(a, 6), (a + c) & _WORD
    c, b = ((c - b) & _WORD) ^ _rotate(b, 8), (b + a) & _WORD
    a, c = ((a - c) & _WORD) ^ _rotate(c, 16), (c + b) & _WORD
    b, a = ((b - a) & _WORD) ^ _rotate(a, 19), (a + c) & _WORD
    c, b = ((c - b) & _WORD) ^ _rotate(b, 4), (b + a) & _WORD
    return a, b, c


def _final(a: int, b: int, c: int) -> int:
    c = ((c ^ b) - _rotate(b, 14)) & _WORD
    a = ((a ^ c) - _rotate(c, 11)) & _WORD
    b = ((b ^ a) - _rotate(a, 25)) & _WORD
    c = ((c ^ b) - _rotate(b, 16)) & _WORD
    a = ((a ^ c) - _rotate(c, 4)) & _WORD
    b = ((b ^ a) - _rotate(a, 14)) & _WORD
    return ((c ^ b) - _rotate(b, 24)) & _WORD


#: Where the row of a member is, and how many there are at most.
_rows: dict[int, int] = {}
_MOST_ROWS = 8192
_table: list[npt.NDArray[np.float64]] = []


def _negative_logarithms(
    ids: npt.NDArray[np.int64],
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    """-ln((h + 0.5) / 2^32) for h = jhash2((id, slot)), of every slot, always above zero: a table,
    and for each of these ids which row of it is its own."""
    import numpy as np  # see `_elect`

    with _keeping:
        order = ids.ravel().tolist()
        missing = [id for id in dict.fromkeys(order) if id not in _rows]
        if missing:
            if len(_rows) + len(missing) > _MOST_ROWS:
                _rows.clear()
                _table.clear()
                missing = list(dict.fromkeys(order))
            start = np.uint32(_INITIAL + 8 & _WORD)
            a = start + np.array(missing, np.uint32)[:, None]
            b = start + np.arange(SLOTS, dtype=np.uint32)[None, :]
            with np.errstate(over="ignore"):
                hashes = _final_of(a, b, np.full((len(missing), SLOTS), start))
            found = -np.log((hashes + 0.5) / 4294967296.0)
            _table[:] = [np.concatenate([*_table, found])]
            _rows.update(zip(missing, range(len(_rows), len(_rows) + len(missing)), strict=True))
        rows = np.array([_rows[id] for id in order]).reshape(ids.shape)
        return _table[0], rows


def _final_of(a: _Words, b: _Words, c: _Words) -> _Words:
    """`_final` of many."""
    import numpy as np  # see `_elect`

    def step(x: _Words, y: _Words, by: int) -> _Words:
        rotated = (y << np.uint32(by)) | (y >> np.uint32(32 - by))
        mixed: _Words = (x ^ y) - rotated
        return mixed

    c = step(c, b, 14)
    a = step(a, c, 11)
    b = step(b, a, 25)
    c = step(c, b, 16)
    a = step(a, c, 4)
    b = step(b, a, 14)
    return step(c, b, 24)
