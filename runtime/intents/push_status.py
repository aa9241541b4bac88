"""What became of the reports that the agent pushes, as it publishes it for metrics and status."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import asdict, dataclass

from ..base.published import publish, published, remove_published

#: Reports that arrived, that were dropped, and attempts that failed.
OUTCOMES = ("sent", "dropped", "failed")


@dataclass(frozen=True)
class PushStatus:
    """Counts by `OUTCOMES`. `tried`: when the last attempt ended, in seconds of the Unix epoch; 0:
    none has yet. `why` it failed; empty: it arrived."""

    sent: int = 0
    dropped: int = 0
    failed: int = 0
    tried: float = 0.0
    why: str = ""


def write_push_status(pipeline: str, status: PushStatus) -> None:
    """One thread at a time. Raises OSError."""
    publish(f"{pipeline}.reports", asdict(status))


def read_push_status(pipeline: str) -> PushStatus | None:
    """None where no reports are pushed."""
    found, _ = published(f"{pipeline}.reports")
    with suppress(TypeError):  # also of a file of another release
        return PushStatus(**found) if found is not None else None
    return None


def remove_push_status(pipeline: str) -> None:
    """May be called again."""
    remove_published(f"{pipeline}.reports")
