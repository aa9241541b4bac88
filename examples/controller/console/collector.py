"""What the console knows of a fleet: how each edge is now, and how it was, in a bounded memory.

`put`, `lost` and the like are called by the threads that look at edges, the rest by the server.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, Literal, NamedTuple

from .histograms import Histogram
from .reading import Reading
from .rings import LEAST, MOST_MINUTES, MOST_SAMPLES, History
from .tables import QUANTITIES, Key, shortened

State = Literal["not asked yet", "reachable", "unreachable"]
#: Events that are kept of an edge; sessions of an edge that have a histogram.
EVENTS, HISTOGRAMS = 500, 200


class Event(NamedTuple):
    """`number`: grows by one from event to event of the fleet. `time`: of the Unix epoch. `sort`:
    "edge", "rules", "port", "overlay", "pipeline", "packet" or "missed"."""

    number: int
    time: float
    edge: str
    pipeline: str
    sort: str
    text: str


class Edge:
    """One edge. Who reads or changes it holds its lock."""

    def __init__(self, name: str, address: str) -> None:
        self.name, self.address = name, address
        self.state: State = "not asked yet"
        self.since = time.time()
        self.why = ""
        self.heard = 0.0  # when it last answered
        self.reading: Reading | None = None
        self.histories: dict[Key, History] = {}
        self.histograms: dict[tuple[str, int], Histogram] = {}
        self.graphs: dict[str, tuple[str, Any]] = {}  # of a pipeline: digest and drawing
        self.events: deque[Event] = deque(maxlen=EVENTS)
        self.version = 0  # grows with each change
        self.lock = threading.Lock()

    @property
    def series(self) -> int:
        """How many there are of it."""
        return sum(len(h.items) * len(QUANTITIES[k.group]) for k, h in self.histories.items())


class Collector:
    """Of all edges. `memory`: bytes that all samples of the past take at most."""

    def __init__(self, memory: int, now: Callable[[], float] = time.time) -> None:
        self.memory, self.now = memory, now
        self._edges: dict[str, Edge] = {}
        self._lock = threading.Lock()
        self._versions, self._events = itertools.count(1), itertools.count(1)

    def are(self, addresses: Mapping[str, str]) -> None:
        """Which edges there are, and where. One that is no longer there is forgotten."""
        with self._lock:
            edges = {name: self._edges.get(name) or Edge(name, "") for name in addresses}
            for name, edge in edges.items():
                edge.address = addresses[name]
                edge.version = edge.version or next(self._versions)
            self._edges = edges

    def edges(self) -> list[Edge]:
        with self._lock:
            return [edge for _, edge in sorted(self._edges.items())]

    def edge(self, name: str) -> Edge | None:
        with self._lock:
            return self._edges.get(name)

    # ---- what comes in ------------------------------------------------------------------------

    def put(self, name: str, reading: Reading) -> None:
        if (edge := self.edge(name)) is None:
            return
        with edge.lock:
            edge.heard = reading.time
            self._came(edge, "reachable", "")
            edge.reading = reading
            edge.histories = {k: h for k, h in edge.histories.items() if k in reading.tables}
            for key, table in reading.tables.items():
                if key not in edge.histories:
                    columns = len(QUANTITIES[key.group])
                    edge.histories[key] = History(table.items, columns, LEAST, LEAST)
            samples, minutes = self._lengths(edge, reading)
            for key, table in reading.tables.items():
                edge.histories[key].add(reading.time, table, samples, minutes)
            there = {pipeline for pipeline, _ in reading.tables}
            edge.histograms = {k: h for k, h in edge.histograms.items() if k[0] in there}
            edge.graphs = {k: g for k, g in edge.graphs.items() if k in there}

    def _lengths(self, edge: Edge, reading: Reading) -> tuple[int, int]:
        """Samples and minutes that an edge may keep: its part of the memory over its series. Each
        edge has the same part, so that none shortens the past of others."""
        series = sum(t.values.size for t in reading.tables.values())
        part = self.memory / max(len(self._edges), 1) / (4 * max(series, 1))
        samples = min(MOST_SAMPLES, int(part * 0.4))
        return max(LEAST, samples), max(LEAST, min(MOST_MINUTES, int(part * 0.6)))

    def lost(self, name: str, why: str) -> None:
        """It did not answer."""
        if (edge := self.edge(name)) is not None:
            with edge.lock:
                self._came(edge, "unreachable", why)

    def _came(self, edge: Edge, state: State, why: str) -> None:
        if state != edge.state:
            before, edge.state, edge.since = edge.state, state, self.now()
            if before != "not asked yet" or state == "unreachable":
                self._event(edge, "", "edge", f"{state}: {why}" if why else state, edge.since)
        edge.why, edge.version = why, next(self._versions)

    def event(self, name: str, pipeline: str, sort: str, text: str, when: float = 0.0) -> None:
        if (edge := self.edge(name)) is not None:
            with edge.lock:
                self._event(edge, pipeline, sort, text, when or self.now())

    def _event(self, edge: Edge, pipeline: str, sort: str, text: str, when: float) -> None:
        number = next(self._events)
        edge.events.append(Event(number, when, edge.name, pipeline, sort, shortened(text)))

    def measured(self, name: str, pipeline: str, ssid: int, seconds: Iterable[float]) -> None:
        """Round trips of a session."""
        if (edge := self.edge(name)) is None:
            return
        with edge.lock:
            found = edge.histograms.get((pipeline, ssid))
            if found is None:
                if len(edge.histograms) >= HISTOGRAMS:
                    return
                found = edge.histograms[pipeline, ssid] = Histogram()
            found.add(seconds, self.now())

    def sessions_are(self, name: str, pipeline: str, ssids: Collection[int]) -> None:
        """Histograms of others are forgotten."""
        if (edge := self.edge(name)) is not None:
            with edge.lock:
                edge.histograms = {
                    key: h for key, h in edge.histograms.items()
                    if key[0] != pipeline or key[1] in ssids
                }  # fmt: skip

    def drawn(self, name: str, pipeline: str, digest: str, graph: Any) -> None:
        if (edge := self.edge(name)) is not None:
            with edge.lock:
                edge.graphs[pipeline] = digest, graph

    # ---- what is asked ------------------------------------------------------------------------

    def events(self, after: int, edge: str = "", most: int = EVENTS) -> list[Event]:
        """The last events behind a number, oldest first: of one edge, or of all."""
        found = list[Event]()
        for each in self.edges():
            if edge in ("", each.name):
                with each.lock:
                    found += [event for event in each.events if event.number > after]
        found.sort()
        return found[-most:]

    @property
    def held(self) -> int:
        """Bytes that all samples take at most."""
        total = 0
        for edge in self.edges():
            with edge.lock:
                total += sum(
                    (h.samples.length + h.minutes.length) * len(h.items)
                    * len(QUANTITIES[k.group]) * 4
                    for k, h in edge.histories.items()
                )  # fmt: skip
        return total
