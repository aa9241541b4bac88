"""Looks at each edge in a thread of its own, so that one that is slow or gone delays no other."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, suppress
from functools import partial

from helioc.lang.text.diagnostics import Refused
from helioc.runtime.client import Client
from helioc.runtime.rpc import control_pb2 as pb

from .collector import Collector
from .graph import graph_of
from .reading import Looker, Reading
from .tables import Key

_log = logging.getLogger("controller.console")
#: Seconds: the longest pause before an edge that does not answer is asked again.
LONGEST_PAUSE = 10.0
#: Streams of results of an edge's pipelines: an agent has eight for one client in all.
MOST_STREAMS = 5
#: A client, from an edge's name, its address and a pipeline.
Connect = Callable[[str, str, str], Client]


class EdgePoller:
    """Looks at one edge every `period` seconds until it is stopped."""

    def __init__(
        self, name: str, address: str, collector: Collector, connect: Connect, period: float
    ) -> None:
        self.name, self.address = name, address
        self.collector, self.connect, self.period = collector, connect, period
        self._stopping = threading.Event()
        self._streams: dict[str, threading.Thread] = {}
        self._thread = threading.Thread(target=self._run, name=f"console {name}", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Returns at once; `join` waits."""
        self._stopping.set()

    def join(self) -> None:
        self._thread.join()

    def _run(self) -> None:
        pause = self.period
        while not self._stopping.is_set():
            try:
                with ExitStack() as owned:
                    clients = _Clients(self)
                    owned.callback(self._join_streams)  # behind the clients, whose end ends them
                    owned.callback(clients.close)
                    self._look_always(clients)
            except Refused as error:
                self.collector.lost(
                    self.name, error.diagnostics[0].title if error.diagnostics else ""
                )
            except Exception as error:
                _log.exception("%s", self.name)
                self.collector.lost(self.name, f"{type(error).__name__}: {error}")
            known = self.collector.edge(self.name)
            if known is not None and known.heard > known.since:
                pause = self.period
            self._stopping.wait(pause)
            pause = min(2 * pause, LONGEST_PAUSE)

    def _look_always(self, clients: _Clients) -> None:
        """Raises `Refused` when the edge does not answer."""
        looker, due = Looker(), time.monotonic()
        while not self._stopping.is_set():
            self._watch_changes(clients)  # first, so that what changes behind a look is reported
            found = looker.look(clients)
            self.collector.put(self.name, found)
            self._draw(found, clients)
            self._watch_results(found, clients)
            due = max(due + self.period, time.monotonic())
            self._stopping.wait(due - time.monotonic())

    def _draw(self, found: Reading, clients: _Clients) -> None:
        edge = self.collector.edge(self.name)
        for name, facts in found.pipelines.items():
            known = edge.graphs.get(name) if edge is not None else None
            if known is None or known[0] != facts["digest"]:
                manifest = clients(name).schema(again=known is not None).manifest
                self.collector.drawn(self.name, name, facts["digest"], graph_of(manifest))

    # ---- what comes by itself -----------------------------------------------------------------

    # Streams that there are not yet, and those that broke while the agent answers.

    def _watch_changes(self, clients: _Clients) -> None:
        """Returns when the agent watches, or refused to."""
        begun = [
            self._stream("changes", partial(self._changes, clients(""))),
            self._stream("packets", partial(self._packets, clients(""))),
        ]
        for each in begun:
            each.wait()

    def _watch_results(self, found: Reading, clients: _Clients) -> None:
        for name in found.pipelines:
            sessions = found.tables[Key(name, "session")]
            self.collector.sessions_are(self.name, name, {facts[0] for facts in sessions.facts})
            if sessions.items:
                self._stream(f"results {name}", partial(self._results, name, clients(name)))

    def _stream(self, what: str, read: Callable[[threading.Event], None]) -> threading.Event:
        """The event is set when the stream has begun, or has failed."""
        running = [name for name, thread in self._streams.items() if thread.is_alive()]
        begun = threading.Event()
        if what in running or len(running) >= 2 + MOST_STREAMS:
            begun.set()
            return begun

        def body() -> None:
            try:
                with suppress(Refused, ValueError):  # ValueError: the channel is closed
                    read(begun)
            finally:
                begun.set()

        self._streams[what] = threading.Thread(target=body, name=f"{self.name} {what}", daemon=True)
        self._streams[what].start()
        return begun

    def _join_streams(self) -> None:
        for thread in self._streams.values():
            thread.join()
        self._streams = {}

    def _changes(self, client: Client, begun: threading.Event) -> None:
        with client.watch() as watch:
            begun.set()
            for event in watch:
                for sort, text in _told(event):
                    self.collector.event(self.name, event.pipeline, sort, text)

    def _packets(self, client: Client, begun: threading.Event) -> None:
        with client.watch_emitted(kept=False) as watch:
            begun.set()
            for event in watch:
                if event.HasField("emitted"):
                    raised = event.emitted
                    fields = ", ".join(f"{each.name} = {each.text}" for each in raised.fields)
                    text, when = f"{raised.event}: {fields}", raised.time / 1e9
                    self.collector.event(self.name, event.pipeline, "packet", text, when)
                else:
                    for sort, text in _told(event):
                        self.collector.event(self.name, event.pipeline, sort, text)

    def _results(self, pipeline: str, client: Client, _: threading.Event) -> None:
        for part in client.watch_stamp_results():
            times: dict[int, list[float]] = {}
            for each in part.results:
                if each.HasField("round_trip"):
                    times.setdefault(each.ssid, []).append(each.round_trip)
            for ssid, seconds in times.items():
                self.collector.measured(self.name, pipeline, ssid, seconds)


