"""Numbers of cells, and of records and images, that are free."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


class NoRoom(Exception):
    """No free slot of a kind's `what` ("cells", "records"): a grace period may free some."""

    def __init__(self, kind: str, what: str) -> None:
        super().__init__(f"{kind}: no free {what}")
        self.kind, self.what = kind, what


class NoPlace(NoRoom):
    """All the buckets of an index that a key may be in are full."""


class Pool:
    """Numbers 1..size-1 that are given out, the lowest that is free unless one is asked for: a
    kind's `what`. `top`: above all that were given out."""

    __slots__ = (
        "_free",
        "_lowest",
        "_taken",
        "broken",
        "held",
        "holds",
        "kind",
        "size",
        "top",
        "what",
    )

    def __init__(self, kind: str, what: str, size: int) -> None:
        self.kind, self.what, self.size = kind, what, size
        self._taken = bytearray(size)  # zeros, so that what nobody takes needs no memory
        self._taken[0] = 1
        self._free, self._lowest, self.top = size - 1, 1, 1
        self.holds = 0  # how many want that none that comes back is given out again
        self.held: list[int] = []  # those that came back since then
        self.broken = False

    def all_but(self, used: Array) -> None:
        """Make just these the ones that were given out."""
        taken = self._flags()
        taken[:] = 0
        taken[used] = taken[0] = 1
        self._free, self._lowest = self.size - int(taken.sum()), 1
        self.top = int(used.max(initial=0)) + 1

    def __len__(self) -> int:
        return self._free

    def _flags(self) -> Array:
        return np.frombuffer(self._taken, np.uint8)

    def take(self) -> int:
        """A free number. Raises NoRoom."""
        if not self._free:
            self._need(1)
        number = self._lowest = self._taken.index(0, self._lowest)
        self._taken[number] = 1  # as `_taking`, without the call
        self._free -= 1
        if number >= self.top:
            self.top = number + 1
        return number

    def take_beside(self, _: int) -> int:
        """A free number for what takes the place of another. Raises NoRoom."""
        return self.take()

    def take_like(self, number: int) -> int:
        """This number if it is free, else another. Raises NoRoom."""
        if number < self.size and not self._taken[number]:
            return self._taking(number)
        return self.take()

    def _taking(self, number: int) -> int:
        self._taken[number] = 1
        self._free -= 1
        if number >= self.top:
            self.top = number + 1
        return number

    def take_many(self, count: int) -> Array:
        """The lowest `count` free numbers. Raises NoRoom."""
        return self.take_all_like(np.zeros(count, np.uint32))

    def take_all_like(self, numbers: Array) -> Array:
        """Of these numbers those that are free, at their first place, and others elsewhere. Raises
        NoRoom."""
        self._need(len(numbers))
        taken, found = self._flags(), numbers.astype(np.uint32)
        found[found >= self.size] = 0
        free, first = taken[found] == 0, np.zeros(len(found), np.bool_)
        first[np.unique(found, return_index=True)[1]] = True
        found[~(free & first)] = 0
        taken[found] = 1
        rest = found == 0
        found[rest] = others = self._lowest_free(int(rest.sum()))
        taken[others] = 1
        self._free -= len(found)
        self.top = max(self.top, int(found.max(initial=0)) + 1)
        return found

    def _lowest_free(self, count: int) -> Array:
        end = self._lowest + 2 * count
        while True:
            free = np.flatnonzero(self._flags()[self._lowest : end] == 0)[:count]
            if len(free) == count:
                free += self._lowest
                self._lowest = int(free[-1]) + 1 if count else self._lowest
                return free
            end += end

    def give(self, number: int) -> None:
        if self.holds:
            self.held.append(number)
            return
        self._taken[number] = 0
        self._free += 1
        if number < self._lowest:
            self._lowest = number

    def give_many(self, numbers: Sequence[int]) -> None:
        if self.holds:
            self.held.extend(numbers)
        else:
            self.put_back(np.array(numbers, np.int64))

    def put_back(self, numbers: Array) -> None:
        """Undo a `take_many`: nobody saw what they stood for."""
        self._flags()[numbers] = 0
        self._free += len(numbers)
        self._lowest = min(self._lowest, int(numbers.min(initial=self._lowest)))

    def _need(self, count: int) -> None:
        if count > self._free and self.held:
            holds, self.holds, self.broken = self.holds, 0, True
            self._let_held_go()
            self.holds = holds
        if count > self._free:
            raise NoRoom(self.kind, self.what)

    def hold(self) -> None:
        """Give out none that comes back from now on, unless there are no others (`broken`)."""
        self.broken = self.broken and self.holds > 0
        self.holds += 1

    def let_go(self) -> None:
        """The end of a `hold`."""
        self.holds -= 1
        if not self.holds:
            self._let_held_go()

    def _let_held_go(self) -> None:
        held, self.held = self.held, []
        self.give_many(held)


