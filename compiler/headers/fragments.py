"""Which headers a fragment may cut short, or begin within: docs/semantics.md#fragments."""

from __future__ import annotations

from collections.abc import Callable

from ..ir.expr import ZERO, Expr, load, number
from ..ir.expr_builders import to_network
from ..model import Edge, Graph, Node
from ..model.checksums import FRAGMENTED


def in_first_fragments(graph: Graph, role: str) -> frozenset[str]:
    """Nodes that may stand in a first fragment, behind the header that says so."""
    found, before = set[str](), -1
    while len(found) > before:  # within a chain edges lead back
        before = len(found)
        for node in graph.nodes:
            edges = graph.onward(node.name, role)
            found.update(e.target for e in edges if _follows(node, e, found))
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
    edges = [(edge, graph.node(edge.target)) for edge in graph.onward(node.name, role)]
    return [
        edge
        for edge, target in edges
        if target.header.minimum > 8 and not target.fits and not any(t.ahead for t in edge.tests)
    ]


def _fragment_bits(at: int, mask: int) -> Callable[[Expr], Expr]:
    return lambda pointer: load(pointer, at, 16) & to_network(number(mask), 16)


#: Of which headers a packet is a fragment, and not a whole one (RFC 6946), by the pointer to it.
FRAGMENT: dict[str, Callable[[Expr], Expr]] = {
    "ipv4": _fragment_bits(6, 0x3FFF),
    "ipv6_fragment": _fragment_bits(2, 0xFFF9),
    "ipv6": lambda pointer: ZERO,
}
