"""What the agent knows of overlays, for who reads pinned maps: metrics, beside the agent.

A file a pipeline, of JSON, written anew once a second. It says nothing any more when it is old.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple

from ..places import RUN
from .health import Quality

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
    path = _path(pipeline)
    with suppress(OSError, ValueError, TypeError):
        if time.time() - path.stat().st_mtime < AGE:
            found = json.loads(path.read_text())
            return [Posted(kind, name, Quality(**quality)) for kind, name, quality in found]
    return []


def take_down(pipeline: str) -> None:
    """May be called again."""
    with suppress(OSError):
        _path(pipeline).unlink(missing_ok=True)


def _path(pipeline: str) -> Path:
    return RUN / f"{pipeline}.overlays"
