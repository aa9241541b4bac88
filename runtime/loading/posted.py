"""What the agent says of itself to who reads beside it: metrics.

A file of JSON a subject and network namespace, below /run, which is there while an agent runs that
has something to say, or was killed.
"""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

from ..base.places import RUN
from .releases import this_namespace

#: `journal`: how many losses nobody has accepted; `certificates`: `certs.Ending`, as lists.
Subject = Literal["journal", "certificates"]


def post(subject: Subject, said: int | list[Any]) -> None:
    """0 and an empty list: nothing. The status says the same, so a full disk stops nobody."""
    path = _path(subject)
    with suppress(OSError):
        if not said:
            path.unlink(missing_ok=True)
            return
        RUN.mkdir(mode=0o700, parents=True, exist_ok=True)
        fresh = path.with_name(f".{path.name}")
        fresh.write_text(json.dumps(said))
        fresh.rename(path)


def posted(subject: Subject) -> Any:
    """None where nothing is."""
    with suppress(OSError, ValueError):
        return json.loads(_path(subject).read_text())
    return None


def _path(subject: Subject) -> Path:
    return RUN / f"{subject}.{this_namespace()}"
