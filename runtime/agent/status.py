"""`PipelineStatus`: revision, rules, ports and findings of one pipeline."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice

from ...lang.contract.manifest.manifest import Manifest
from ...lang.contract.rules.rules import Rule
from ...lang.text.diagnostics import Diagnostic, Refused
from ..congestion.status import Status as Congestion
from ..edge.liveness_settings import shape_of
from ..edge.overlay_health import Quality
from ..edge.push_settings import PUSH, Push
from ..edge.steering_status import SteeredSpread
from ..owner.owner import Owner
from ..ports.ports import Port, all_configured

#: Seconds that a status waits for somebody's transaction; and overlays that it names though nobody
#: probes them.
_TURN, _MOST_UNPROBED = 0.5, 1000


@dataclass(frozen=True)
class KindCount:
    """How many rules of a kind there are."""

    kind: str
    rules: int
    capacity: int


@dataclass(frozen=True)
class PipelineStatus:
    """`ports`: each as it is wanted; ifindex 0 where its interface is missing. `manifest`: None of
    a pipeline that is only in the journal. `overlays`: those that are probed, `unprobed` the
    others. `congestion`: None where the host is not watched; `reports`: where no reports of intents
    are pushed."""

    name: str
    manifest: Manifest | None
    revision: int
    ports: tuple[Port, ...]
    kinds: tuple[KindCount, ...]
    findings: tuple[Diagnostic, ...] = ()
    overlays: tuple[tuple[Rule, Quality], ...] = ()
    unprobed: tuple[Rule, ...] = ()
    release: int = 0
    congestion: Congestion | None = None
    reports: Push | None = None
    steered: Sequence[SteeredSpread] = ()


def status_of(owner: Owner, findings: Iterable[Diagnostic] = ()) -> PipelineStatus:
    """The state of a pipeline that has an owner."""
    loaded = owner.loaded
    ports = all_configured(loaded.port_configs, loaded.ports)
    kinds = tuple(
        KindCount(kind.name, loaded.book.count(kind.name), kind.capacity)
        for kind in loaded.manifest.rules
    )
    return PipelineStatus(
        owner.name, loaded.manifest, owner.revision, ports, kinds, tuple(findings),
        release=loaded.release, reports=PUSH.of(loaded.about),
    )  # fmt: skip


def unprobed(owner: Owner, probed: Collection[int]) -> tuple[Rule, ...]:
    """Overlays but for those with these ids; none where the pipeline is busy for long."""
    shape = shape_of(owner.loaded.manifest)
    if shape is None:
        return ()
    with suppress(Refused), owner.still(time.monotonic() + _TURN) as loaded:
        others = (rule for rule in loaded.book.rules(shape.kind) if rule.id not in probed)
        return tuple(sorted(islice(others, _MOST_UNPROBED), key=lambda rule: rule.id))
    return ()
