"""Events of builds before: an upgrade keeps the ring, in which there may be records of these."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from ...lang.contract.manifest.manifest import EventKind, Manifest
from ...lang.contract.manifest.typed_json import Misfit, build

#: Kinds of events of builds before that are known.
MOST = 256
_KEY = "former_events"


def former_events(about: Mapping[str, Any]) -> list[EventKind]:
    """Those that a release's `about` names; none where it cannot be understood."""
    found = about.get(_KEY, [])
    try:
        return [build(EventKind, each) for each in found] if isinstance(found, list) else []
    except Misfit:
        return []


def with_events_of(about: Mapping[str, Any], running: Manifest) -> dict[str, Any]:
    """What the `about` of the release behind it says: the last that were written are known."""
    kinds = {kind.tag: kind for kind in former_events(about)}
    for kind in running.events.kinds if running.events else ():
        kinds.pop(kind.tag, None)
        kinds[kind.tag] = kind
    last = [asdict(kind) for kind in list(kinds.values())[-MOST:]]
    return {_KEY: json.loads(json.dumps(last))} if last else {}  # as it is read again
