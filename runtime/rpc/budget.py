"""How much memory requests may take that have not come whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock

from ..agent import faults
from ..faults import refused


class Budget:
    """Memory for what is not all there yet: octets of one request, and of all at a time."""

    def __init__(self, one: int, all_: int) -> None:
        self.one, self.all = one, all_
        self._taken = 0
        self._lock = Lock()

    @contextmanager
    def share(self) -> Iterator[Callable[[int], None]]:
        """What takes so many octets more for one request, or raises `Refused`."""
        mine = 0

        def take(octets: int) -> None:
            nonlocal mine
            with self._lock:
                mine += octets
                self._taken += octets
                if mine > self.one:
                    title = f"the columns have more than {self.one >> 20} MiB"
                    raise refused(faults.too_much(title, "split them into several requests"))
                if self._taken > self.all:
                    title = "too much arrives at a time"
                    raise refused(faults.too_much(title, "send one bulk request after the other"))

        try:
            yield take
        finally:
            with self._lock:
                self._taken -= mine
