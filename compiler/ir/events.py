"""The counters of a pipeline: every event has an index in the map `events`."""

from __future__ import annotations

from collections.abc import Iterable

from ...lang.contract.manifest.manifest import Counter
from .expr import Event
from .names import symbols


class Events:
    """Index of an event by group and reason; the same for compiler, runtime and interpreter."""

    def __init__(self, counters: Iterable[Counter]) -> None:
        self.counters = tuple(counters)
        self._index = {(c.group, c.reason): c.index for c in self.counters}
        self.symbols = symbols(self._index, "EVENT")

    def __call__(self, group: str, reason: str) -> Event:
        symbol = self.symbols[group, reason]
        return Event(self._index[group, reason], group, reason, symbol)
