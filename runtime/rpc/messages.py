"""What the runtime knows, as messages; the way back is replies.py."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import TYPE_CHECKING

from ...lang.contract.rules.rules import Rule
from ..base.outcome import Outcome
from ..intents.push_status import PushStatus, read_push_status
from ..observe.port_sample import PortSample
from ..observe.port_samples import port_samples
from ..owner import events
from . import control_pb2 as pb
from .failures import finding, findings

if TYPE_CHECKING:
    from ..agent.status import PipelineStatus
    from ..congestion.status import Status as Congestion
    from ..edge.overlay_health import Quality
    from ..edge.push_settings import Push
    from ..edge.steering_status import SteeredSpread
    from ..kernel.netlink import Link
    from ..ports.ports import Port

_STATES = {
    "unknown": pb.Overlay.UNKNOWN, "alive": pb.Overlay.ALIVE, "dead": pb.Overlay.DEAD,
}  # fmt: skip
_CHANGES = {
    "loaded": pb.PipelineChanged.LOADED,
    "upgraded": pb.PipelineChanged.UPGRADED,
    "unloaded": pb.PipelineChanged.UNLOADED,
}


def apply_reply(outcome: Outcome) -> pb.ApplyReply:
    made = pb.ApplyReply(
        revision=outcome.revision, created_count=outcome.created_count,
        changed_count=outcome.changed_count, removed_count=outcome.removed_count,
        repeated=outcome.repeated,
    )  # fmt: skip
    for rule in outcome.created:
        made.created.add(kind=rule.kind, id=rule.id)
    if outcome.warnings:
        made.warnings.extend(findings(outcome.warnings))
    return made


def port(found: Port, role: str) -> pb.Port:
    return pb.Port(
        name=found.name, number=found.number, role=role, interface=found.interface,
        vlan=found.vlan, ifindex=found.ifindex, mtu=found.mtu, mac=found.mac.hex(":"),
        at=found.at,
    )  # fmt: skip


def overlay(rule: Rule, quality: Quality) -> pb.Overlay:
    return pb.Overlay(
        kind=rule.kind, id=rule.id, name=rule.name, state=_STATES[quality.state],
        since=quality.since, loss=quality.loss, delay=quality.delay, jitter=quality.jitter,
        sent=quality.sent, answered=quality.answered,
    )  # fmt: skip


def steered(found: SteeredSpread) -> pb.SteeredSpread:
    return pb.SteeredSpread(
        rule=pb.Reference(kind=found.kind, id=found.id), text=found.text, changes=found.changes,
        due=found.due,
        members=[
            pb.SteeredMember(
                rule=pb.Reference(kind=m.kind, id=m.id), overlay=m.overlay, weight=m.weight,
                in_force=m.in_force, why=m.why, since=m.since, **m.seen._asdict(),
            )
            for m in found.members
        ],
    )  # fmt: skip


def status(found: PipelineStatus, links: Iterable[Link] = ()) -> pb.PipelineStatus:
    """With `links`, interfaces, also how its ports are."""
    manifest = found.manifest
    roles = manifest.roles if manifest is not None else ()
    ports = [port(p, roles[p.role]) for p in found.ports]
    if links := list(links):
        samples = port_samples(found.name, found.ports, roles, links)
        for made, seen in zip(ports, samples, strict=True):
            _add_counts(made, seen)
    return pb.PipelineStatus(
        pipeline=found.name, program=manifest.pipeline if manifest is not None else "",
        digest=manifest.digest if manifest is not None else "",
        revision=found.revision, ports=ports,
        kinds=[pb.KindCount(kind=k.kind, rules=k.rules, capacity=k.capacity) for k in found.kinds],
        findings=map(finding, found.findings),
        overlays=[overlay(rule, quality) for rule, quality in found.overlays],
        unprobed=[pb.Overlay(kind=r.kind, id=r.id, name=r.name) for r in found.unprobed],
        release=found.release, congestion=_congestion(found.congestion),
        reports=_reports(found.name, found.reports), steered=map(steered, found.steered),
    )  # fmt: skip


def _add_counts(made: pb.Port, seen: PortSample) -> None:
    made.attached = seen.state not in ("no program", "gone")
    made.state = seen.state
    if seen.counts is not None:
        names = [field.name for field in pb.PortCounts.DESCRIPTOR.fields]
        made.counts.CopyFrom(pb.PortCounts(**{n: getattr(seen.counts, n) for n in names}))


def _congestion(found: Congestion | None) -> pb.Congestion | None:
    if found is None:
        return None
    diverted = [pb.Diverted(cpu=cpu, part=part) for cpu, part in found.diverted.items()]
    return pb.Congestion(
        congested=found.congested, since=found.since, why=found.why, diverted=diverted
    )


def _reports(pipeline: str, settings: Push | None) -> pb.PushedReports | None:
    if settings is None:
        return None
    return pb.PushedReports(
        otlp=settings.otlp, **asdict(read_push_status(pipeline) or PushStatus())
    )


def event(change: events.Event) -> pb.Event:
    made = pb.Event(pipeline=change.pipeline, revision=change.revision)
    what = change.what
    if isinstance(what, events.RulesChanged):
        parts = (what.created, what.changed, what.removed)
        if what.more:
            made.rules.more = True
        else:
            for into, rules in zip(
                (made.rules.created, made.rules.changed, made.rules.removed), parts, strict=True
            ):
                into.extend(pb.Reference(kind=r.kind, id=r.id) for r in rules)
            made.rules.SetInParent()
    elif isinstance(what, events.PortChanged):
        made.port.port.CopyFrom(port(what.port, what.role))
    elif isinstance(what, events.OverlayChanged):
        made.overlay.CopyFrom(overlay(what.overlay, what.quality))
    elif isinstance(what, events.SpreadSteered):
        made.steered.CopyFrom(steered(what.spread))
    elif isinstance(what, events.PipelineChanged):
        made.changed.change = _CHANGES[what.change]
    else:
        made.missed = what.count
    return made
