"""What the agent knows of overlays, for who reads pinned maps: metrics, beside the agent.

A file a pipeline, of JSON, written anew once a second. Metrics read nothing of an old one; the
status shows which overlays were dead when an agent was killed.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple

from ..base.places import RUN
from .overlay_health import Quality

#: Seconds between two, and after which one is too old.
EVERY, AGE = 1.0, 5.0


class Posted(NamedTuple):
    """An overlay by its rule's kind and name."""

    kind: str
    name: str
    quality: Quality


def post(pipeline: str, overlays: Iterable[Posted]) -> None:
    """Raises OSError."""
    content = [[o.kind, o.name, asdict(o.quality)] for o in overlays]
    path = _path(pipeline)
    fresh = RUN / f".{pipeline}.overlays"
    fresh.write_text(json.dumps(content))
    fresh.rename(path)


def posted(pipeline: str) -> list[Posted]:
    """Empty where nobody probes."""
    found, at = _read(pipeline)
    return found if _fresh(at) else []


def remembered(pipeline: str) -> list[Posted]:
    """As `posted`; of an agent that was killed, which overlays are dead, as packets are still kept
    from them, and of the others that nothing is known any more."""
    found, at = _read(pipeline)
    if _fresh(at):
        return found
    return [each._replace(quality=_aged(each.quality, at)) for each in found]


def _fresh(at: float) -> bool:
    """What is of a time to come is old: the clock was set back since."""
    return abs(time.time() - at) < AGE


def _aged(quality: Quality, at: float) -> Quality:
    dead = quality.state == "dead"
    return Quality("dead", since=quality.since) if dead else Quality("unknown", since=at)


def _read(pipeline: str) -> tuple[list[Posted], float]:
    """What was posted last, and when."""
    path = _path(pipeline)
    with suppress(OSError, ValueError, TypeError):
        at = path.stat().st_mtime
        content = json.loads(path.read_text())
        return [Posted(kind, name, Quality(**quality)) for kind, name, quality in content], at
    return [], 0.0


def take_down(pipeline: str) -> None:
    """May be called again."""
    with suppress(OSError):
        _path(pipeline).unlink(missing_ok=True)


def _path(pipeline: str) -> Path:
    return RUN / f"{pipeline}.overlays"
