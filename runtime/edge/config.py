"""The edge's configuration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from ...compiler.interpreter.environment import Limit
from ...lang.request import Request
from ...lang.source import Span
from ..congestion.settings import Congestion
from ..liveness.settings import Liveness
from ..loading.ports import Wanted


@dataclass(frozen=True)
class Config:
    """What an edge YAML says. `requests`: rules that are there from the start. `spans`: where the
    interface of each port's number is named. `icmp`: of the ICMP errors, if it is said; `liveness`:
    of overlays, if they are to be probed; `congestion`: when the host is congested, if it is to be
    watched for that."""

    ports: tuple[Wanted, ...]
    default: Literal["pass", "drop"] | None = None
    mode: Literal["native", "generic"] = "native"
    requests: tuple[Request, ...] = ()
    spans: Mapping[int, Span] = field(default_factory=dict)
    control: tuple[str, str] | None = None
    icmp: Limit | None = None
    liveness: Liveness | None = None
    congestion: Congestion | None = None
