"""Limits the memory of requests that have not come whole, or wait."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from threading import Lock


class Full(Exception):
    """There is no more memory: for one (`each`), or for anybody."""

    def __init__(self, each: bool) -> None:
        super().__init__()
        self.each = each


class Budget:
    """Bytes that `each` may hold, and `all_` at a time. May be used by any thread."""

    def __init__(self, each: int, all_: int) -> None:
        self.each, self.all = each, all_
        self._held, self._all, self._lock = Counter[Hashable](), 0, Lock()

    def change(self, who: Hashable, by: int) -> None:
        """Raises `Full`, and then nothing changes."""
        with self._lock:
            mine = self._held[who] + by
            if by > 0 and (mine > self.each or self._all + by > self.all):
                raise Full(mine > self.each)
            self._all += by
            self._held[who] = mine
            if not mine:
                del self._held[who]


class Share:
    """What one request holds of a budget. For one thread at a time."""

    def __init__(self, budget: Budget, who: Hashable) -> None:
        self._budget, self._who, self.held = budget, who, 0

    def hold(self, count: int) -> None:
        """So many bytes from now on. Raises `Full`, and then as many as before."""
        if count != self.held:
            self._budget.change(self._who, count - self.held)
            self.held = count

    def __enter__(self) -> Share:
        return self

    def __exit__(self, *_: object) -> None:
        self.hold(0)
