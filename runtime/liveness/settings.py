"""How overlays are to be probed, as the edge's YAML says it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from ...compiler.manifest import Manifest, RuleKind


@dataclass(frozen=True)
class Liveness:
    """Seconds; `multiplier`: so many probes in a row. `source`: inside the tunnel, empty: the
    overlay's own end. `targets`: likewise, by the overlay's name; empty: it is not probed; without
    an entry: its far end."""

    interval: float = 1.0
    multiplier: int = 3
    hold_down: float = 10.0
    source: str = ""
    targets: Mapping[str, str] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def from_json(data: Any) -> Liveness | None:
    """What `to_json` gave; None of None."""
    return Liveness(**data) if data is not None else None


@dataclass(frozen=True)
class Shape:
    """The rule kind that can be probed, and its elements: GRE between two IPv4 addresses."""

    kind: str
    port: str
    local: str
    remote: str
    key: str


def shape_of(manifest: Manifest) -> Shape | None:
    """None where the pipeline has no such kind: one with names that keeps a next hop, with both
    ends of a tunnel as `local_ip` and `remote_ip`, and if it has keys, `key`."""
    for kind in manifest.rules:
        has = {match.element for match in kind.match} | set(kind.gives)
        for member in kind.record if kind.named and not kind.grouped else ():
            if member.kind == "next_hop":
                port, remote = member.element.split(" via ")
                key = "key" if "key" in has else ""
                ends = ("local_ip", "remote_ip")
                if remote == ends[1] and all(_is_address(manifest, kind, e) for e in ends):
                    return Shape(kind.name, port, *ends, key)
    return None


def _is_address(manifest: Manifest, kind: RuleKind, name: str) -> bool:
    exact = {match.element for match in kind.match if match.kind == "exact"} | set(kind.gives)
    return name in exact and manifest.element(name).kind == "ip4"
