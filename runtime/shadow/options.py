"""How a shadow run is to be. `helioctl` imports it at its start: it imports next to nothing."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ShadowOptions:
    """`filter`, `port` and `sample` (one of so many): which packets, as of a trace; of these `rate`
    a second at most. `seconds`: None: until it is stopped. `period`: seconds between two reports.
    `allowed`: differences that are expected, as text."""

    filter: str = ""
    port: str = ""
    sample: int = 1
    rate: int = 1000
    seconds: float | None = None
    period: float = 1.0
    allowed: tuple[str, ...] = ()
