"""When a pipeline's packets count as congested, as the edge's YAML says it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from ...lang.contract.manifest.manifest import Manifest


@dataclass(frozen=True)
class Congestion:
    """Of the pipeline's own queues, entering and leaving bounds: `drops`, frames a second that are
    too many (any at all are too many to leave); `backlog` and `backlog_calm`, parts of a queue that
    stay occupied, 0 to 1; `cpu` and `calm`, parts of a CPU that a queue's own thread takes, 0 to 1.
    `period`: from one look to the next; `hold`: how long there must be reason without a break for
    each step after the first. Seconds."""

    cpu: float = 0.9
    calm: float = 0.7
    drops: int = 1
    period: float = 0.5
    hold: float = 5.0
    backlog: float = 0.5
    backlog_calm: float = 0.1

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def from_json(data: Mapping[str, Any] | None) -> Congestion | None:
    """What `to_json` gave, of this release or an older one; None of None."""
    return Congestion(**data) if data is not None else None


class Shape(NamedTuple):
    """The flag's kind and element, and the kinds whose rules are marked."""

    flag: str
    element: str
    marked: tuple[str, ...]


def shape_of(manifest: Manifest) -> Shape | None:
    """None where a pipeline has no use for it."""
    for kind in manifest.rules:
        if kind.name == "CONGESTION" and [match.element for match in kind.match] == ["congested"]:
            marked = (k.name for k in manifest.rules if {"queue", "overloaded"} <= set(k.gives))
            return Shape(kind.name, "congested", tuple(marked))
    return None
