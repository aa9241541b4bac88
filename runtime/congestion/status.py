"""The congestion of a watched pipeline, for clients of the agent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .decide import Queue


@dataclass(frozen=True)
class Status:
    """Of a pipeline that is watched. `since`: when `congested` became what it is, in seconds of the
    Unix epoch. `why`: the pressure that was seen last, while it is congested. `queues`: what the
    last period showed, by CPU; `diverted`: of each CPU's priority traffic the part that is sent to
    other servers, 0 to 1."""

    congested: bool
    since: float
    why: str
    queues: Mapping[int, Queue]
    diverted: Mapping[int, float]
