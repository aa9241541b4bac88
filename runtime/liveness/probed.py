"""What the prober knows of pipelines and their overlays."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ...lang.contract.rules.rules import Reference, Rule
from ..base.wall_clock import wall_time
from ..edge.liveness_settings import Liveness
from ..edge.overlay_health import Health, Quality
from ..edge.steering_status import SteeredSpread
from ..loading.loader import Loaded
from ..owner.owner import Owner
from ..steering.steering import Steering
from .echo import Path


@dataclass
class Probed:
    """An overlay. `number`: identifies its answers."""

    number: int
    rule: Rule
    health: Health
    path: Path | None  # None while its port is missing: dead, without waiting for probes
    due: float
    since: float = field(default_factory=time.monotonic)


@dataclass
class ProbedPipeline:
    owner: Owner
    settings: Liveness
    loaded: Loaded | None = None
    revision: int = -1
    overlays: dict[Reference, Probed] = field(default_factory=dict)
    late: bool = True  # what is dead may not be what its records leave out
    news: list[Probed] = field(default_factory=list)  # changes not reported so far
    steering: Steering = field(default_factory=Steering)
    steered: Sequence[SteeredSpread] = ()  # as it was when it was last looked at
    sessions: Mapping[Reference, str] = field(default_factory=dict)  # that measure overlays


def quality_of(probed: Probed) -> Quality:
    health = probed.health
    return Quality(
        health.state, health.loss, health.delay, health.jitter, health.sent, health.answered,
        wall_time(probed.since),
    )  # fmt: skip
