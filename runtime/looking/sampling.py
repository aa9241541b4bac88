"""What a loaded pipeline has counted, at a moment: what metrics and `helioctl top` are made of.

Reads pinned maps and asks netlink for interfaces; changes nothing and holds nobody up. What changes
meanwhile is seen before or after. Of a million rules that takes some tenths of a second.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from ...lang.contract.manifest.manifest import Counter, RuleKind, State
from ..base.tally import Tallied, tallied
from ..edge.overlay_board import Posted, posted
from ..intents.pushed import Pushed, posted_reports
from ..kernel.netlink import Link, Netlink
from ..loading.reader import Reader
from .port_sample import PortSample, port_samples

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class KindSample:
    """A rule kind. `masks`: under how many its rules are looked for, None where that is fixed.
    `cells`, `sequences`, `counts`: of each rule its cell, its sequence, and packets and octets
    (no rows where the kind does not count)."""

    kind: RuleKind
    rules: int
    masks: int | None
    cells: Array
    sequences: Array
    counts: Array

    @property
    def totals(self) -> tuple[int, int]:
        """Packets and octets of the rules that there are."""
        packets, octets = self.counts.sum(axis=0, dtype=np.uint64).tolist() or (0, 0)
        return packets, octets


@dataclass(frozen=True)
class Sample:
    """`time` by the monotonic clock, in seconds; `build`: the digest of what is loaded; `states`:
    entries of each state table; `ports`: none of a pipeline of another network namespace;
    `overlays`: those that an agent probes; `tally`: of requests, where an agent owns it; `reports`:
    what became of those that it pushes."""

    time: float
    name: str
    build: str
    revision: int
    events: list[tuple[Counter, int]]
    kinds: list[KindSample]
    states: list[tuple[State, int]]
    ports: list[PortSample]
    overlays: list[Posted] = field(default_factory=list)
    tally: Tallied | None = None
    reports: Pushed | None = None


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
        posted(reader.name),
        tallied(reader.name),
        posted_reports(reader.name),
    )


def _kind(reader: Reader, kind: RuleKind, revision: int) -> KindSample:
    cells, sequences = reader.live(kind, revision)
    counts = reader.counts(kind, cells) if kind.counts else np.zeros((0, 2), np.uint64)
    return KindSample(kind, len(cells), reader.masks(kind, revision), cells, sequences, counts)


def _ports(reader: Reader, links: Iterable[Link]) -> Iterator[PortSample]:
    return port_samples(reader.ports if reader.here else (), reader.manifest.roles, links)
