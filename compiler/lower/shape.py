"""What a packet will look like when it leaves: pops and pushes, collected until the verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...lang.text.frozen import Frozen
from ...lang.text.source import Span
from ..ir.expr import Expr, total
from ..model import Edge, Graph
from ..model.parse_graph import leading, sometimes_leading
from ..model.parse_graph import writable as announcing
from .headers_out import HeaderOut

if TYPE_CHECKING:
    from .site import Site


class Appended(Frozen):
    """What is to follow the header of `behind`, which `writes` announce it by."""

    behind: str
    headers: tuple[HeaderOut, ...]
    writes: tuple[tuple[str, int], ...]


class Shape(Frozen):
    """What the packet will look like. `fronts`: nodes that may be the first behind the link nodes
    and the pushes; `popped`: what was removed in front of it, outermost first, in each way that may
    be; `pushed` outermost first, `behind` this link node whatever follows it, or else in front of
    the first of `fronts`. `untagged`: link nodes that were popped by themselves: what stands in
    front of them has been moved up to what follows. `own`: the link node that was popped to, where
    the packet's own link header starts; "" where that is the frame's start. `clamp`: at `forward`,
    the MSS.
    `appended`: its end, of a packet that has neither pops nor pushes. `carried`: how many of the
    innermost pushed headers an earlier stage pushed; they take so many `words` of the scratch
    record."""

    fronts: tuple[str, ...]
    popped: tuple[tuple[str, ...], ...] = ()
    pushed: tuple[HeaderOut, ...] = ()
    own: str = ""
    untagged: tuple[str, ...] = ()
    behind: str = ""
    clamp: bool = False
    appended: Appended | None = None
    carried: int = 0
    words: int = 0

    @property
    def framed(self) -> bool:
        """Whether a frame within a tunnel begins with what is pushed."""
        outer = [h.header.link for h in self.pushed]
        return any(link and False in outer[:i] for i, link in enumerate(outer))

    @property
    def touched(self) -> bool:
        changes = (self.popped, self.pushed, self.own, self.untagged, self.appended)
        return any(changes)

    def gone(self, graph: Graph, role: str) -> set[str]:
        """Nodes that were popped or cut off, whichever of them the packet had."""
        removed = {n for way in self.popped for n in way}
        found = removed - sometimes_leading(graph, role) | set(self.untagged)
        if self.own:
            start = graph.entry(role).name
            ways = all_ways(graph, role, start, self.own)
            found |= {n for way in ways for n in way[:-1]}
        if self.appended:
            found |= behind(graph, role, self.appended.behind)
        return found

    def perhaps_gone(self, graph: Graph, role: str) -> set[str]:
        """Link nodes that a packet lost by a pop if other headers stood in front of them, and kept
        if none did."""
        removed = {n for way in self.popped for n in way}
        return removed & sometimes_leading(graph, role) - set(self.untagged)


class Unsupported(Exception):
    """The pipeline needs something that is not compiled yet; `span` is what asks for it."""

    def __init__(self, what: str, span: Span | None = None) -> None:
        super().__init__(what)
        self.span = span


def ways_to(graph: Graph, role: str, start: str, node: str) -> tuple[tuple[str, ...], ...]:
    """What may stand between the leading link nodes of a packet that begins with `start` and
    `node`, outermost first: every way there is on a port role."""
    found: dict[tuple[str, ...], None] = {}
    for way in all_ways(graph, role, start, node):
        inside = list(way[:-1])
        while inside and graph.node(inside[0]).header.link:
            inside.pop(0)
        found[tuple(inside)] = None
    return tuple(found)


def all_ways(graph: Graph, role: str, start: str, node: str) -> list[tuple[str, ...]]:
    """Every way from one node to another, with both."""
    found: list[tuple[str, ...]] = []
    todo: list[tuple[str, ...]] = [(start,)]
    while todo:
        way = todo.pop(0)
        if way[-1] == node:
            found.append(way)
        else:
            targets = dict.fromkeys(e.target for e in graph.leaving(way[-1], role))
            todo += [(*way, t) for t in targets]
    return found


def behind(graph: Graph, role: str, node: str) -> set[str]:
    """Nodes that may stand anywhere behind a node."""
    found = {node}
    for other in graph.nodes:
        if {e.source for e in graph.entering(other.name, role)} & found:
            found.add(other.name)
    return found - {node}


def in_front(site: Site, node: str) -> list[str]:
    """The node, and those that may stand anywhere in front of it, innermost first."""
    graph, found = site.pipeline.graph, [node]
    for other in reversed(graph.nodes):
        targets = {e.target for e in graph.leaving(other.name, site.role)}
        if other.name in site.reachable and targets & set(found):
            found.append(other.name)
    return found


def fronts_behind(graph: Graph, role: str, start: str) -> tuple[str, ...]:
    """Nodes that may come first behind the leading link nodes of a packet that begins with
    `start`."""
    links = leading(graph, role, start)
    found = [e.target for e in graph.edges if role in e.roles and e.source in links]
    return tuple(dict.fromkeys(t for t in found if not graph.node(t).header.link))


def writable(site: Site, source: str, target: str) -> Edge:
    """The edge that says how `source` announces `target` (whatever the port role)."""
    edges = announcing(site.pipeline.graph, source, target)
    if not edges:
        raise Unsupported(f"{source} has no edge to {target} that can be written")
    return edges[0]


def constant_size(headers: tuple[HeaderOut, ...]) -> int:
    """Octets up to and with the fixed part of the first header of variable size."""
    size = 0
    for h in headers:
        if h.variable:
            return size + h.header.fixed // 8
        size += h.octets
    return size


def pushed_size(site: Site) -> Expr:
    return total(h.size() for h in site.shape.pushed)
