"""Which headers a fragment may cut short, or begin within: docs/semantics.md, "Fragments"."""

from __future__ import annotations

from ..model import Edge, Graph, Node
from ..model.sums import FRAGMENTED


def in_first_fragments(graph: Graph, role: str) -> frozenset[str]:
    """Nodes that may stand in a first fragment, behind the header that says so."""
    found: set[str] = set()
    for node in graph.nodes:
        edges = graph.entering(node.name, role)
        if any(_follows(graph.node(e.source), e, found) for e in edges):
            found.add(node.name)
    return frozenset(found)


def _follows(source: Node, edge: Edge, found: set[str]) -> bool:
    """Whether it may be followed in a first fragment. `found`: nodes that may stand in one."""
    if source.header.protocol in FRAGMENTED:
        tests = (t for t in edge.tests if t.field == "more_fragments" and not t.ahead)
        return all(any(low <= 1 <= high for low, high in t.ranges) for t in tests)
    return source.name in found and source.header.protocol != "ipv6"


def begun_within(graph: Graph, node: Node, role: str) -> list[Edge]:
    """Edges to headers so long that a later fragment may begin within their fixed part."""
    if node.header.protocol not in FRAGMENTED:
        return []
    return [
        edge
        for edge in graph.leaving(node.name, role)
        if graph.node(edge.target).header.minimum > 8 and not any(t.ahead for t in edge.tests)
    ]
