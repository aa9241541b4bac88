"""One look at an edge: its agent asked by gRPC, and the answers as tables and facts."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from helioc.runtime.client import Client
from helioc.runtime.rpc import control_pb2 as pb

from .asking import UNKNOWN, Answers, ask
from .paths import Path, Sessions, overlay_paths
from .tables import Array, Key, Rates, Table, shortened, table

_STATES = {pb.Overlay.UNKNOWN: "unknown", pb.Overlay.ALIVE: "alive", pb.Overlay.DEAD: "dead"}
_PACKETS_BITS = np.array([1, 8])
_PORT = ("rx_packets", "rx_bytes", "rx_dropped", "tx_packets", "tx_bytes", "tx_dropped")
_BITS = np.array([1, 8, 1, 1, 8, 1])
#: How many counts an item of a group has.
_COUNTS = {"port": 6, "counter": 1, "rule": 2, "overlay": 2, "kind": 2, "session": 1, "slice": 2,
           "emitted": 3}  # fmt: skip

#: A client of an edge's agent, by the name of a pipeline; empty: of the agent.
Clients = Callable[[str], Client]


@dataclass(frozen=True)
class Reading:
    """`time`: seconds of the Unix epoch; `facts`: of the agent; `pipelines`: of each, by name."""

    time: float
    tables: dict[Key, Table]
    facts: dict[str, Any] = field(default_factory=dict)
    pipelines: dict[str, dict[str, Any]] = field(default_factory=dict)


class Looker:
    """Looks at one edge again and again, and makes rates of what it counts."""

    def __init__(self) -> None:
        self._rates, self._sessions = Rates(), Sessions()

    def look(self, clients: Clients) -> Reading:
        """Raises `Refused`."""
        status, came = clients("").status(), time.monotonic()
        made = Reading(time.time(), {}, shortened(_agent(status)))
        measured = set[tuple[str, int]]()
        for found in status.pipelines:
            answers = ask(clients(found.pipeline), found, came)
            measured |= {(found.pipeline, each.parameters.ssid) for each in answers.sessions}
            for group, of in self._tables(found.pipeline, answers).items():
                made.tables[Key(found.pipeline, group)] = of
            made.pipelines[found.pipeline] = shortened(_facts(found))
        self._rates.keep(set(made.tables))
        self._sessions.keep(measured)
        return made

    def _tables(self, name: str, told: Answers) -> dict[str, Table]:
        paths = [self._sessions.measured(name, each) for each in told.sessions]
        return {
            "port": self._ports(name, told),
            "counter": self._counters(name, told),
            "overlay": self._overlays(name, told, paths),
            "rule": self._rules(name, told),
            "kind": self._kinds(name, told),
            "session": self._session_table(name, told, paths),
            "slice": self._slices(name, told),
            "queue": _queues(told.status),
            "emitted": self._emitted(name, told),
            "state": _states(told.status),
        }

    def _rates_of(
        self, name: str, group: str, items: Sequence[str], counts: list[Any], came: float
    ) -> Array:
        array = np.array(counts, np.float64).reshape(len(items), _COUNTS[group])
        return self._rates.of(Key(name, group), items, array, came)

    def _ports(self, name: str, told: Answers) -> Table:
        ports = told.status.ports
        items = [port.name for port in ports]
        counts = [[getattr(port.counts, each) for each in _PORT] for port in ports]
        rates = self._rates_of(name, "port", items, counts, told.status_at)
        facts = [(port.role, port.interface, port.state) for port in ports]
        return table("port", items, rates * _BITS, facts)

    def _counters(self, name: str, told: Answers) -> Table:
        totals = {f"{each.group}: {each.reason}": each.count for each in told.events}
        items, counts = list(totals), [[count] for count in totals.values()]
        rates = self._rates_of(name, "counter", items, counts, told.events_at)
        return table("counter", items, rates, [(total,) for total in totals.values()])

    def _rules(self, name: str, told: Answers) -> Table:
        rules, names = told.rules, _names(told.status)
        items = [f"{kind} {names.get((kind, id_)) or id_}" for kind, id_ in rules]
        rates = self._rates_of(name, "rule", items, list(rules.values()), told.rules_at)
        return table("rule", items, rates * _PACKETS_BITS, [()] * len(items))

    def _overlays(self, name: str, told: Answers, paths: Sequence[Path]) -> Table:
        sessions = zip(told.sessions, paths, strict=True)
        named = {session.parameters.name: path for session, path in sessions}
        there = list(overlay_paths((*told.status.overlays, *told.status.unprobed), named))
        items = _overlay_names([overlay for overlay, _ in there])
        counts = [told.rules.get((o.kind, o.id), UNKNOWN) for o, _ in there]
        rates = self._rates_of(name, "overlay", items, counts, told.rules_at) * _PACKETS_BITS
        values = np.full((len(items), 6), np.nan, np.float32)
        values[:, 3:5] = rates
        if items:
            values[:, :3] = [(path.delay, path.jitter, path.loss) for _, path in there]
        if (total := np.nansum(rates[:, 0])) > 0:
            values[:, 5] = rates[:, 0] / total
        facts = [
            (o.kind, o.id, _STATES.get(o.state, "unknown"), o.since, path.by) for o, path in there
        ]
        return table("overlay", items, values, facts)

    def _kinds(self, name: str, told: Answers) -> Table:
        kinds, read = told.status.kinds, told.read
        sums = {kind.kind: (0, 0) if kind.kind in read else UNKNOWN for kind in kinds}
        for (kind, _), (packets, octets) in told.rules.items():
            before = sums[kind]
            sums[kind] = before[0] + packets, before[1] + octets
        items = list(sums)
        rates = self._rates_of(name, "kind", items, list(sums.values()), told.rules_at)
        facts = [(kind.rules, kind.capacity, kind.kind in read) for kind in kinds]
        return table("kind", items, rates * _PACKETS_BITS, facts)

    def _session_table(self, name: str, told: Answers, paths: Sequence[Path]) -> Table:
        sessions = told.sessions
        items = [each.parameters.name for each in sessions]
        counts = [[each.sent] for each in sessions]
        sent = self._rates_of(name, "session", items, counts, told.sessions_at)
        values = [
            (p.forward, p.backward, p.delay, p.jitter, p.loss, rate[0])
            for p, rate in zip(paths, sent, strict=True)
        ]
        facts = [
            (s.parameters.ssid, s.parameters.reflector, s.running, s.sent, s.answered, s.lost,
             s.late, s.duplicates, s.reordered, s.invalid, s.why)
            for s in sessions
        ]  # fmt: skip
        return table("session", items, values, facts)

    def _slices(self, name: str, told: Answers) -> Table:
        """What the rules of intents counted, together."""
        items = [each.id for each in told.intents]
        totals = [
            [sum(told.rules.get((rule.kind, rule.id), UNKNOWN)[n] for rule in each.rules)
             for n in (0, 1)]
            for each in told.intents
        ]  # fmt: skip
        rates = self._rates_of(name, "slice", items, totals, told.rules_at)
        facts = [(pb.Intent.State.Name(each.state).lower(), each.why) for each in told.intents]
        return table("slice", items, rates * _PACKETS_BITS, facts)

    def _emitted(self, name: str, told: Answers) -> Table:
        events = told.status.events
        items = [each.event for each in events]
        counts = [[each.emitted, each.suppressed, each.unwritten] for each in events]
        rates = self._rates_of(name, "emitted", items, counts, told.status_at)
        facts = [(each.emitted,) for each in events]
        return table("emitted", items, rates, facts)


def _queues(found: pb.PipelineStatus) -> Table:
    diverted = found.congestion.diverted
    items = [f"CPU {each.cpu}" for each in diverted]
    return table("queue", items, [[each.part] for each in diverted], [()] * len(items))


def _states(found: pb.PipelineStatus) -> Table:
    states = found.states
    entries = [[each.entries] for each in states]
    return table("state", [s.state for s in states], entries, [(s.capacity,) for s in states])


def _overlay_names(overlays: Sequence[pb.Overlay]) -> list[str]:
    """Two kinds may have overlays of one name."""
    names = [each.name or f"{each.kind} {each.id}" for each in overlays]
    if len(set(names)) == len(names):
        return names
    return [f"{each.kind} {each.name or each.id}" for each in overlays]


def _names(found: pb.PipelineStatus) -> dict[tuple[str, int], str]:
    """Names of overlays; other rules go by their ids."""
    return {(o.kind, o.id): o.name for o in (*found.overlays, *found.unprobed) if o.name}


def _agent(status: pb.StatusReply) -> dict[str, Any]:
    ends = {each.name: each.ends for each in status.certificates}
    return {
        "version": status.version, "started": status.started, "clients": status.clients,
        "acknowledge": status.acknowledge, "findings": _findings(status.findings),
        "certificates": ends,
    }  # fmt: skip


def _facts(found: pb.PipelineStatus) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "program": found.program, "digest": found.digest, "revision": found.revision,
        "release": found.release, "findings": _findings(found.findings), "congestion": None,
    }  # fmt: skip
    if found.HasField("congestion"):
        c = found.congestion
        facts["congestion"] = {"congested": c.congested, "since": c.since, "why": c.why}
    return facts


def _findings(findings: Iterable[pb.Finding]) -> list[dict[str, Any]]:
    return [{"code": f.code, "title": f.title, "warning": f.warning} for f in findings][:20]