class _Clients:
    """Clients of an edge's agent, by pipelines, made when they are asked for."""

    def __init__(self, poller: EdgePoller) -> None:
        self._poller, self._made = poller, dict[str, Client]()

    def __call__(self, pipeline: str) -> Client:
        if pipeline not in self._made:
            made = self._poller.connect(self._poller.name, self._poller.address, pipeline)
            self._made[pipeline] = made
        return self._made[pipeline]

    def close(self) -> None:
        for client in self._made.values():
            client.close()


def _told(event: pb.Event) -> Iterator[tuple[str, str]]:
    """What sort an event is of, and what happened, in words."""
    match event.WhichOneof("what"):
        case "rules":
            rules = event.rules
            counts = {"created": len(rules.created), "changed": len(rules.changed),
                      "removed": len(rules.removed)}  # fmt: skip
            named = [f"{r.kind} {r.id}" for r in (*rules.created, *rules.changed, *rules.removed)]
            said = ", ".join(f"{n} {how}" for how, n in counts.items() if n)
            more = " …" if len(named) > 5 or rules.more else ""
            yield "rules", f"revision {event.revision}: {said} ({', '.join(named[:5])}{more})"
        case "port":
            yield "port", f"{event.port.port.name}: {event.port.port.state or 'changed'}"
        case "overlay":
            state = pb.Overlay.State.Name(event.overlay.state).lower()
            yield "overlay", f"{event.overlay.name or event.overlay.id}: {state}"
        case "changed":
            yield "pipeline", pb.PipelineChanged.Change.Name(event.changed.change).lower()
        case "missed":
            yield "missed", f"{event.missed} events were left out: too many at once"


class Pollers:
    """One for each edge that `targets` names, looked at every period: names and addresses."""

    def __init__(
        self, collector: Collector, connect: Connect, period: float,
        targets: Callable[[], Mapping[str, str]],
    ) -> None:  # fmt: skip
        self._collector, self._connect, self._period = collector, connect, period
        self._targets = targets
        self._pollers: dict[str, EdgePoller] = {}
        self._leaving: list[EdgePoller] = []
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="console", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._stopping.is_set():
            self._assign(self._targets())
            self._stopping.wait(min(self._period, 1.0))

    def _assign(self, targets: Mapping[str, str]) -> None:
        self._collector.are(targets)
        for name, poller in list(self._pollers.items()):
            if targets.get(name) != poller.address:
                poller.stop()
                self._leaving.append(self._pollers.pop(name))
        for name, address in targets.items():
            if not address:
                self._collector.lost(name, "the address of its agent is not known")
            elif name not in self._pollers:
                self._pollers[name] = EdgePoller(
                    name, address, self._collector, self._connect, self._period
                )

    def close(self) -> None:
        self._stopping.set()
        self._thread.join()
        pollers = [*self._pollers.values(), *self._leaving]
        for poller in pollers:
            poller.stop()
        for poller in pollers:
            poller.join()
