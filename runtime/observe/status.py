"""The status of pipelines and of the agent, as `helioctl status` shows it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ...lang.text.diagnostics import Diagnostic, Refused
from ..base.identity import CertificateExpiry, read_expiries
from ..congestion.status import Status as Congestion
from ..edge.overlay_health import Quality
from ..edge.steering_status import SteeredSpread, last_steering
from ..intents.push_status import PushStatus, read_push_status
from ..rules.report import NOT_MEASURED
from ..states.entry import StateCount
from .port_sample import PortSample

if TYPE_CHECKING:
    from ...lang.contract.manifest.manifest import Manifest
    from ..loading.reader import Reader


class Overlay(NamedTuple):
    """An overlay's rule; `quality` is None where it is not probed."""

    kind: str
    id: int
    name: str
    quality: Quality | None


class IntentState(NamedTuple):
    """`state` in lower case; `why` it failed."""

    id: str
    state: str
    why: str


class RuleCount(NamedTuple):
    kind: str
    rules: int
    capacity: int


class EventState(NamedTuple):
    """An event that packets raise: its records that were written, that were over a limit, and for
    which there was no room."""

    event: str
    emitted: int
    suppressed: int
    unwritten: int


class PushState(NamedTuple):
    """Where reports of intents are pushed to, and what became of them."""

    otlp: str
    pushed: PushStatus


@dataclass(frozen=True)
class PipelineView:
    """A loaded pipeline. `ports`: none of one in another network namespace. `intents` is None where
    no agent was asked, `congestion` where nobody watches, `reports` where none are pushed.
    `holder`: the process that owns a pipeline whose agent was not asked, 0 where none is known."""

    name: str
    program: str
    digest: str
    revision: int
    release: int
    ports: Sequence[PortSample]
    rules: Sequence[RuleCount]
    overlays: Sequence[Overlay]
    intents: Sequence[IntentState] | None = None
    congestion: Congestion | None = None
    findings: Sequence[Diagnostic] = ()
    states: Sequence[StateCount] = ()
    reports: PushState | None = None
    holder: int = 0
    events: Sequence[EventState] = ()
    steered: Sequence[SteeredSpread] = ()


@dataclass(frozen=True)
class AgentView:
    """`started` in seconds of the Unix epoch. `clients`: those that have called in the last minute
    or have a call going. `acknowledge`: as in control.proto."""

    version: str
    pid: int
    started: float
    clients: int
    acknowledge: str
    findings: Sequence[Diagnostic]


@dataclass(frozen=True)
class JournalView:
    """`size` in bytes. `synced`: when what was written last came to the disk, in seconds of the
    Unix epoch; 0: nothing was written since the agent started. `losses`: that nobody accepted."""

    directory: str
    size: int
    synced: float
    writable: bool
    losses: int

    @property
    def state(self) -> str:
        if self.losses:
            return "data_loss"
        return "healthy" if self.writable else "degraded"


@dataclass(frozen=True)
class StatusView:
    """`agent` and `journal` are None where no agent was asked."""

    agent: AgentView | None
    journal: JournalView | None
    certificates: Sequence[CertificateExpiry]
    pipelines: Sequence[PipelineView]


def health(view: PipelineView) -> dict[str, Any]:
    """Whether a pipeline is as it should be, and what is not, as JSON. `unknown`: nothing is known
    to be wrong, but its ports cannot be seen from this network namespace."""
    up = sum(port.state == "up" for port in view.ports)
    states = [o.quality.state if o.quality is not None else NOT_MEASURED for o in view.overlays]
    failed = [i.id for i in view.intents or () if i.state == "failed"]
    congested = view.congestion.congested if view.congestion is not None else None
    down, dead = len(view.ports) - up, states.count("dead")
    bad = bool(down or dead or failed or congested or view.findings)
    return {
        "state": "degraded" if bad else "ok" if view.ports else "unknown",
        "ports": {"up": up, "down": down},
        "overlays": {"alive": states.count("alive"), "dead": dead,
                     "unknown": states.count("unknown"),
                     "not_measured": states.count(NOT_MEASURED)},
        "congested": congested,
        "failed_intents": failed,
        "findings": [found.code for found in view.findings],
    }  # fmt: skip


def client_ending(view: StatusView, identity: Path | None) -> StatusView:
    """The view with the expiry of the client's own certificate."""
    if identity is None:
        return view
    mine = read_expiries(identity)[0]._replace(name="client")
    return replace(view, certificates=[*view.certificates, mine])


# ---- without an agent -----------------------------------------------------------------------


def local_status(names: Sequence[str]) -> StatusView:
    """Of these loaded pipelines, from pinned maps."""
    from ..kernel.netlink import Netlink

    with Netlink() as netlink:
        found = [view for name in names for view in _local(name, netlink)]
    return StatusView(None, None, _certificates(), found)


def _local(name: str, netlink: Any) -> Iterator[PipelineView]:
    """None where it is being unloaded."""
    from ..kernel.handles import BpfError
    from ..loading.card_reader import reader_of
    from ..loading.lock import holder
    from .port_samples import port_samples

    try:
        with suppress(BpfError, FileNotFoundError), reader_of(name) as reader:
            manifest = reader.manifest
            revision, counts = reader.occupancy()
            rules = [RuleCount(k.name, counts[k.name], k.capacity) for k in manifest.rules]
            ports = list(port_samples(name, reader.ports, manifest.roles, netlink.links()))
            yield PipelineView(
                name, manifest.pipeline, manifest.digest, revision, reader.about["release"],
                ports if reader.here else [], rules, overlays_of(reader),
                states=reader.state_counts(),
                reports=_reports(reader),
                holder=holder(name),
                steered=last_steering(name),
                events=event_counts(manifest, {(c.group, c.reason): n for c, n in reader.events()}),
            )  # fmt: skip
    except Refused as error:
        yield PipelineView(name, "", "", 0, 0, [], [], [], findings=error.diagnostics)


def event_counts(manifest: Manifest, counts: Mapping[tuple[str, str], int]) -> list[EventState]:
    """Of each event that the pipeline declares, by its counters."""
    ring = manifest.events
    what = ("emitted", "suppressed", "unwritten")
    return [
        EventState(kind.name, *(counts.get((group, kind.name), 0) for group in what))
        for kind in (ring.kinds if ring else ())
    ]


def _reports(reader: Reader) -> PushState | None:
    from ..edge.push_settings import PUSH

    settings = PUSH.of(reader.about)
    if settings is None:
        return None
    return PushState(settings.otlp, read_push_status(reader.name) or PushStatus())


def overlays_of(reader: Reader) -> list[Overlay]:
    """The overlays of a pipeline, with their quality as the agent publishes it."""
    from ..edge.liveness_settings import shape_of
    from ..edge.overlay_status import last_overlay_status

    shape = shape_of(reader.manifest)
    if shape is None:
        return []
    known = {(each.kind, each.name): each.quality for each in last_overlay_status(reader.name)}
    with suppress(Refused):  # whoever writes is too fast
        return [
            Overlay(rule.kind, rule.id, rule.name, known.get((rule.kind, rule.name)))
            for rule, *_ in reader.snapshot([shape.kind])
        ]
    return []


def _certificates() -> list[CertificateExpiry]:
    """Those that `helioctl enrol` left."""
    from ..base.paths import STATE
    from ..enrolment.edge import home

    with suppress(Refused, OSError):
        enrolled = home(STATE)
        return read_expiries(enrolled.identity) if enrolled is not None else []
    return []
