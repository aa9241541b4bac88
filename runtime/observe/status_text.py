"""Prints `helioctl status` as text and as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from ..congestion.status import Status as Congestion
from ..edge.steering_status import STEERED, SteeredSpread, steered_rows
from ..intents.push_status import OUTCOMES
from ..rules.report import quality_cells, quality_json, table
from .port_sample import PortSample
from .status import IntentState, Overlay, PipelineView, PushState, StatusView, health

_MOST = 8  # intents that failed, by name
_PORTS = ("port", "role", "interface", "state", "received", "bytes", "dropped", "sent", "bytes",
          "dropped")  # fmt: skip
_OVERLAYS = ("overlay", "state", "since", "loss", "delay", "jitter")
_COUNTS = ("rx_packets", "rx_bytes", "rx_dropped", "tx_packets", "tx_bytes", "tx_dropped")
_ERRORS = ("rx_errors", "tx_errors")


def status_text(view: StatusView, agent_here: bool, now: float) -> str:
    """`agent_here`: an agent runs that was not asked. `now`: in seconds of the Unix epoch."""
    parts = ["\n".join(_about_agent(view, agent_here, now))]
    if view.certificates:
        rows = [(c.name, c.subject, _day(c.ends), _left(c.ends - now)) for c in view.certificates]
        parts.append(table(("certificate", "subject", "ends", "left"), rows, frozenset()))
    alone = view.agent is None and not agent_here
    parts += ["\n".join(_about_pipeline(each, now, alone)) for each in view.pipelines]
    if not view.pipelines:
        parts.append("no pipeline is loaded")
    return "\n\n".join(parts)


def _about_agent(view: StatusView, agent_here: bool, now: float) -> Iterator[str]:
    agent, journal = view.agent, view.journal
    if agent is None and (held := [(p.holder, p.name) for p in view.pipelines if p.holder]):
        owners = ", ".join(f"process {pid} holds {name}" for pid, name in held)
        yield f"agent    not asked; {owners}"
        return
    if agent is None:
        yield "agent    not asked (--local)" if agent_here else "agent    none runs here"
        return
    clients = f"{agent.clients} client{'s' * (agent.clients != 1)}"
    up = duration(now - agent.started)
    yield f"agent    helioc {agent.version}, process {agent.pid}, up {up}, {clients}"
    if journal is None:
        yield "journal  none: nothing is kept over a reboot"
    else:
        synced = "nothing written since it started"
        if journal.synced:
            synced = f"last on the disk {duration(now - journal.synced)} ago"
        yield (f"journal  {journal.state}, {journal.directory}, {_size(journal.size)}, {synced}, "
               f"requests answered {agent.acknowledge} they are on the disk")  # fmt: skip
    for found in agent.findings:
        yield f"         {found.code}: {found.title}"


def _about_pipeline(view: PipelineView, now: float, alone: bool) -> Iterator[str]:
    """`alone`: no agent runs here."""
    about = f"{view.name}  {health(view)['state']}"
    if view.program:  # empty of one that could not be restored, or read
        about += (f", revision {view.revision:,}, release {view.release}, {view.program} "
                  f"{view.digest[:12]}")  # fmt: skip
    yield about
    rows = [_overlay(each, now) for each in view.overlays]
    rules = [(r.kind, f"{r.rules:,}", f"{r.capacity:,}") for r in view.rules]
    yield from _table(_PORTS, [_port(port) for port in view.ports], range(4, 10))
    yield from _table(_OVERLAYS, rows, range(3, 6))
    yield from _table(STEERED, steered_rows(view.steered), range(2, 6))
    if due := min((each.due for each in view.steered if each.due), default=0.0):
        yield f"  decided again in {max(0.0, due - now):.1f} s"
    if alone and not view.holder and any(each.quality is None for each in view.overlays):
        yield "  not measured: the agent (`heliod`) probes overlays, and none runs here"
    yield from _table(("kind", "rules", "of"), rules, range(1, 3))
    states = [(s.state, f"{s.entries:,}", f"{s.capacity:,}") for s in view.states]
    yield from _table(("state", "entries", "of"), states, range(1, 3))
    events = [(e.event, *(f"{count:,}" for count in e[1:])) for e in view.events]
    yield from _table(("event", "emitted", "suppressed", "unwritten"), events, range(1, 4))
    if view.program and not view.ports:
        yield "  ports       in another network namespace"
    yield f"  intents     {_intents(view.intents)}"
    yield f"  reports     {_reports(view.reports, now)}"
    yield f"  congestion  {_congestion(view, now)}"
    for found in view.findings:
        yield f"  {found.code}: {found.title}"


def _port(port: PortSample) -> Sequence[str]:
    counts = [f"{getattr(port.counts, name):,}" if port.counts else "-" for name in _COUNTS]
    return port.name, port.role, port.place, port.state, *counts


def _overlay(each: Overlay, now: float) -> Sequence[str]:
    name, quality = each.name or f"{each.kind} {each.id}", each.quality
    since = duration(now - quality.since) if quality is not None else "-"
    state, *measured = quality_cells(quality)
    return name, state, since, *measured


def _intents(intents: Sequence[IntentState] | None) -> str:
    if intents is None:
        return "only the agent knows"
    counts = Counter(intent.state for intent in intents)
    failed = [intent.id for intent in intents if intent.state == "failed"]
    names = ", ".join(failed[:_MOST]) + (", …" if len(failed) > _MOST else "")
    summary = ", ".join(f"{count} {state}" for state, count in counts.items())
    return (summary or "none") + (f" ({names})" if failed else "")


def _reports(found: PushState | None, now: float) -> str:
    if found is None:
        return "not pushed"
    pushed, last = found.pushed, "none was sent yet"
    if pushed.tried:
        ago = duration(now - pushed.tried)
        last = f"the last failed {ago} ago: {pushed.why}" if pushed.why else f"sent {ago} ago"
    counts = f"{pushed.sent:,} sent, {pushed.dropped:,} dropped"
    return f"{last}; {counts}; to {found.otlp}"


def _congestion(view: PipelineView, now: float) -> str:
    found = view.congestion
    if found is None:
        return "only the agent knows" if view.holder else "not watched"
    since = duration(now - found.since)
    if not found.congested:
        return f"none for {since}"
    away = [f"{part:.0%} of CPU {cpu}" for cpu, part in found.diverted.items() if part]
    sent = f"; sent to other servers: {', '.join(away)}" if away else ""
    return f"for {since}: {found.why}{sent}"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], right: range) -> Iterator[str]:
    """Indented lines; none without rows."""
    lines = table(head, rows, frozenset(right)).split("\n") if rows else ()
    return (f"  {line}" for line in lines)


def duration(seconds: float) -> str:
    """`3 d 4 h`, `5 min`, `12 s`."""
    whole = max(0, int(seconds))
    for unit, size, below, small in (("d", 86400, "h", 3600), ("h", 3600, "min", 60)):
        if whole >= size:
            rest = whole % size // small
            return f"{whole // size} {unit}" + (f" {rest} {below}" if rest else "")
    return f"{whole // 60} min" if whole >= 60 else f"{whole} s"


def _left(seconds: float) -> str:
    return "ended" if seconds <= 0 else duration(seconds)


def _day(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d}"


def _size(size: int) -> str:
    return f"{size / (1 << 20):,.1f} MiB" if size >= 1 << 20 else f"{size / 1024:,.1f} KiB"


# ---- JSON -----------------------------------------------------------------------------------


def status_json(view: StatusView, now: float) -> dict[str, Any]:
    agent, journal = view.agent, view.journal
    found: dict[str, Any] = {"agent": None, "journal": None}
    if agent is not None:
        found["agent"] = asdict(agent) | {"findings": _findings(agent.findings)}
    if journal is not None:
        found["journal"] = {"state": journal.state, **asdict(journal)}
        del found["journal"]["writable"]
    found["certificates"] = [
        each._asdict() | {"days": int((each.ends - now) // 86400)} for each in view.certificates
    ]
    found["pipelines"] = [_pipeline(each) for each in view.pipelines]
    return found


def _pipeline(view: PipelineView) -> dict[str, Any]:
    intents = None if view.intents is None else [intent._asdict() for intent in view.intents]
    return {
        "name": view.name, "program": view.program, "digest": view.digest,
        "revision": view.revision, "release": view.release, "health": health(view),
        "ports": [_port_json(port) for port in view.ports],
        "rules": [each._asdict() for each in view.rules],
        "states": [each._asdict() for each in view.states],
        "events": [each._asdict() for each in view.events],
        "overlays": [
            {"kind": o.kind, "id": o.id, "name": o.name, "health": quality_json(o.quality)}
            for o in view.overlays
        ],
        "steered": [_steered_json(each) for each in view.steered],
        "intents": intents,
        "reports": _reports_json(view.reports),
        "congestion": _congestion_json(view.congestion),
        "findings": _findings(view.findings),
    }  # fmt: skip


def _port_json(port: PortSample) -> dict[str, Any]:
    counts = None
    if port.counts is not None:
        counts = {name: getattr(port.counts, name) for name in (*_COUNTS, *_ERRORS)}
    return {"name": port.name, "role": port.role, "interface": port.interface,
            "at": port.at, "state": port.state, "counts": counts}  # fmt: skip


def _steered_json(found: SteeredSpread) -> dict[str, Any]:
    members = [
        {**{name: value for name, value in m._asdict().items() if name != "seen"},
         **m.seen._asdict()}
        for m in found.members
    ]  # fmt: skip
    return {**found._asdict(), "members": members}


def _reports_json(found: PushState | None) -> dict[str, Any] | None:
    if found is None:
        return None
    pushed = found.pushed
    last = {"time": pushed.tried, "arrived": not pushed.why, "why": pushed.why}
    return {"otlp": found.otlp, **{outcome: getattr(pushed, outcome) for outcome in OUTCOMES},
            "last": last if pushed.tried else None}  # fmt: skip


def _congestion_json(found: Congestion | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {"congested": found.congested, "since": found.since, "why": found.why,
            "diverted": {str(cpu): part for cpu, part in found.diverted.items()}}  # fmt: skip


def _findings(found: Sequence[Any]) -> list[dict[str, str]]:
    return [{"code": each.code, "title": each.title, "help": each.help} for each in found]
