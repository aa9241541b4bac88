"""The edge's configuration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from ...lang.contract.request.request import Request
from ...lang.contract.world.environment import Limit
from ...lang.text.source import Span
from ..ports.ports import PortConfig
from .congestion_settings import Congestion
from .liveness_settings import Liveness
from .push_settings import Push


@dataclass(frozen=True)
class Config:
    """The configuration of an edge's YAML. `requests`: rules that are there from the start.
    `spans`: where the interface of each port's number is named. `icmp`: of the ICMP errors, if it
    is said; `liveness`: of overlays, if they are to be probed; `congestion`: when the pipeline is
    congested, if it is to be watched for that; `reports`: where those of intents are pushed to, if
    they are."""

    ports: tuple[PortConfig, ...]
    default: Literal["pass", "drop"] | None = None
    mode: Literal["native", "generic"] = "native"
    requests: tuple[Request, ...] = ()
    spans: Mapping[int, Span] = field(default_factory=dict)
    control: tuple[str, str] | None = None
    icmp: Limit | None = None
    liveness: Liveness | None = None
    congestion: Congestion | None = None
    reports: Push | None = None
