"""Samples the counters of a loaded pipeline, for metrics and `helioctl top`.

Reads pinned maps and asks netlink for interfaces; changes nothing and blocks nobody. What changes
at the same time is seen before or after. A million rules take some tenths of a second.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from ...lang.contract.manifest.manifest import Counter, RuleKind, State
from ..base.latency_stats import LatencyReport, read_latency
from ..base.rule_memory import raised_by_rules
from ..edge.overlay_status import OverlayStatus, read_overlay_status
from ..edge.steering_status import SteeredSpread, read_steering
from ..intents.push_status import PushStatus, read_push_status
from ..kernel.netlink import Link, Netlink
from ..loading.reader import Reader
from ..stamp.status import SessionStatus, read_session_status
from .port_sample import PortSample
from .port_samples import port_samples

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class KindSample:
    """A rule kind. `masks`: under how many its rules are looked for, None where that is fixed.
    `cells`, `sequences`, `counts`: of each rule its cell, its sequence, and packets and bytes
    (no rows where the kind does not count)."""

    kind: RuleKind
    rules: int
    masks: int | None
    cells: Array
    sequences: Array
    counts: Array


@dataclass(frozen=True)
class Sample:
    """`time` by the monotonic clock, in seconds; `build`: the digest of what is loaded; `states`:
    entries of each state table; `ports`: none of a pipeline of another network namespace;
    `overlays`: those that an agent probes; `tally`: of requests, where an agent owns it; `reports`:
    what became of those that it pushes; `sessions`: of STAMP; `steered`: spreads that ask for
    something of their paths; `due`: by event, those of rules that wait for their limit."""

    time: float
    name: str
    build: str
    revision: int
    events: list[tuple[Counter, int]]
    kinds: list[KindSample]
    states: list[tuple[State, int]]
    ports: list[PortSample]
    overlays: list[OverlayStatus] = field(default_factory=list)
    tally: LatencyReport | None = None
    reports: PushStatus | None = None
    sessions: list[SessionStatus] = field(default_factory=list)
    steered: list[SteeredSpread] = field(default_factory=list)
    due: dict[str, int] = field(default_factory=dict)


def sample(reader: Reader, netlink: Netlink) -> Sample:
    """Raises BpfError, OSError."""
    now = time.monotonic()
    revision = reader.revision
    return Sample(
        now,
        reader.name,
        reader.manifest.digest,
        revision,
        reader.events(),
        [_kind(reader, kind, revision) for kind in reader.manifest.rules],
        [(state, reader.count_entries(state)) for state in reader.manifest.states],
        list(_ports(reader, netlink.links())),
        read_overlay_status(reader.name),
        read_latency(reader.name),
        read_push_status(reader.name),
        read_session_status(reader.name),
        read_steering(reader.name),
        {name: due for name, (_, due) in raised_by_rules(reader.name, reader.incarnation).items()},
    )


def _kind(reader: Reader, kind: RuleKind, revision: int) -> KindSample:
    cells, sequences = reader.live(kind, revision)
    counts = reader.tallies(kind, cells)[:, :2] if kind.counts else np.zeros((0, 2), np.uint64)
    return KindSample(kind, len(cells), reader.masks(kind, revision), cells, sequences, counts)


def _ports(reader: Reader, links: Iterable[Link]) -> Iterator[PortSample]:
    ports = reader.ports if reader.here else ()
    return port_samples(reader.name, ports, reader.manifest.roles, links)
