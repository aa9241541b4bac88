"""How much of the journal is lost, for who reads beside the agent: metrics.

A file of a network namespace below /run, which is there while an agent runs that reports a loss, or
was killed.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from ..loading.releases import this_namespace
from ..places import RUN


def post(losses: int) -> None:
    with suppress(OSError):  # the status says it, too
        if losses:
            RUN.mkdir(mode=0o700, parents=True, exist_ok=True)
            _path().write_text(str(losses))
        else:
            _path().unlink(missing_ok=True)


def posted() -> int:
    """Losses that nobody has accepted."""
    with suppress(OSError, ValueError):
        return int(_path().read_text())
    return 0


def _path() -> Path:
    return RUN / f"journal.{this_namespace()}"
