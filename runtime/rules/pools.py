"""Numbers of cells, and of records and images, that are free."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


#: How many numbers are left out at most for the sake of one; among how many one is looked for.
_AHEAD, _LATELY = 1024, 16


class NoRoom(Exception):
    """No free slot of a kind's `what` ("cells", "records"): a grace period may free some."""

    def __init__(self, kind: str, what: str) -> None:
        super().__init__(f"{kind}: no free {what}")
        self.kind, self.what = kind, what


class NoPlace(NoRoom):
    """All the buckets of an index that a key may be in are full."""


class Pool:
    """Numbers 1..size-1 that are given out, lowest first while none came back: a kind's `what`."""

    __slots__ = ("back", "broken", "held", "holds", "kind", "size", "top", "what")

    def __init__(self, kind: str, what: str, size: int) -> None:
        self.kind, self.what, self.size = kind, what, size
        self.top = 1
        self.back: list[int] = []
        self.holds = 0  # how many want that none that comes back is given out again
        self.held: list[int] = []  # those that came back since then
        self.broken = False

    def all_but(self, used: Array) -> None:
        """Make just these the ones that were given out."""
        self.top = int(used.max(initial=0)) + 1
        free = np.ones(self.top, np.bool_)
        free[used] = free[0] = False
        self.back = np.flatnonzero(free)[::-1].tolist()

    def __len__(self) -> int:
        return len(self.back) + self.size - self.top

    def take(self) -> int:
        """A free number. Raises NoRoom."""
        if not self.back:
            top = self.top
            if top < self.size:
                self.top = top + 1
                return top
            self._need(1)
        return self.back.pop()

    def take_beside(self, _: int) -> int:
        """A free number for what takes the place of another. Raises NoRoom."""
        return self.take()

    def take_like(self, number: int) -> int:
        """This number if it came back lately, or comes next or soon; else any. Raises NoRoom."""
        lately = self.back[-_LATELY:]
        if number in lately:
            del self.back[lately.index(number) - len(lately)]
            return number
        if self.top <= number < min(self.size, self.top + _AHEAD):
            self.back += range(number - 1, self.top - 1, -1)
            self.top = number + 1
            return number
        return self.take()

    def take_all_like(self, numbers: Array) -> Array:
        """These numbers where they rise from the next to come on, else any. Raises NoRoom."""
        first, last = int(numbers[0]), int(numbers[-1])
        spread = last - first < 2 * len(numbers) and bool((numbers[1:] > numbers[:-1]).all())
        if not (spread and self.top <= first < self.top + _AHEAD and last < self.size):
            return self.take_many(len(numbers))
        left = np.ones(last + 1 - self.top, np.bool_)
        left[numbers - self.top] = False
        self.back += (np.flatnonzero(left)[::-1] + self.top).tolist()
        self.top = last + 1
        return numbers.astype(np.uint32)

    def take_many(self, count: int) -> Array:
        """`count` free numbers: some that came back, and a run of fresh ones. Raises NoRoom."""
        self._need(count)
        reused = [self.back.pop() for _ in range(min(count, len(self.back)))]
        fresh = np.arange(self.top, self.top + count - len(reused), dtype=np.uint32)
        self.top += len(fresh)
        return np.concatenate([np.array(reused, np.uint32), fresh]) if reused else fresh

    def give(self, number: int) -> None:
        (self.held if self.holds else self.back).append(number)

    def give_many(self, numbers: Iterable[int]) -> None:
        (self.held if self.holds else self.back).extend(numbers)

    def put_back(self, numbers: Array) -> None:
        """Undo a `take_many`: nobody saw what they stood for."""
        self.back.extend(numbers.tolist()[::-1])

    def _need(self, count: int) -> None:
        if count > len(self) and self.held:
            self.back, self.held, self.broken = self.back + self.held, [], True
        if count > len(self):
            raise NoRoom(self.kind, self.what)

    def hold(self) -> None:
        """Give out none that comes back from now on, unless there are no others (`broken`)."""
        self.broken = self.broken and self.holds > 0
        self.holds += 1

    def let_go(self) -> None:
        """The end of a `hold`."""
        self.holds -= 1
        if not self.holds:
            self.back += self.held
            self.held = []


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
        pool = self._pools[odd]
        return 2 * (pool.back.pop() if pool.back else pool.take()) - odd

    def take_many(self, count: int) -> Array:
        """For new rules. Raises NoRoom."""
        even, odd = self._pools
        first = min(count, len(even))
        rest = odd.take_many(count - first)
        return np.concatenate([2 * even.take_many(first), 2 * rest - 1])

    def give(self, slot: int) -> None:
        pool = self._pools[slot & 1]
        (pool.held if pool.holds else pool.back).append(slot + 1 >> 1)

    def give_many(self, slots: Iterable[int]) -> None:
        for slot in slots:
            self.give(slot)

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
