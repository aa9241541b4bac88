"""The state of overlays as the agent publishes it once a second, for metrics and status.

Metrics ignore an old file; the status shows which overlays were dead when an agent was killed.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, astuple
from typing import Any, NamedTuple, get_args

from ..base.published import need_types, publish, published, remove_published
from .overlay_health import Quality, State

#: Seconds between two files, and after which one is too old.
EVERY, AGE = 1.0, 5.0


class OverlayStatus(NamedTuple):
    """An overlay by its rule's kind and name."""

    kind: str
    name: str
    quality: Quality


def write_overlay_status(pipeline: str, overlays: Iterable[OverlayStatus]) -> None:
    """Raises OSError."""
    publish(f"{pipeline}.overlays", [[o.kind, o.name, asdict(o.quality)] for o in overlays])


def read_overlay_status(pipeline: str) -> list[OverlayStatus]:
    """Empty where nobody probes."""
    found, at = _read(pipeline)
    return found if _fresh(at) else []


def last_overlay_status(pipeline: str) -> list[OverlayStatus]:
    """As `read_overlay_status`; where the agent has ended, which overlays are dead, since packets
    are still kept from them, and of all others that their state is unknown."""
    found, at = _read(pipeline)
    if _fresh(at):
        return found
    return [each._replace(quality=_aged(each.quality, at)) for each in found]


def _fresh(at: float) -> bool:
    """A time in the future is old: the clock was set back since."""
    return abs(time.time() - at) < AGE


def _aged(quality: Quality, at: float) -> Quality:
    dead = quality.state == "dead"
    return Quality("dead", since=quality.since) if dead else Quality("unknown", since=at)


def _read(pipeline: str) -> tuple[list[OverlayStatus], float]:
    """What was written last, and when."""
    content, at = published(f"{pipeline}.overlays")
    with suppress(ValueError, TypeError):
        return list(map(_status, content or ())), at
    return [], 0.0


def _status(values: Sequence[Any]) -> OverlayStatus:
    need_types(values, str, str, dict)
    quality, number = Quality(**values[2]), float | int
    need_types(astuple(quality), str, number, number, number, int, int, number)
    if quality.state not in get_args(State):
        raise ValueError("it is no state")
    return OverlayStatus(values[0], values[1], quality)


def remove_overlay_status(pipeline: str) -> None:
    """May be called again."""
    remove_published(f"{pipeline}.overlays")
