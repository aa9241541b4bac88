"""How many ICMP errors a pipeline sends: `icmp` in the edge's YAML."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...lang.contract.manifest.manifest import ICMP_BURST, ICMP_RATE, Manifest
from ...lang.contract.world.environment import Limit
from .sections import Around, Section

if TYPE_CHECKING:  # `helioctl` starts without YAML
    from ...lang.text.yaml_reader import Entry


def _sends(manifest: Manifest) -> bool:
    return any(c.reason == "icmp limit" for c in manifest.counters)


def _read(around: Around, entry: Entry) -> Limit:
    nodes = around.nodes
    given = nodes.mapping(entry.value, "`icmp`", ("rate", "burst"))
    rate, burst = ICMP_RATE, ICMP_BURST
    if "rate" in given:
        rate = nodes.number(given["rate"].value, "rate", 1, 1_000_000) or rate
    if "burst" in given:
        burst = nodes.number(given["burst"].value, "burst", 1, 100_000) or burst
    return Limit(rate, burst)


ICMP = Section("icmp", Limit, _read, _sends)
