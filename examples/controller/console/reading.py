"""One look at an edge: its agent asked by gRPC, and the answers as tables and facts."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from helioc.lang.text.diagnostics import Refused
from helioc.runtime.client import Client
from helioc.runtime.rpc import control_pb2 as pb

from .paths import Sessions, overlay_paths
from .tables import Key, Rates, Table, table

#: Rules of a kind whose counts are read at each look, and of an edge in all. With more the agent
#: would have too much to do: such kinds are shown as not read.
MOST_RULES, MOST_OF_ALL = 2000, 5000
_STATES = {pb.Overlay.UNKNOWN: "unknown", pb.Overlay.ALIVE: "alive", pb.Overlay.DEAD: "dead"}
_PORT = ("rx_packets", "rx_bytes", "rx_dropped", "tx_packets", "tx_bytes", "tx_dropped")
_BITS = np.array([1, 8, 1, 1, 8, 1])

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
        status = clients("").status()
        made = Reading(time.time(), {}, _agent(status))
        measured = set[tuple[str, int]]()
        for found in status.pipelines:
            self._pipeline(clients(found.pipeline), found, made, measured)
        self._rates.keep(set(made.tables))
        self._sessions.keep(measured)
        return made

    def _pipeline(
        self, client: Client, found: pb.PipelineStatus, made: Reading,
        measured: set[tuple[str, int]],
    ) -> None:  # fmt: skip
        name, tables = found.pipeline, made.tables
        sessions = _sessions_of(client)
        intents = client.intents()
        paths = {}
        rows = []
        for each in sessions:
            measured.add((name, each.parameters.ssid))
            path = self._sessions.measured(name, each)
            paths[each.parameters.name] = path
            rows.append((each, path))
        tables[Key(name, "port")] = self._ports(name, found.ports)
        tables[Key(name, "counter")] = self._counters(name, client.stats().events)
        rules, read = _rules(client, found, intents)
        tables[Key(name, "overlay")] = self._overlays(name, found, paths, rules)
        tables[Key(name, "rule")] = self._counted(name, "rule", _names(found), rules)
        tables[Key(name, "kind")] = self._kinds(name, found.kinds, rules, read)
        tables[Key(name, "session")] = self._session_table(name, rows)
        tables[Key(name, "slice")] = self._slices(name, intents, rules)
        tables[Key(name, "queue")] = table("queue", [
            (f"CPU {each.cpu}", [each.part], ()) for each in found.congestion.diverted
        ])  # fmt: skip
        tables[Key(name, "emitted")] = self._emitted(name, found.events)
        tables[Key(name, "state")] = table(
            "state", [(s.state, [s.entries], (s.capacity,)) for s in found.states]
        )
        made.pipelines[name] = _facts(found)

    def _of(self, name: str, group: str, items: Sequence[str], counts: list[Any]) -> Any:
        width = len(counts[0]) if counts else 0
        array = np.array(counts, np.float64).reshape(len(items), width)
        return self._rates.of(Key(name, group), items, array, time.monotonic())

    def _ports(self, name: str, ports: Iterable[pb.Port]) -> Table:
        ports = list(ports)
        counts = [[getattr(port.counts, each) for each in _PORT] for port in ports]
        rates = self._of(name, "port", [port.name for port in ports], counts)
        return table("port", [
            (port.name, row * _BITS, (port.role, port.interface, port.state))
            for port, row in zip(ports, rates, strict=True)
        ])  # fmt: skip

    def _counters(self, name: str, events: Iterable[pb.EventCount]) -> Table:
        totals = {f"{each.group}: {each.reason}": each.count for each in events}
        rates = self._of(name, "counter", list(totals), [[n] for n in totals.values()])
        rows = zip(totals.items(), rates, strict=True)
        return table("counter", [(item, row, (total,)) for (item, total), row in rows])

    def _counted(
        self, name: str, group: str, names: dict[tuple[str, int], str], rules: dict[Any, Any]
    ) -> Table:
        """Packets and bits a second of rules, by their kind and name."""
        items = [_item(key, names) for key in rules]
        rates = self._of(name, group, items, list(rules.values()))
        rows = zip(items, rates, strict=True)
        return table(group, [(item, row * (1, 8), ("",)) for item, row in rows])

    def _overlays(
        self, name: str, found: pb.PipelineStatus, paths: Any, rules: dict[Any, Any]
    ) -> Table:
        there = list(overlay_paths((*found.overlays, *found.unprobed), paths))
        keys = [(overlay.kind, overlay.id) for overlay, _ in there]
        items = [overlay.name or f"{overlay.kind} {overlay.id}" for overlay, _ in there]
        counts = [rules.get(key, (np.nan, np.nan)) for key in keys]
        rates = self._of(name, "overlay", items, counts).reshape(len(items), 2)
        rates = rates * (1, 8)
        total = np.nansum(rates[:, 0])
        shares = rates[:, 0] / total if total > 0 else np.full(len(items), np.nan)
        return table("overlay", [
            (item, (path.delay, path.jitter, path.loss, *rate, share),
             (overlay.kind, overlay.id, _STATES.get(overlay.state, "unknown"),
              overlay.since, path.by))
            for item, (overlay, path), rate, share in zip(items, there, rates, shares, strict=True)
        ])  # fmt: skip

    def _kinds(
        self, name: str, kinds: Iterable[pb.KindCount], rules: dict[Any, Any], read: set[str]
    ) -> Table:
        kinds = list(kinds)
        sums = {kind.kind: np.zeros(2) for kind in kinds}
        for (kind, _), counts in rules.items():
            sums[kind] += counts
        totals = [sums[k.kind] if k.kind in read else np.full(2, np.nan) for k in kinds]
        rates = self._of(name, "kind", [kind.kind for kind in kinds], totals)
        rows = zip(kinds, rates, strict=True)
        return table("kind", [
            (k.kind, row * (1, 8), (k.rules, k.capacity, k.kind in read)) for k, row in rows
        ])  # fmt: skip

    def _session_table(self, name: str, rows: list[Any]) -> Table:
        items = [each.parameters.name for each, _ in rows]
        sent = self._of(name, "session", items, [[each.sent] for each, _ in rows])
        return table("session", [
            (each.parameters.name,
             (path.forward, path.backward, path.delay, path.jitter, path.loss, *rate),
             (each.parameters.ssid, each.parameters.reflector, each.running, each.sent,
              each.answered, each.lost, each.late, each.duplicates, each.reordered, each.invalid,
              each.why))
            for (each, path), rate in zip(rows, sent, strict=True)
        ])  # fmt: skip

    def _slices(self, name: str, intents: Iterable[pb.Intent], rules: dict[Any, Any]) -> Table:
        intents = list(intents)
        none = np.full(2, np.nan)
        totals = [
            sum((np.array(rules.get((r.kind, r.id), none)) for r in each.rules), np.zeros(2))
            for each in intents
        ]
        rates = self._of(name, "slice", [each.id for each in intents], totals)
        return table("slice", [
            (each.id, row * (1, 8), (pb.Intent.State.Name(each.state).lower(), each.why))
            for each, row in zip(intents, rates, strict=True)
        ])  # fmt: skip

    def _emitted(self, name: str, events: Iterable[pb.EventState]) -> Table:
        events = list(events)
        counts = [[each.emitted, each.suppressed, each.unwritten] for each in events]
        rates = self._of(name, "emitted", [each.event for each in events], counts)
        rows = zip(events, rates, strict=True)
        return table("emitted", [(each.event, row, (each.emitted,)) for each, row in rows])


def _names(found: pb.PipelineStatus) -> dict[tuple[str, int], str]:
    """Names of overlays; other rules go by their ids."""
    return {(o.kind, o.id): o.name for o in (*found.overlays, *found.unprobed) if o.name}


def _item(key: tuple[str, int], names: dict[tuple[str, int], str]) -> str:
    return f"{key[0]} {names.get(key) or key[1]}"


def _rules(
    client: Client, found: pb.PipelineStatus, intents: Iterable[pb.Intent]
) -> tuple[dict[tuple[str, int], tuple[int, int]], set[str]]:
    """Packets and bytes of rules by kind and id, and the kinds of which they were read."""
    counting = {kind.name for kind in client.schema().manifest.rules if kind.counts}
    first = {o.kind for o in (*found.overlays, *found.unprobed)}
    first |= {rule.kind for intent in intents for rule in intent.rules}
    read, left = set[str](), MOST_OF_ALL
    for kind in sorted(found.kinds, key=lambda kind: (kind.kind not in first, kind.rules)):
        if kind.kind in counting and kind.rules <= min(MOST_RULES, left):
            read.add(kind.kind)
            left -= kind.rules
    if not any(kind.rules for kind in found.kinds if kind.kind in read):
        return {}, read
    rules = client.rules(kinds=sorted(read), text=False)
    return {(r.kind, r.id): (r.packets or 0, r.octets or 0) for r in rules}, read


def _sessions_of(client: Client) -> list[pb.StampSession]:
    """Also of an agent of before, which knows no sessions."""
    try:
        return list(client.stamp_sessions().sessions)
    except Refused:
        return []


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
