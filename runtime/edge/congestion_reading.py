"""`congestion` in the edge's YAML."""

from __future__ import annotations

from collections.abc import Mapping

from ...lang.text.diagnostics import Diagnostic, Label
from ...lang.text.source import Span
from ...lang.text.yaml_reader import Entry
from .congestion_settings import Congestion
from .liveness_reading import read_time
from .yaml_nodes import Nodes

_KEYS = ("drops", "backlog", "backlog_calm", "cpu", "calm", "period", "hold")


def read_congestion(nodes: Nodes, entry: Entry) -> Congestion:
    """Notes what is wrong."""
    given, usual = nodes.mapping(entry.value, "`congestion`", _KEYS), Congestion()
    drops, period, hold = usual.drops, usual.period, usual.hold
    if "drops" in given:
        drops = nodes.number(given["drops"].value, "rate of drops", 1, 999_999_999) or drops
    if "period" in given:
        period = read_time(nodes, given["period"].value, 0.1, 60.0) or period
    if "hold" in given:
        hold = read_time(nodes, given["hold"].value, 0.1, 3600.0) or hold
    cpu, calm = _bounds(nodes, entry, given, ("cpu", "calm"), "a CPU")
    backlog, backlog_calm = _bounds(nodes, entry, given, ("backlog", "backlog_calm"), "a queue")
    return Congestion(cpu, calm, drops, period, hold, backlog, backlog_calm)


def _bounds(
    nodes: Nodes, entry: Entry, given: Mapping[str, Entry], keys: tuple[str, str], of: str
) -> tuple[float, float]:
    """Where a state is entered and where it is left, 0 to 1; they are given in per cent."""
    usual = Congestion().to_json()
    enter, leave = (round(usual[key] * 100) for key in keys)
    if keys[0] in given:
        enter = nodes.number(given[keys[0]].value, f"per cent of {of}", 2, 100) or enter
    if keys[1] in given:
        leave = nodes.number(given[keys[1]].value, f"per cent of {of}", 1, 99) or leave
    if leave >= enter:
        where = given.get(keys[1]) or given.get(keys[0]) or entry
        nodes.found.add(_never_calm(nodes.span(where.value), keys, enter, leave))
    return enter / 100, leave / 100


# ---- errors ---------------------------------------------------------------------------------


def _never_calm(where: Span, keys: tuple[str, str], enter: int, leave: int) -> Diagnostic:
    wide = max(enter, 2)
    return Diagnostic("H0620", f"congestion would begin at {enter} % and end at {leave} %",
                      (Label(where, f"`{keys[1]}` must be less than `{keys[0]}`"),),
                      f"leave a gap: `{{{keys[0]}: {wide}, {keys[1]}: {wide * 3 // 4 or 1}}}`"
                      )  # fmt: skip
