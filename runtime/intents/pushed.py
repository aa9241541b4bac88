"""What became of the reports that an agent pushes, for who reads beside it: a file a pipeline."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from ..base.places import RUN

#: Reports that arrived, that were dropped, and attempts that failed.
OUTCOMES = ("sent", "dropped", "failed")


@dataclass(frozen=True)
class Pushed:
    """What became of reports, by `OUTCOMES`. `tried`: when the last attempt ended, in seconds of
    the Unix epoch; 0: none has yet. `why` it failed; empty: it arrived."""

    sent: int = 0
    dropped: int = 0
    failed: int = 0
    tried: float = 0.0
    why: str = ""


def post(pipeline: str, pushed: Pushed) -> None:
    """What became of a pipeline's reports. One thread at a time. Raises OSError."""
    fresh = RUN / f".{pipeline}.reports"
    fresh.write_text(json.dumps(asdict(pushed)))
    fresh.rename(_path(pipeline))


def posted_reports(pipeline: str) -> Pushed | None:
    """None where none are pushed."""
    with suppress(OSError, ValueError, TypeError):  # also of a file of another release
        return Pushed(**json.loads(_path(pipeline).read_text()))
    return None


def take_down(pipeline: str) -> None:
    """May be called again."""
    with suppress(OSError):
        _path(pipeline).unlink(missing_ok=True)


def _path(pipeline: str) -> Path:
    return RUN / f"{pipeline}.reports"
