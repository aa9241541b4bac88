"""What the page asks for, as JSON: numbers as agents said them, None where nobody knows."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from .collector import Collector, Edge
from .histograms import EDGES
from .tables import FACTS, QUANTITIES, Array, Key, Series, Table

#: Rules and counters of a pipeline that a view has: the busiest. Series of one plot.
MOST_ROWS, MOST_SERIES = 200, 64


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
            states = [each[2] for each in table.facts]
            for state in states:
                row["overlays"][state] += 1
            living = [state != "dead" for state in states]
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
        values[np.ix_(np.array(places), np.searchsorted(times, own))] = found_values.T
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
