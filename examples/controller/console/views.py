"""What the page asks for, as JSON: numbers as agents said them, None where nobody knows."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from .collector import Collector, Edge
from .histograms import EDGES
from .tables import FACTS, QUANTITIES, Array, Key, Series, Table

#: Rules and counters of a pipeline that a view has: the busiest. Series of one plot, and rows of the
#: table of overlays, that are sent at once.
MOST_ROWS, MOST_SERIES, MOST_WINDOW = 200, 64, 200
#: Sorted tables that are kept, for as many who look at once in different ways.
MOST_KEPT = 8


def plain(values: Array) -> Any:
    """As lists, with seven digits, which float32 has, and None for NaN."""
    wide = values.astype(np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = 10.0 ** (6 - np.floor(np.log10(np.abs(wide))))
        rounded = np.where(np.isfinite(scale) & (wide != 0), np.round(wide * scale) / scale, wide)
    made = rounded.astype(object)
    made[~np.isfinite(wide)] = None
    return made.tolist()


def _number(value: Any) -> float | None:
    return None if not np.isfinite(value) else float(f"{value:.7g}")


# ---- the fleet ----------------------------------------------------------------------------------


def fleet(collector: Collector, after: int = 0) -> dict[str, Any]:
    """A row for each edge that has changed since version `after`; the names of all."""
    edges = collector.edges()
    rows, version = list[dict[str, Any]](), after
    for edge in edges:
        with edge.lock:
            if edge.version > after:
                rows.append(_summary(edge))
                version = max(version, edge.version)
    return {"now": collector.now(), "version": version, "edges": rows,
            "names": [edge.name for edge in edges]}  # fmt: skip


def _summary(edge: Edge) -> dict[str, Any]:
    row: dict[str, Any] = {
        "name": edge.name, "address": edge.address, "state": edge.state, "since": edge.since,
        "heard": edge.heard, "why": edge.why, "pipelines": [], "packets": None, "bits": None,
        "drops": None, "overlays": {"alive": 0, "dead": 0, "unknown": 0}, "delay": None,
        "loss": None, "congested": False, "findings": 0,
    }  # fmt: skip
    if edge.reading is None:
        return row
    reading = edge.reading
    row["pipelines"] = list(reading.pipelines)
    row["findings"] = len(reading.facts.get("findings", ()))
    for facts in reading.pipelines.values():
        row["findings"] += len(facts["findings"])
        row["congested"] |= bool(facts["congestion"] and facts["congestion"]["congested"])
    ports = [t.values for k, t in reading.tables.items() if k.group == "port"]
    if ports:
        packets, bits, drops, _, _, out_drops = np.nansum(np.concatenate(ports), axis=0)
        row |= {"packets": _number(packets), "bits": _number(bits),
                "drops": _number(drops + out_drops)}  # fmt: skip
    for key, table in reading.tables.items():
        if key.group == "overlay" and table.items:
            for facts in table.facts:
                row["overlays"][facts[2]] += 1
            living = [facts[2] != "dead" for facts in table.facts]
            for name, column in (("delay", 0), ("loss", 2)):
                known = table.values[living, column]
                if not np.isnan(known).all():
                    row[name] = max(row[name] or 0.0, _number(np.nanmax(known)) or 0.0)
    return row


# ---- an edge ------------------------------------------------------------------------------------


def edge_now(edge: Edge) -> dict[str, Any]:
    """All of an edge but its overlays, which may be many."""
    with edge.lock:
        made = _summary(edge)
        made["retained"] = _retained(edge)
        if edge.reading is not None:
            made |= {"time": edge.reading.time, "facts": edge.reading.facts,
                     "of": {name: dict(facts) for name, facts in edge.reading.pipelines.items()},
                     "tables": _tables(edge.reading.tables)}  # fmt: skip
    return made


def edge_at(edge: Edge, when: float) -> dict[str, Any]:
    """The same tables at a moment of the past; facts are those of now."""
    with edge.lock:
        made = _summary(edge)
        made["retained"] = _retained(edge)
        tables, taken = dict[Key, Table](), 0.0
        if edge.reading is not None:
            made |= {
                "facts": edge.reading.facts,
                "of": {name: dict(facts) for name, facts in edge.reading.pipelines.items()},
            }
            for key, table in edge.reading.tables.items():
                found = edge.histories[key].at(when)
                if found is not None:
                    taken = max(taken, found[0])
                values = found[1] if found is not None else np.full(table.values.shape, np.nan)
                tables[key] = Table(table.items, values, table.facts)
        made |= {"time": taken or None, "tables": _tables(tables)}
    return made


def _retained(edge: Edge) -> float | None:
    """When the oldest sample was taken."""
    first = [min(h.samples.oldest, h.minutes.oldest) for h in edge.histories.values()]
    first = [each for each in first if np.isfinite(each)]
    return min(first) if first else None


def _tables(tables: dict[Key, Table]) -> list[dict[str, Any]]:
    return [_table(k, t) for k, t in tables.items() if k.group != "overlay" and t.items]


def _table(key: Key, table: Table) -> dict[str, Any]:
    """Of more rows than `MOST_ROWS` the busiest."""
    rows = range(len(table.items))
    if len(rows) > MOST_ROWS:
        busy = np.nan_to_num(table.values[:, 0], nan=-1.0)
        rows = sorted(np.argsort(-busy, kind="stable")[:MOST_ROWS].tolist())  # type: ignore[assignment]
    values = plain(table.values)
    return {
        "pipeline": key.pipeline, "group": key.group, "all": len(table.items),
        "quantities": list(QUANTITIES[key.group]), "facts": list(FACTS[key.group]),
        "rows": [[table.items[row], values[row], list(table.facts[row])] for row in rows],
    }  # fmt: skip


# ---- overlays -----------------------------------------------------------------------------------


class Window(NamedTuple):
    """Rows [first, first + count) of all overlays that fit: of an edge, a state, with a text in
    their name; by a column, or by "name" or "state"."""

    edge: str = ""
    state: str = ""
    text: str = ""
    sort: str = "name"
    falling: bool = False
    first: int = 0
    count: int = 50
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
        rows, values = self._sorted(asked._replace(first=0, count=0))
        first = max(0, min(asked.first, len(rows)))
        last = first + min(asked.count, MOST_WINDOW)
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
                    fits = [
                        n for n, (item, facts) in enumerate(zip(table.items, table.facts))
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


def _order(rows: list[_Overlay], values: Array, asked: Window) -> Iterable[int]:
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


# ---- plots --------------------------------------------------------------------------------------


def history(edge: Edge, series: Sequence[Series], since: float, until: float) -> dict[str, Any]:
    """Times, and a column for each series; what has gaps in one and not in another has None."""
    parts = list[tuple[Array, Array, list[int]]]()
    with edge.lock:
        for key in dict.fromkeys(each.key for each in series):
            places = [n for n, each in enumerate(series) if each.key == key]
            found = edge.histories.get(key)
            columns = list(QUANTITIES.get(key.group, ()))
            places = [n for n in places if series[n].quantity in columns]
            if found is not None and places:
                cells = [(series[n].item, columns.index(series[n].quantity)) for n in places]
                parts.append((*found.since(since, until, cells), places))
    times = np.unique(np.concatenate([part[0] for part in parts])) if parts else np.zeros(0)
    values = np.full((len(series), len(times)), np.nan, np.float32)
    for own, found_values, places in parts:
        values[np.ix_(places, np.searchsorted(times, own))] = found_values.T
    return {"now": time.time(), "times": [round(t, 3) for t in times.tolist()],
            "columns": plain(values)}  # fmt: skip


def histogram(edge: Edge, pipeline: str, ssid: int, when: float, minutes: int) -> dict[str, Any]:
    with edge.lock:
        found = edge.histograms.get((pipeline, ssid))
        counts = found.until(when, minutes).tolist() if found is not None else []
    return {"edges": list(EDGES), "counts": counts, "minutes": minutes}


def graph(edge: Edge, pipeline: str) -> Any:
    with edge.lock:
        found = edge.graphs.get(pipeline)
    return found[1] if found is not None else None
