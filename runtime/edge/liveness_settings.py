"""How overlays are to be probed, as the edge's YAML says it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from ...lang.contract.manifest.manifest import Manifest, RuleKind


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
    """None where the pipeline has no such kind: one with names that keeps a next hop, and whose
    `local_ip` and `remote_ip` are the addresses of an IPv4 header in front of GRE; its `key`, if it
    has one, GRE's. Probes are ICMP in GRE: no peer of another tunnel answers them."""
    for kind in manifest.rules:
        for member in kind.record if kind.named and not kind.grouped else ():
            if member.kind == "next_hop" and _has_gre_ends(manifest, kind):
                port, remote = member.element.split(" via ")
                key = "key" if any(match.element == "key" for match in kind.match) else ""
                if remote == "remote_ip":
                    return Shape(kind.name, port, "local_ip", remote, key)
    return None


def _has_gre_ends(manifest: Manifest, kind: RuleKind) -> bool:
    if manifest.anatomy is None:
        return False
    exact = {match.element for match in kind.match if match.kind == "exact"}
    ends = {
        reading.element: reading.fields
        for reading in manifest.anatomy.readings
        if reading.rule == kind.name and reading.element in exact
    }
    protocols = {layer.name: layer.protocol for layer in manifest.anatomy.layers}
    return any(
        (protocols[step.source], protocols[step.target]) == ("ipv4", "gre")
        and ends.get("local_ip") == ((step.source, "dst"),)
        and ends.get("remote_ip") == ((step.source, "src"),)
        for step in manifest.anatomy.steps
    )
