"""Status messages of an agent to the views that `helioctl` shows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, cast, get_args

from ..base.identity import CertificateExpiry
from ..congestion.status import Status as Congestion
from ..edge.overlay_health import Quality, State
from ..edge.path_quality import Measured
from ..edge.steering_status import SteeredMember, SteeredSpread
from ..intents.push_status import PushStatus
from ..kernel.netlink import Counts
from ..observe.port_sample import PortSample, PortState
from ..observe.status import (
    AgentView,
    EventState,
    IntentState,
    JournalView,
    Overlay,
    PipelineView,
    PushState,
    RuleCount,
    StatusView,
)
from . import control_pb2 as pb
from .failures import diagnostic_of
from .replies import state_count

if TYPE_CHECKING:
    from ...lang.contract.manifest.manifest import AttachPoint

_STATES: dict[int, State] = {
    pb.Overlay.UNKNOWN: "unknown", pb.Overlay.ALIVE: "alive", pb.Overlay.DEAD: "dead",
}  # fmt: skip


def view_of(reply: pb.StatusReply, intents: Iterable[pb.Intent]) -> StatusView:
    """The whole status; `intents` of all its pipelines."""
    agent = AgentView(
        reply.version, reply.pid, reply.started, reply.clients, reply.acknowledge,
        [diagnostic_of(found) for found in reply.findings],
    )  # fmt: skip
    journal = None
    if reply.HasField("journal"):
        found = reply.journal
        journal = JournalView(
            found.directory, found.size, found.synced, found.writable, found.losses
        )
    certificates = [
        CertificateExpiry(each.name, each.subject, each.ends) for each in reply.certificates
    ]
    there = list(intents)
    views = [
        _pipeline(each, [i for i in there if i.pipeline == each.pipeline])
        for each in reply.pipelines
    ]
    return StatusView(agent, journal, certificates, views)


def _pipeline(found: pb.PipelineStatus, intents: Iterable[pb.Intent]) -> PipelineView:
    congestion = None
    if found.HasField("congestion"):
        c = found.congestion
        diverted = {each.cpu: each.part for each in c.diverted}
        congestion = Congestion(c.congested, c.since, c.why, {}, diverted)
    states = [IntentState(i.id, pb.Intent.State.Name(i.state).lower(), i.why) for i in intents]
    return PipelineView(
        found.pipeline, found.program, found.digest, found.revision, found.release,
        [_port(port) for port in found.ports],
        [RuleCount(kind.kind, kind.rules, kind.capacity) for kind in found.kinds],
        overlays_of(found), states, congestion,
        [diagnostic_of(each) for each in found.findings],
        list(map(state_count, found.states)), _reports(found),
        steered=list(map(_steered, found.steered)),
        events=[EventState(e.event, e.emitted, e.suppressed, e.unwritten) for e in found.events],
    )  # fmt: skip


def _reports(found: pb.PipelineStatus) -> PushState | None:
    if not found.HasField("reports"):
        return None
    r = found.reports
    return PushState(r.otlp, PushStatus(r.sent, r.dropped, r.failed, r.tried, r.why))


def _steered(found: pb.SteeredSpread) -> SteeredSpread:
    members = [
        SteeredMember(
            m.rule.kind, m.rule.id, m.overlay, m.weight, m.in_force, m.why, m.since,
            Measured(*(getattr(m, x) if m.HasField(x) else None for x in Measured._fields)),
        )
        for m in found.members
    ]  # fmt: skip
    return SteeredSpread(
        found.rule.kind, found.rule.id, found.text, found.changes, members, found.due
    )


def overlays_of(found: pb.PipelineStatus) -> list[Overlay]:
    """Those that are probed and those that are not, by id."""
    made = [Overlay(o.kind, o.id, o.name, _quality(o)) for o in found.overlays]
    made += [Overlay(o.kind, o.id, o.name, None) for o in found.unprobed]
    return sorted(made, key=lambda overlay: overlay.id)


def _quality(o: pb.Overlay) -> Quality:
    state = _STATES.get(o.state, "unknown")
    return Quality(state, o.loss, o.delay, o.jitter, o.sent, o.answered, o.since)


def _port(port: pb.Port) -> PortSample:
    counts = None
    if port.HasField("counts"):
        counts = Counts(**{name.name: value for name, value in port.counts.ListFields()})
    at = cast("AttachPoint", port.at or "xdp")
    return PortSample(port.name, port.role, port.interface, _port_state(port), counts, at)


def _port_state(port: pb.Port) -> PortState:
    """Also of an agent that does not know `state`."""
    if port.state in get_args(PortState):
        return cast(PortState, port.state)
    return "gone" if not port.HasField("counts") else "up" if port.attached else "no program"
