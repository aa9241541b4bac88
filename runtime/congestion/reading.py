"""`congestion` in the edge's YAML."""

from __future__ import annotations

from ...lang.yaml_reader import Entry
from ..edge import faults
from ..edge.yaml_nodes import Nodes
from ..liveness.reading import read_time
from .settings import Congestion

_KEYS = ("cpu", "calm", "drops", "period", "hold")


def read_congestion(nodes: Nodes, entry: Entry) -> Congestion:
    """Notes what is wrong."""
    given, usual = nodes.mapping(entry.value, "`congestion`", _KEYS), Congestion()
    cpu, calm = round(usual.cpu * 100), round(usual.calm * 100)
    drops, period, hold = usual.drops, usual.period, usual.hold
    if "cpu" in given:
        cpu = nodes.number(given["cpu"].value, "per cent of a CPU", 2, 100) or cpu
    if "calm" in given:
        calm = nodes.number(given["calm"].value, "per cent of a CPU", 1, 99) or calm
    if "drops" in given:
        drops = nodes.number(given["drops"].value, "rate of drops", 1, 999_999_999) or drops
    if "period" in given:
        period = read_time(nodes, given["period"].value, 0.1, 60.0) or period
    if "hold" in given:
        hold = read_time(nodes, given["hold"].value, 0.1, 3600.0) or hold
    if calm >= cpu:
        where = given.get("calm") or given.get("cpu") or entry
        nodes.found.add(faults.never_calm(nodes.span(where.value), cpu, calm))
    return Congestion(cpu / 100, calm / 100, drops, period, hold)