class Pairs:
    """Cells of which a rule has two by turns: its place's number, and that number + `places`. A new
    rule takes one whose place is free, one that changes its priority the other of its own."""

    __slots__ = ("_pool", "_used", "places")

    def __init__(self, kind: str, what: str, places: int) -> None:
        self._pool, self.places = Pool(kind, what, places), places
        self._used = bytearray(2 * places)

    def all_but(self, used: Array) -> None:
        flags = np.frombuffer(self._used, np.uint8)
        flags[:] = 0
        flags[used] = 1
        self._pool.all_but(used % self.places)

    def __len__(self) -> int:
        return len(self._pool)

    @property
    def top(self) -> int:
        """Above all places that were given out."""
        return self._pool.top

    def take_like(self, number: int) -> int:
        """A cell of this place if it is free, else of another. Raises NoRoom."""
        cell = self._pool.take_like(number)
        self._used[cell] = 1
        return cell

    def take_many(self, count: int) -> Array:
        """For new rules. Raises NoRoom."""
        return self.take_all_like(np.zeros(count, np.uint32))

    def take_all_like(self, numbers: Array) -> Array:
        """As `Pool.take_all_like`. Raises NoRoom."""
        cells = self._pool.take_all_like(numbers)
        np.frombuffer(self._used, np.uint8)[cells] = 1
        return cells

    def take_beside(self, cell: int) -> int:
        """The other one of a rule's two. Raises NoRoom while packets may find the rule there."""
        other = (cell + self.places) % len(self._used)
        if self._used[other]:
            raise NoRoom(self._pool.kind, self._pool.what)
        self._used[other] = 1
        return other

    def give_many(self, cells: Sequence[int]) -> None:
        for cell in cells:
            self._used[cell] = 0
            if not self._used[(cell + self.places) % len(self._used)]:
                self._pool.give(cell % self.places)


class Halves:
    """Slots 1..2n of which a cell has an even and an odd one by turns: its record has two places.

    A new rule takes an even one while there are any: packets guess rightly which place it is. Where
    slots for rules that change are taken before those for new ones, 2n are enough for a request
    that changes or replaces all of n rules."""

    __slots__ = ("_pools",)

    def __init__(self, kind: str, what: str, size: int) -> None:
        #: Their numbers m stand for 2m and 2m - 1.
        self._pools = Pool(kind, what, size // 2 + 1), Pool(kind, what, size // 2 + 1)

    def all_but(self, used: Array) -> None:
        for odd, pool in enumerate(self._pools):
            pool.all_but((used[used % 2 == odd] + 1) // 2)

    def __len__(self) -> int:
        return sum(map(len, self._pools))

    def take(self) -> int:
        """One for a new rule. Raises NoRoom."""
        even, odd = self._pools
        return 2 * even.take() if len(even) else 2 * odd.take() - 1

    def take_beside(self, slot: int) -> int:
        """One for a rule that has `slot` so far. Raises NoRoom."""
        odd = ~slot & 1
        return 2 * self._pools[odd].take() - odd

    def take_many(self, count: int) -> Array:
        """For new rules. Raises NoRoom."""
        even, odd = self._pools
        first = min(count, len(even))
        rest = odd.take_many(count - first)
        return np.concatenate([2 * even.take_many(first), 2 * rest - 1])

    def give(self, slot: int) -> None:
        self._pools[slot & 1].give(slot + 1 >> 1)

    def give_many(self, slots: Sequence[int]) -> None:
        for odd, pool in enumerate(self._pools):
            pool.give_many([slot + 1 >> 1 for slot in slots if slot & 1 == odd])

    def put_back(self, slots: Array) -> None:
        for odd, pool in enumerate(self._pools):
            pool.put_back((slots[slots % 2 == odd] + 1) // 2)

    @property
    def holds(self) -> int:
        return self._pools[0].holds

    @property
    def broken(self) -> bool:
        return any(pool.broken for pool in self._pools)

    def hold(self) -> None:
        for pool in self._pools:
            pool.hold()

    def let_go(self) -> None:
        for pool in self._pools:
            pool.let_go()
