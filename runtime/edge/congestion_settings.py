"""When a pipeline's packets count as congested: `congestion` in the edge's YAML."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from ...lang.contract.manifest.manifest import Manifest
from ...lang.text.diagnostics import Diagnostic, Label
from ...lang.text.source import Span
from .sections import Around, Section

if TYPE_CHECKING:  # `helioctl` starts without YAML
    from ...lang.text.yaml_reader import Entry
    from .yaml_nodes import Nodes

_KEYS = ("drops", "backlog", "backlog_calm", "cpu", "calm", "period", "hold")


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


def _read(around: Around, entry: Entry) -> Congestion:
    nodes = around.nodes
    given, usual = nodes.mapping(entry.value, "`congestion`", _KEYS), Congestion()
    drops, period, hold = usual.drops, usual.period, usual.hold
    if "drops" in given:
        drops = nodes.number(given["drops"].value, "rate of drops", 1, 999_999_999) or drops
    if "period" in given:
        period = nodes.seconds(given["period"].value, 0.1, 60.0) or period
    if "hold" in given:
        hold = nodes.seconds(given["hold"].value, 0.1, 3600.0) or hold
    cpu, calm = _bounds(nodes, entry, given, ("cpu", "calm"), "a CPU")
    backlog, backlog_calm = _bounds(nodes, entry, given, ("backlog", "backlog_calm"), "a queue")
    return Congestion(cpu, calm, drops, period, hold, backlog, backlog_calm)


def _bounds(
    nodes: Nodes, entry: Entry, given: Mapping[str, Entry], keys: tuple[str, str], of: str
) -> tuple[float, float]:
    """Where a state is entered and where it is left, 0 to 1; they are given in per cent."""
    enter, leave = (round(getattr(Congestion(), key) * 100) for key in keys)
    if keys[0] in given:
        enter = nodes.number(given[keys[0]].value, f"per cent of {of}", 2, 100) or enter
    if keys[1] in given:
        leave = nodes.number(given[keys[1]].value, f"per cent of {of}", 1, 99) or leave
    if leave >= enter:
        where = given.get(keys[1]) or given.get(keys[0]) or entry
        nodes.found.add(_never_calm(nodes.span(where.value), keys, enter, leave))
    return enter / 100, leave / 100


CONGESTION = Section("congestion", Congestion, _read, lambda m: shape_of(m) is not None)


# ---- errors ---------------------------------------------------------------------------------


def _never_calm(where: Span, keys: tuple[str, str], enter: int, leave: int) -> Diagnostic:
    wide = max(enter, 2)
    return Diagnostic("H0620", f"congestion would begin at {enter} % and end at {leave} %",
                      (Label(where, f"`{keys[1]}` must be less than `{keys[0]}`"),),
                      f"leave a gap: `{{{keys[0]}: {wide}, {keys[1]}: {wide * 3 // 4 or 1}}}`"
                      )  # fmt: skip
