"""The table of all overlays of a fleet, of which who looks sees a window: sorted and cut here."""

from __future__ import annotations

import re
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


class _Overlay(NamedTuple):
    edge: str
    pipeline: str
    item: str
    facts: tuple[Any, ...]


class Overlays:
    """All overlays of a fleet, sorted and cut for who looks at them. What one sort came to is kept
    for as long as nothing is heard of any edge."""

    def __init__(self, collector: Collector) -> None:
        self.collector = collector
        self._kept: dict[Any, tuple[int, list[_Overlay], Array]] = {}

    def window(self, asked: Window) -> dict[str, Any]:
        rows, values = self._sorted(asked._replace(first=0, most=0))
        first = max(0, min(asked.first, len(rows)))
        last = first + min(asked.most, MOST_WINDOW)
        numbers = plain(values[first:last]) if len(rows) else []
        return {
            "all": len(rows), "first": first, "quantities": list(QUANTITIES["overlay"]),
            "facts": list(FACTS["overlay"]),
            "rows": [
                [row.edge, row.pipeline, row.item, number, list(row.facts)]
                for row, number in zip(rows[first:last], numbers, strict=True)
            ],
        }  # fmt: skip

    def _sorted(self, asked: Window) -> tuple[list[_Overlay], Array]:
        generation = self.collector.generation
        kept = self._kept.get(asked)
        if kept is not None and kept[0] == generation:
            return kept[1:]
        rows, values = self._fitting(asked)
        order = _order(rows, values, asked)
        rows, values = [rows[n] for n in order], values[order]
        fresh = {k: v for k, v in self._kept.items() if v[0] == generation}
        self._kept = fresh if len(fresh) < MOST_KEPT else {}
        self._kept[asked] = generation, rows, values
        return rows, values

    def _fitting(self, asked: Window) -> tuple[list[_Overlay], Array]:
        rows, parts, text = list[_Overlay](), list[Array](), asked.text.lower()
        for edge in self.collector.edges():
            if asked.edge not in ("", edge.name):
                continue
            with edge.lock:
                found = edge.reading.tables.items() if edge.reading is not None else ()
                for key, table in found:
                    if key.group != "overlay":
                        continue
                    values = _values_at(edge, key, table, asked.when)
                    pairs = enumerate(zip(table.items, table.facts, strict=True))
                    fits = [
                        n for n, (item, facts) in pairs
                        if text in item.lower() and asked.state in ("", facts[2])
                    ]  # fmt: skip
                    rows += [_Overlay(edge.name, key.pipeline, table.items[n], table.facts[n])
                             for n in fits]  # fmt: skip
                    parts.append(values[fits])
        width = len(QUANTITIES["overlay"])
        return rows, np.concatenate(parts) if parts else np.zeros((0, width), np.float32)


def _values_at(edge: Edge, key: Key, table: Table, when: float) -> Array:
    if not when:
        return table.values
    found = edge.histories[key].at(when)
    return found[1] if found is not None else np.full(table.values.shape, np.nan, np.float32)


@lru_cache(1 << 18)
def natural(name: str) -> tuple[Any, ...]:
    """By which people sort names: WAN9 before WAN10."""
    parts = re.split(r"(\d+)", name.lower())
    return tuple((int(each), "") if each.isdecimal() else (0, each) for each in parts)


def _order(rows: list[_Overlay], values: Array, asked: Window) -> Array:
    """What is not known comes last."""
    columns = list(QUANTITIES["overlay"])
    if asked.sort in columns:
        by = values[:, columns.index(asked.sort)].astype(np.float64)
        by = np.where(np.isnan(by), np.inf, -by if asked.falling else by)
        return np.argsort(by, kind="stable")
    if asked.sort == "name":
        names = [(natural(row.item), natural(row.edge)) for row in rows]
    elif asked.sort == "edge":
        names = [(natural(row.edge), natural(row.item)) for row in rows]
    else:
        names = [(natural(str(row.facts[2])), natural(row.item)) for row in rows]
    return np.array(sorted(range(len(rows)), key=names.__getitem__, reverse=asked.falling), int)
