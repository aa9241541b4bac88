"""The table of all overlays of a fleet, of which who looks sees a window: sorted and cut here."""

from __future__ import annotations

import re
import time
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from .collector import Collector, Edge
from .tables import FACTS, QUANTITIES, Array, Key, Table
from .views import plain

#: Rows that are sent at once; and sorted tables that are kept, for as many who look at once in
#: different ways.
MOST_WINDOW, MOST_KEPT = 200, 8


class Window(NamedTuple):
    """Rows [first, first + most) of all overlays that fit: of an edge, a state, with a text in
    their name; by a column, or by "name" or "state"."""

    edge: str = ""
    state: str = ""
    text: str = ""
    sort: str = "name"
    falling: bool = False
    first: int = 0
    most: int = 50
    when: float = 0.0  # 0: now


class _Part(NamedTuple):
    """What fits of one table: the numbers of its rows, and their values."""

    edge: str
    pipeline: str
    table: Table
    rows: Array
    values: Array


class _Sorted(NamedTuple):
    """`order`: numbers of rows, counted through all parts; part n begins at `starts[n]`."""

    made: float
    parts: list[_Part]
    starts: Array
    order: Array


class Overlays:
    """All overlays of a fleet, sorted and cut for who looks at them. What one sort came to is kept
    for `fresh` seconds, for who scrolls."""

    def __init__(self, collector: Collector, fresh: float = 1.0) -> None:
        self.collector, self.fresh = collector, fresh
        self._kept: dict[Window, _Sorted] = {}

    def window(self, asked: Window) -> dict[str, Any]:
        found = self._sorted(asked._replace(first=0, most=0))
        first = max(0, min(asked.first, len(found.order)))
        numbers = found.order[first : first + min(asked.most, MOST_WINDOW)]
        parts = np.searchsorted(found.starts, numbers, "right") - 1
        pairs = zip(parts.tolist(), (numbers - found.starts[parts]).tolist(), strict=True)
        return {
            "all": len(found.order), "first": first, "quantities": list(QUANTITIES["overlay"]),
            "facts": list(FACTS["overlay"]),
            "rows": [_row(found.parts[part], n) for part, n in pairs],
        }  # fmt: skip

    def _sorted(self, asked: Window) -> _Sorted:
        now = time.monotonic()
        kept = self._kept.get(asked)
        if kept is not None and now - kept.made < self.fresh:
            return kept
        parts = [part for edge in self.collector.edges() for part in _parts(edge, asked)]
        starts = np.cumsum([0, *(len(part.rows) for part in parts)])[:-1]
        found = _Sorted(now, parts, starts, _order(parts, asked))
        fresh = {k: v for k, v in self._kept.items() if now - v.made < self.fresh}
        self._kept = {**(fresh if len(fresh) < MOST_KEPT else {}), asked: found}
        return found


def _row(part: _Part, number: int) -> list[Any]:
    row = int(part.rows[number])
    return [part.edge, part.pipeline, part.table.items[row], plain(part.values[number]),
            list(part.table.facts[row])]  # fmt: skip


def _parts(edge: Edge, asked: Window) -> list[_Part]:
    """What fits of an edge."""
    if asked.edge not in ("", edge.name):
        return []
    made = list[_Part]()
    with edge.lock:
        for key, table in edge.reading.tables.items() if edge.reading is not None else ():
            if key.group == "overlay":
                rows = _fitting(table, asked)
                values = _values_at(edge, key, table, asked.when)[rows]
                made.append(_Part(edge.name, key.pipeline, table, rows, values))
    return made


def _fitting(table: Table, asked: Window) -> Array:
    if not asked.text and not asked.state:
        return np.arange(len(table.items))
    text, pairs = asked.text.lower(), zip(table.items, table.facts, strict=True)
    fits = [text in item.lower() and asked.state in ("", facts[2]) for item, facts in pairs]
    return np.flatnonzero(fits)


def _values_at(edge: Edge, key: Key, table: Table, when: float) -> Array:
    if not when:
        return table.values
    found = edge.histories[key].at(when)
    return found[1] if found is not None else np.full(table.values.shape, np.nan, np.float32)


@lru_cache(1 << 18)
def natural(name: str) -> tuple[Any, ...]:
    """By which people sort names: WAN9 before WAN10. Numbers are compared by their lengths and
    digits, since Python makes no number of more than 4300 of them."""
    parts = re.split(r"([0-9]+)", name.lower())
    digits = (each.lstrip("0") if at % 2 else each for at, each in enumerate(parts))
    return tuple((len(each) if at % 2 else 0, each) for at, each in enumerate(digits))


def _order(parts: list[_Part], asked: Window) -> Array:
    """What is not known comes last."""
    columns = list(QUANTITIES["overlay"])
    if asked.sort in columns:
        column = columns.index(asked.sort)
        by = np.concatenate([np.zeros(0), *(part.values[:, column] for part in parts)])
        by = np.where(np.isnan(by), np.inf, -by if asked.falling else by)
        return np.argsort(by, kind="stable")
    names = [
        (natural(_name(part, row, asked.sort)), natural(part.table.items[row]), natural(part.edge))
        for part in parts for row in part.rows.tolist()
    ]  # fmt: skip
    return np.array(sorted(range(len(names)), key=names.__getitem__, reverse=asked.falling), int)


def _name(part: _Part, row: int, sort: str) -> str:
    if sort == "edge":
        return part.edge
    return str(part.table.facts[row][2]) if sort == "state" else part.table.items[row]
