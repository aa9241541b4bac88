"""Small JSON files below /run that the agent publishes for metrics and status.

They need no call to the agent, and are there while it runs, or where it was killed.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from types import UnionType
from typing import Any, Literal

from .paths import RUN, this_namespace

#: `journal`: how many losses nobody has accepted; `certificates`: `identity.CertificateExpiry`, as
#: lists.
Subject = Literal["journal", "certificates"]


def publish(name: str, value: Any) -> None:
    """Replace the file `name` in one step. Raises OSError."""
    fresh = RUN / f".{name}"
    fresh.write_text(json.dumps(value))
    fresh.rename(RUN / name)


def published(name: str) -> tuple[Any, float]:
    """The value, and when it was written, in seconds of the Unix epoch; (None, 0) without one."""
    path = RUN / name
    with suppress(OSError, ValueError, RecursionError):
        return json.loads(path.read_text()), path.stat().st_mtime
    return None, 0.0


def need_types(values: Sequence[Any], *types: type | UnionType) -> None:
    """Of what a file had, which another release, or anything else, may have written. Raises
    TypeError."""
    if len(values) != len(types) or not all(map(isinstance, values, types)):
        raise TypeError("it is not as this release writes it")


def remove_published(name: str) -> None:
    """May be called again."""
    with suppress(OSError):
        (RUN / name).unlink(missing_ok=True)


def publish_agent(subject: Subject, value: int | list[Any]) -> None:
    """For this network namespace; no file for 0 and an empty list. A full disk is ignored, as the
    status says the same."""
    name = f"{subject}.{this_namespace()}"
    if not value:
        remove_published(name)
        return
    with suppress(OSError):
        RUN.mkdir(mode=0o700, parents=True, exist_ok=True)
        publish(name, value)


def published_by_agent(subject: Subject) -> Any:
    """None where there is nothing."""
    return published(f"{subject}.{this_namespace()}")[0]
