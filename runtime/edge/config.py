"""The edge's configuration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from ...lang.contract.request.request import Request
from ...lang.text.source import Span
from ..ports.ports import PortConfig


@dataclass(frozen=True)
class Config:
    """The configuration of an edge's YAML. `requests`: rules that are there from the start.
    `spans`: where the interface of each port's number is named. `settings`: of features, by the key
    of their section (`Section.of`)."""

    ports: tuple[PortConfig, ...]
    default: Literal["pass", "drop"] | None = None
    mode: Literal["native", "generic"] = "native"
    requests: tuple[Request, ...] = ()
    spans: Mapping[int, Span] = field(default_factory=dict)
    control: tuple[str, str] | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
