"""Warnings of rules that match no packet: they match elements that none has together, as an IPv4
and an IPv6 source."""

from __future__ import annotations

from itertools import combinations

from ..manifest.manifest import Manifest, RuleKind
from ..manifest.parse_graph import ParseGraph
from .ie_values import Fault
from .rules import Matcher


def never_together(manifest: Manifest, rule: RuleKind) -> list[tuple[int, int, str]]:
    """Pairs of places in `rule.match`, and why: the headers of which a packet has one. Only of
    elements that match no packet without their header, but for a 0 (see `asks`)."""
    anatomy = manifest.anatomy
    if anatomy is None:
        return []
    nodes = {
        reading.element: reading.fields[0][0]
        for reading in anatomy.readings
        if reading.rule == rule.name and len(reading.fields) == 1
    }
    behind = _behind(anatomy)
    named = [
        (place, node)
        for place, match in enumerate(rule.match)
        if match.presence is not None and (node := nodes.get(match.element)) in behind
    ]
    return [
        (i, j, f"`{one}` or `{two}`")
        for (i, one), (j, two) in combinations(named, 2)
        if one != two and two not in behind[one] and one not in behind[two]
    ]


def asks(matcher: Matcher) -> bool:
    """Whether it takes no 0, as which a `find` may read a header that is absent."""
    return matcher.value != 0


def no_such_packet(never: str, one: str, two: str, nodes: str) -> Fault:
    """A warning. `never`: what never matches."""
    title = f"{never}: no packet has both `{one}` and `{two}`"
    return Fault("H0465", title, "rule", f"a packet has {nodes}", "make a rule for each of the two")


def _behind(anatomy: ParseGraph) -> dict[str, set[str]]:
    """The headers that a packet may have behind each, also where a push alone leads there."""
    behind: dict[str, set[str]] = {layer.name: set() for layer in anatomy.layers}
    for step in anatomy.steps:
        behind[step.source].add(step.target)
    for through in behind:  # Warshall
        for found in behind.values():
            if through in found:
                found |= behind[through]
    return behind
