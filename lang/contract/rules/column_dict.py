"""Dictionaries most of whose entries came by the column, and stay columns.

What came in bulk costs some bytes an entry and nothing to fill in; what single requests change
lies over it in a plain dictionary.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, MutableMapping
from contextlib import AbstractContextManager, nullcontext
from itertools import chain
from typing import Any, Generic, NamedTuple, TypeVar, cast

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
WithoutTurn = Callable[[], AbstractContextManager[None]]
K = TypeVar("K")
V = TypeVar("V")
#: Of a rule in its table: its id, or its match image in a grouped kind.
Handle = int | bytes

#: Entries at a time from which on columns are worth it.
FEWEST = 4096
#: Changes at a time from which on they are copied as a whole.
FEW = 64
_NONE: Any = object()
_GONE: Any = object()  # lies over an entry of the columns that was deleted
#: Of match images: a prime modulo which no power of two is near to another.
PRIME = 3_267_000_013


class Joining(NamedTuple, Generic[K]):
    """Entries on their way into columns: `joined` is to stand in the place of those of `before`.
    `gone`: keys over whose entries a mark lies, which are not in there; `given`: of what it was
    made."""

    before: Array
    more: int
    gone: list[K]
    given: tuple[Any, ...]
    joined: tuple[Array, ...]


class _Layered(MutableMapping[K, V]):
    """Entries that columns have, and over them what changed one by one."""

    __slots__ = ("_own", "_size")

    def __init__(self, own: Mapping[K, V]) -> None:
        """A dictionary is given away with this."""
        self._own: dict[K, V] = own if type(own) is dict else dict(own)
        self._size = len(own)

    def clear(self) -> None:
        self._own.clear()
        self._size = 0
        self._bare()

    @abstractmethod
    def _bare(self) -> None:
        """From now on the columns have nothing."""

    @abstractmethod
    def _below(self, key: K) -> V:
        """What the columns have; `_NONE` where they have nothing."""

    def _find(self, key: K) -> V:
        """What it leads to; `_NONE` where it is not there."""
        found: V = self._own.get(key, _NONE)
        if found is _NONE:
            return self._below(key)
        return _NONE if found is _GONE else found

    def __getitem__(self, key: K) -> V:
        found = self._find(key)
        if found is _NONE:
            raise KeyError(key)
        return found

    def get(self, key: K, default: Any = None) -> Any:
        found = self._find(key)
        return default if found is _NONE else found

    def __contains__(self, key: object) -> bool:
        return self._find(cast(K, key)) is not _NONE

    def __setitem__(self, key: K, value: V) -> None:
        self._size += self._find(key) is _NONE
        self._own[key] = value

    def __delitem__(self, key: K) -> None:
        if self._find(key) is _NONE:
            raise KeyError(key)
        if self._below(key) is _NONE:
            del self._own[key]
        else:
            self._own[key] = _GONE
        self._size -= 1

    def _forget(self, gone: Iterable[K]) -> None:
        """The columns have none of these any more."""
        own = self._own
        for key in gone:
            if own.get(key) is _GONE:
                del own[key]

    def patch(self, changes: Mapping[K, V | None], size: int) -> None:
        """See `column_dict.patch`."""
        if not size:
            self.clear()
            return
        self._own.update({key: _GONE if value is None else value for key, value in changes.items()})
        self._size = size

    def __len__(self) -> int:
        return self._size


class ColumnDict(_Layered[int, V]):
    """Numbers to `V`, which is int for all that came by the column."""

    __slots__ = ("_dense", "_high", "_keys", "_low", "_values")

    def __init__(self, own: Mapping[int, V]) -> None:
        super().__init__(own)
        self._bare()

    def _bare(self) -> None:
        self._set(np.zeros(0, np.uint64), np.zeros(0, np.uint32))

    def _set(self, keys: Array, values: Array) -> None:
        """In the order of the keys, of which none is twice."""
        self._keys, self._values = keys, values
        self._low, self._high = (int(keys[0]), int(keys[-1])) if len(keys) else (0, -1)
        self._dense = self._high - self._low + 1 == len(keys)

    def join(self, keys: Array, values: Array) -> None:
        """More entries; none of the keys is there."""
        self.take(self.joining(keys, values))

    def joining(
        self, keys: Array, values: Array, without_turn: WithoutTurn = nullcontext
    ) -> Joining[int]:
        """What `take` takes to `join` these: single entries may be changed in between, and while
        a `without_turn` block is carried out."""
        gone = [key for key, value in self._own.items() if value is _GONE]
        before, were = self._keys, self._values
        with without_turn():
            keys, values = _in_order(keys.astype(np.uint64), values.astype(np.uint32))
            seen = self._seen(gone)
            every, found = _in_order(
                np.concatenate([before[seen], keys]), np.concatenate([were[seen], values])
            )
        return Joining(before, len(keys), gone, (keys, values), (every, found))

    def take(self, made: Joining[int]) -> None:
        """From now on there are these, too."""
        if made.before is not self._keys:
            made = self.joining(*made.given)
        self._forget(made.gone)
        self._size += made.more
        self._set(*made.joined)

    def _seen(self, over: Collection[int]) -> Array | slice:
        """The entries of the columns over which none of these lies."""
        if not over or not len(self._keys):
            return slice(None)
        own = np.fromiter(over, np.uint64, len(over))
        seen = np.ones(len(self._keys), np.bool_)
        seen[self._keys.searchsorted(own[among(self._keys, own)])] = False
        return seen

    def _at(self, key: int) -> int:
        """Where it stands in the columns; -1 where it does not."""
        if not self._low <= key <= self._high:
            return -1
        if self._dense:
            return key - self._low
        # To look for a Python number would convert the whole column.
        at = int(self._keys.searchsorted(np.uint64(key)))
        return at if self._keys.item(at) == key else -1

    def _below(self, key: int) -> V:
        at = self._at(key)
        found: V = self._values.item(at) if at >= 0 else _NONE
        return found

    def __iter__(self) -> Iterator[int]:
        return (key for key, _ in self.pairs())

    def pairs(self) -> Iterator[tuple[int, V]]:
        """`items`, without looking for each."""
        own = self._own
        columns = zip(self._keys.tolist(), self._values.tolist(), strict=True)
        return chain(
            (pair for pair in own.items() if pair[1] is not _GONE),
            (pair for pair in columns if pair[0] not in own),
        )

    def numbers(self) -> list[int]:
        """`list`, without looking for each."""
        own = [key for key, value in self._own.items() if value is not _GONE]
        own += self._keys[self._seen(self._own)].tolist()
        return own

    def singles(self) -> Iterator[V]:
        """What lies over the columns."""
        return (value for value in self._own.values() if value is not _GONE)

    def columns(self) -> tuple[Array, Array]:
        """Keys and values, all of which are int."""
        seen = self._seen(self._own)
        more = [pair for pair in self._own.items() if pair[1] is not _GONE]
        keys = np.array([key for key, _ in more], np.uint64)
        values = np.array([value for _, value in more], np.uint32)
        return (
            np.concatenate([keys, self._keys[seen]]),
            np.concatenate([values, self._values[seen]]),
        )

    def within(self, keys: Array) -> npt.NDArray[np.bool_]:
        """Of each key whether it is there."""
        found = among(self._keys, keys.astype(np.uint64))
        for row in np.flatnonzero(_within(self._own, keys)).tolist():
            found[row] = self._own.get(keys.item(row), _GONE) is not _GONE
        return found


def _in_order(keys: Array, values: Array) -> tuple[Array, Array]:
    """By the keys."""
    if not (keys[1:] < keys[:-1]).any():
        return keys, values
    order = np.argsort(keys, kind="stable")  # quick where two are in order already
    return keys[order], values[order]


def joined(own: MutableMapping[Any, V], keys: Array, values: Array) -> MutableMapping[Any, V]:
    """The entries with more of them, of whose keys none is there; `own` is given away with this."""
    if len(keys) < FEWEST:
        own.update(zip(keys.tolist(), values.tolist(), strict=True))
        return own
    made = with_columns(own)
    made.join(keys, values)
    return made


def with_columns(own: MutableMapping[Any, V]) -> ColumnDict[V]:
    """The entries, with columns; `own` is given away with this."""
    return own if isinstance(own, ColumnDict) else ColumnDict(own)


def patch(
    own: MutableMapping[Any, Any], changes: Mapping[Any, Any], size: int | None = None
) -> None:
    """Set what these changes say; what is None in them goes. `size`: of all that is left, where it
    is known: then many cost no more than a copy."""
    if size is not None and isinstance(own, _Layered) and len(changes) >= FEW:
        own.patch(changes, size)
        return
    if len(changes) >= FEW and isinstance(own, dict):
        own.update(changes)
        for key in [key for key, value in changes.items() if value is None]:
            del own[key]
        return
    for key, value in changes.items():
        if value is None:
            own.pop(key, None)
        else:
            own[key] = value


def columns_of(own: Mapping[int, int]) -> tuple[Array, Array]:
    """Keys and values."""
    if isinstance(own, ColumnDict):
        return own.columns()
    count = len(own)
    return np.fromiter(own, np.uint64, count), np.fromiter(own.values(), np.uint32, count)


def keys_of(own: Mapping[Any, Any]) -> list[Any]:
    """`list`, quickly."""
    return own.numbers() if isinstance(own, ColumnDict) else list(own)


def singles_of(own: Mapping[Any, V | int]) -> Iterator[V]:
    """What its entries are that did not come by the column."""
    values = own.singles() if isinstance(own, ColumnDict) else own.values()
    return (value for value in values if not isinstance(value, int))


def pairs_of(own: Mapping[Any, V]) -> Iterable[tuple[Any, V]]:
    """`items`, quickly."""
    return own.pairs() if isinstance(own, ColumnDict) else own.items()


def within(own: Mapping[Any, Any], keys: Array) -> npt.NDArray[np.bool_]:
    """Of each key whether it is there."""
    return own.within(keys) if isinstance(own, ColumnDict) else _within(own, keys)


def _within(own: Mapping[Any, Any], keys: Array) -> npt.NDArray[np.bool_]:
    if len(own) < len(keys):
        known = np.sort(np.fromiter(own, np.uint64, len(own)))
        return among(known, keys.astype(np.uint64))
    return np.fromiter(map(own.__contains__, keys.tolist()), np.bool_, len(keys))


def among(ordered: Array, values: Array) -> npt.NDArray[np.bool_]:
    """Of each wanted number whether it is among those, which are in order and of the same type.
    (`np.isin` takes as long as there are numbers to look among.)"""
    if not len(ordered):
        return np.zeros(len(values), np.bool_)
    at = np.minimum(ordered.searchsorted(values), len(ordered) - 1)
    found: npt.NDArray[np.bool_] = ordered[at] == values
    return found


# ---- match images -----------------------------------------------------------------------------


class Imaged(_Layered[bytes, Handle]):
    """Match images to rules' handles. Of one that came by the column there is a hash, and the
    rule itself, by its number: `image_of` says its image and what it leads to."""

    __slots__ = ("_hashed", "_image_of")

    def __init__(
        self, own: Mapping[bytes, Handle], image_of: Callable[[int], tuple[bytes, int]]
    ) -> None:
        super().__init__(own)
        self._image_of = image_of
        self._bare()

    def _bare(self) -> None:
        #: In order: the hash in the upper half, the number in the lower.
        self._hashed: npt.NDArray[np.uint64] = np.zeros(0, np.uint64)

    def join(self, hashes: Array, base: int) -> None:
        """More entries, numbered from `base`; none of their images is there."""
        self.take(self.joining(hashes, base))

    def joining(
        self, hashes: Array, base: int, without_turn: WithoutTurn = nullcontext
    ) -> Joining[bytes]:
        """See `ColumnDict.joining`."""
        gone, before = [image for image, to in self._own.items() if to is _GONE], self._hashed
        hidden = [at for image in gone if (at := self._at(image)[0]) >= 0]
        with without_turn():
            seen = np.delete(before, hidden) if hidden else before
            numbers = np.arange(base, base + len(hashes), dtype=np.uint64)
            fresh = np.sort(hashes << np.uint64(32) | numbers)
            hashed = np.concatenate([seen, fresh])
            hashed.sort(kind="stable")  # quick where two are in order already
        return Joining(before, len(hashes), gone, (hashes, base), (hashed,))

    def take(self, made: Joining[bytes]) -> None:
        """From now on there are these, too."""
        if made.before is not self._hashed:
            made = self.joining(*made.given)
        self._forget(made.gone)
        self._size += made.more
        (self._hashed,) = made.joined

    def _have(self, hashes: Array) -> npt.NDArray[np.bool_]:
        """Of each hash whether an image that came by the column has it."""
        hashed = self._hashed
        if not len(hashed):
            return np.zeros(len(hashes), np.bool_)
        at = hashed.searchsorted(hashes << np.uint64(32))
        at = np.minimum(at, len(hashed) - 1)
        found: npt.NDArray[np.bool_] = hashed[at] >> np.uint64(32) == hashes
        return found

    def _at(self, image: bytes) -> tuple[int, int]:
        """Where it stands among what came by the column, and what it leads to; -1 where it does
        not."""
        hashed, own = self._hashed, hash_of(image)
        at = int(hashed.searchsorted(np.uint64(own << 32)))
        while at < len(hashed):
            found = hashed.item(at)
            if found >> 32 != own:
                break
            known, to = self._image_of(found & 0xFFFFFFFF)
            if known == image:
                return at, to
            at += 1
        return -1, -1

    def _below(self, key: bytes) -> Handle:
        at, to = self._at(key)
        return to if at >= 0 else _NONE

    def __iter__(self) -> Iterator[bytes]:
        own = self._own
        yield from (image for image, to in own.items() if to is not _GONE)
        for number in (self._hashed & np.uint64(0xFFFFFFFF)).tolist():
            image, _ = self._image_of(number)
            if image not in own:
                yield image

    def near(self, hashes: Array, images: Callable[[], list[bytes]]) -> npt.NDArray[np.bool_]:
        """See `column_dict.near`."""
        return self._have(hashes) | near(self._own, hashes, images)


def near(
    known: Mapping[bytes, Any], hashes: Array, images: Callable[[], list[bytes]]
) -> npt.NDArray[np.bool_]:
    """Of each of these images, by its hash, whether it may be one that is known."""
    if isinstance(known, Imaged):
        return known.near(hashes, images)
    if len(known) < len(hashes):
        return among(np.sort(_hashes(list(known))), hashes)
    return np.fromiter(map(known.__contains__, images()), np.bool_, len(hashes))


def _hashes(images: Collection[bytes]) -> Array:
    return np.fromiter(map(hash_of, images), np.uint64, len(images))


def hash_of(image: bytes) -> int:
    return int.from_bytes(image, "big") % PRIME


def hashes_of(parts: Iterable[tuple[int, Array]], count: int) -> Array:
    """Of `count` images, made of unsigned numbers that begin at a bit: a row each, or one for
    all."""
    total, prime = np.zeros(count, np.uint64), np.uint64(PRIME)
    for shift, values in parts:
        wide = values.astype(np.uint64)
        halves = [(shift, wide & np.uint64(0xFFFFFFFF) if values.itemsize > 4 else wide)]
        if values.itemsize > 4:
            halves.append((shift + 32, wide >> np.uint64(32)))
        for at, half in halves:
            product = half * np.uint64(pow(2, at, PRIME))
            total += product - product // prime * prime
    return total - total // prime * prime
