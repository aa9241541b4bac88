"""Samples of the past in a bounded memory: the last ones as they came, older ones by the minute."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .tables import Array, Table

MINUTE = 60.0
#: Samples, and minutes, that are kept at most: of a sample each two seconds half an hour, and a
#: day.
MOST_SAMPLES, MOST_MINUTES = 900, 1440
LEAST = 8


class Ring:
    """The last `length` samples of a table's values. Pages of it that were never written take no
    memory."""

    def __init__(self, length: int, rows: int, columns: int) -> None:
        self.length, self.count, self._at = length, 0, 0
        self._times = np.zeros(length)
        self._values = np.zeros((length, rows, columns), np.float32)

    def add(self, time: float, values: Array) -> None:
        self._times[self._at], self._values[self._at] = time, values
        self._at = (self._at + 1) % self.length
        self.count = min(self.count + 1, self.length)

    def _order(self) -> Array:
        """Places, the oldest sample's first."""
        return np.arange(self._at - self.count, self._at) % self.length

    @property
    def oldest(self) -> float:
        """When the oldest sample was taken; infinite without any."""
        return float(self._times[self._order()[0]]) if self.count else float("inf")

    def since(
        self, start: float, end: float, cells: Sequence[tuple[int, int]]
    ) -> tuple[Array, Array]:
        """Times in [start, end], and the values of these cells (row, column), a column each."""
        order = self._order()
        order = order[(self._times[order] >= start) & (self._times[order] <= end)]
        columns = [self._values[order, row, column] for row, column in cells]
        shape = len(order), len(cells)
        return self._times[order], np.stack(columns, 1) if columns else np.zeros(shape, np.float32)

    def at(self, time: float) -> tuple[float, Array] | None:
        """The last sample until then: when it was taken, and all its values."""
        order = self._order()
        before = order[self._times[order] <= time]
        return (float(self._times[before[-1]]), self._values[before[-1]]) if len(before) else None

    def changed(self, length: int, rows: int, kept: Sequence[tuple[int, int]]) -> Ring:
        """The same with another length and other rows; `kept`: (new row, old row). What was not
        there is NaN."""
        made = Ring(length, rows, self._values.shape[2])
        for place in self._order()[-length:]:
            values = np.full((rows, self._values.shape[2]), np.nan, np.float32)
            if kept:
                new, old = map(list, zip(*kept, strict=True))
                values[new] = self._values[place, old]
            made.add(float(self._times[place]), values)
        return made


class History:
    """The past of one table, by its items. Means of minutes leave out what was not known."""

    def __init__(self, items: tuple[str, ...], columns: int, samples: int, minutes: int) -> None:
        self.items = items
        self._rows = {item: row for row, item in enumerate(items)}
        self.samples = Ring(samples, len(items), columns)
        self.minutes = Ring(minutes, len(items), columns)
        self._minute, self._sum, self._known = 0.0, self._nothing(), self._nothing()

    def _nothing(self) -> Array:
        return np.zeros(self.samples._values.shape[1:])

    def add(self, time: float, table: Table, samples: int, minutes: int) -> None:
        """`samples`, `minutes`: how much may be kept by now."""
        if table.items != self.items or self._too_long(samples, minutes):
            self._change(table.items, samples, minutes)
        minute = time // MINUTE * MINUTE
        if minute != self._minute:
            self._end_minute()
            self._minute = minute
        known = ~np.isnan(table.values)
        self._sum += np.where(known, table.values, 0)
        self._known += known
        self.samples.add(time, table.values)

    def _end_minute(self) -> None:
        if self._known.any():
            mean = np.divide(self._sum, self._known, where=self._known > 0,
                             out=np.full(self._sum.shape, np.nan))  # fmt: skip
            self.minutes.add(self._minute + MINUTE / 2, mean.astype(np.float32))
        self._sum, self._known = self._nothing(), self._nothing()

    def _too_long(self, samples: int, minutes: int) -> bool:
        """Also much shorter than it may be."""
        now = self.samples.length + self.minutes.length
        return samples + minutes < now or samples + minutes > 2 * now

    def _change(self, items: tuple[str, ...], samples: int, minutes: int) -> None:
        kept = [(row, self._rows[item]) for row, item in enumerate(items) if item in self._rows]
        self._end_minute()
        self.samples = self.samples.changed(samples, len(items), kept)
        self.minutes = self.minutes.changed(minutes, len(items), kept)
        self.items, self._rows = items, {item: row for row, item in enumerate(items)}
        self._sum, self._known = self._nothing(), self._nothing()

    def since(
        self, start: float, end: float, cells: Sequence[tuple[str, int]]
    ) -> tuple[Array, Array]:
        """Times and values of these items and columns: by the minute as far as there are no single
        samples. Of an item that is not known the values are NaN."""
        places = [(self._rows.get(item, -1), column) for item, column in cells]
        known = [place for place in places if place[0] >= 0]
        first = self.samples.oldest
        # A minute has its middle as its time, and is left out where single samples reach into it.
        old, older = self.minutes.since(start, min(end, first - MINUTE / 2), known)
        new, newer = self.samples.since(max(start, first), end, known)
        times = np.concatenate((old, new))
        values = np.full((len(times), len(cells)), np.nan, np.float32)
        there = [number for number, place in enumerate(places) if place[0] >= 0]
        values[:, there] = np.concatenate((older, newer))
        return times, values

    def at(self, time: float) -> tuple[float, Array] | None:
        """All values at that time: of the sample before it, or the minute."""
        return self.samples.at(time) or self.minutes.at(time)
