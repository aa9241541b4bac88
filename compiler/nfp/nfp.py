"""Compiling for a Netronome NFP: what a pipeline may not ask for, found before anything is made."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ...lang.contract.manifest.manifest import LOCAL_ADDRESSES
from ...lang.text.diagnostics import Diagnostic
from ..lower import limits
from ..lower.events import Events
from ..lower.reads import asks_local, reads, walk
from ..model import (
    Append,
    Arrival,
    Bridge,
    Choose,
    ClampMss,
    Forward,
    IsLimited,
    Pipeline,
    Recall,
    Remember,
    RuleKind,
)
from ..tables.layout import Table, tables
from ..tables.offloaded import maps_of, offloaded
from . import faults

#: What clang is told beside: no tables of its own, which would be global data; the card's
#: instructions, whatever is asked for elsewhere.
FLAGS = ("-fno-jump-tables", "-mcpu=v3")


def refusals(pipeline: Pipeline) -> list[Diagnostic]:
    """All that the card cannot do, in the order of the file."""
    laid_out = offloaded(tables(pipeline, reads(pipeline)))
    found = [
        *_statements(pipeline),
        *_kinds(pipeline),
        *_sizes(pipeline, laid_out),
        *_reach(pipeline),
    ]
    return sorted(found, key=lambda d: d.span.start if d.span else 0)


def without_sizes(pipeline: Pipeline) -> Pipeline:
    """As a card counts: its maps' elements have no room for packets by size."""
    rules = (
        replace(rule, counts=tuple(what for what in rule.counts if what != "sizes"))
        for rule in pipeline.rules
    )
    return replace(pipeline, rules=tuple(rules))


# ---- stages ---------------------------------------------------------------------------------


def _statements(pipeline: Pipeline) -> Iterator[Diagnostic]:
    seen = set()
    for part in walk(pipeline.stages):
        found = _statement(part)
        if found is not None and found.span not in seen:
            seen.add(found.span)
            yield found


def _statement(part: object) -> Diagnostic | None:
    match part:
        case Forward(span=span):
            return faults.other_port(span, "forward")
        case Bridge(span=span):
            return faults.other_port(span, "bridge")
        case ClampMss(span=span):
            return faults.not_on_a_card(span, "it serves `forward`")
        case Append(span=span):
            return faults.not_on_a_card(span, "making packets longer at their end")
        case Remember(state=state, span=span) | Recall(state=state, span=span):
            return faults.writes_state(span, state)
        case IsLimited(span=span):
            return faults.not_on_a_card(span, "limiting errors")
        case Choose(group=group, span=span):
            return faults.spreads(span, group)
    return None


# ---- rule kinds -----------------------------------------------------------------------------


def _kinds(pipeline: Pipeline) -> Iterator[Diagnostic]:
    chosen = {part.group for part in walk(pipeline.stages) if isinstance(part, Choose)}
    for rule in pipeline.rules:
        if rule.spread and rule.name not in chosen:  # else it is refused where it is chosen from
            yield faults.spreads(rule.span, rule.name)
        yield from _kind(rule)


def _kind(rule: RuleKind) -> Iterator[Diagnostic]:
    for match in rule.match:
        if match.kind not in ("exact", "optional"):
            yield faults.not_whole(match.span, match.element.name, match.kind)
    for match in rule.match:
        if isinstance(match.operand, Arrival):
            yield faults.arrival(match.span)
    if rule.priority is not None:
        yield faults.ranked(rule.span, rule.name, rule.priority[0])


def _sizes(pipeline: Pipeline, laid_out: tuple[Table, ...]) -> Iterator[Diagnostic]:
    maps = [m for m in maps_of(laid_out) if not m[0].rule.spread]
    for table, _, key, value, _ in maps:
        octets = limits.element_octets(key, value)
        if octets > limits.ELEMENT or key > limits.KEY or value > limits.VALUE:
            yield faults.element(table.rule.span, table.rule.name, key, value)
    own = own_maps(pipeline)
    total = sum(entries for *_, entries in maps) + sum(own)
    if total > limits.ENTRIES:
        largest = max(maps, key=lambda m: m[4])[0].rule
        yield faults.entries(largest.span, largest.name, total)
    if len(maps) + len(own) > limits.MAPS:
        yield faults.maps(pipeline.span, len(maps) + len(own))


def own_maps(pipeline: Pipeline) -> list[int]:
    """Entries of the maps that hold no rules: control, events, the host's addresses."""
    local = [LOCAL_ADDRESSES for _ in asks_local(pipeline)]
    return [1, len(Events(pipeline).counters), *local]


# ---- depth ----------------------------------------------------------------------------------


def _reach(pipeline: Pipeline) -> Iterator[Diagnostic]:
    """The first node on the longest way that may end beyond what the card sees."""
    graph = pipeline.graph
    ends: dict[str, int] = {}
    for node in graph.nodes:  # in topological order
        before = [ends[e.source] for e in graph.entering(node.name) if e.source in ends]
        ends[node.name] = max(before, default=0) + node.header.maximum
        edge = next((e for e in graph.entering(node.name)), None)
        if ends[node.name] > limits.REACH and max(before, default=0) <= limits.REACH:
            span = edge.span if edge is not None else node.span
            yield faults.too_deep(span, node.name, ends[node.name])
