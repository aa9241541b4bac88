"""Which headers a packet has lost and gained when it leaves: pops and pushes, collected."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

from ...lang.text.frozen import Frozen
from ..model import Graph
from ..model.parse_graph import leading, sometimes_leading

AnyOutline = TypeVar("AnyOutline", bound="Outline")


class Outline(Frozen):
    """`fronts`: nodes that may be the first behind the link nodes and the pushes; `popped`: what
    was removed in front of it, outermost first, in each way that may be; `own`: the link node that
    was popped to, where the packet's own link header starts; "" where that is the frame's start.
    `untagged`: link nodes that were popped by themselves: what stands in front of them has been
    moved up to what follows. `pushes`: nodes that were pushed, outermost first, `behind` this link
    node whatever follows it, or else in front of the first of `fronts`. `cut`: the node that what
    was appended stands behind."""

    fronts: tuple[str, ...]
    popped: tuple[tuple[str, ...], ...] = ()
    own: str = ""
    untagged: tuple[str, ...] = ()
    pushes: tuple[str, ...] = ()
    behind: str = ""
    cut: str = ""

    @property
    def touched(self) -> bool:
        return any((self.popped, self.pushes, self.own, self.untagged, self.cut))

    def gone(self, graph: Graph, role: str) -> set[str]:
        """Nodes that were popped or cut off, whichever of them the packet had."""
        removed = {n for way in self.popped for n in way}
        found = removed - sometimes_leading(graph, role) | set(self.untagged)
        if self.own:
            start = graph.entry(role).name
            ways = all_ways(graph, role, start, self.own)
            found |= {n for way in ways for n in way[:-1]}
        if self.cut:
            found |= behind(graph, role, self.cut)
        return found

    def perhaps_gone(self, graph: Graph, role: str) -> set[str]:
        """Link nodes that a packet lost by a pop if other headers stood in front of them, and kept
        if none did."""
        removed = {n for way in self.popped for n in way}
        return removed & sometimes_leading(graph, role) - set(self.untagged)


def untouched(graph: Graph, role: str) -> Outline:
    """Of a packet as it came in."""
    return Outline(fronts_behind(graph, role, graph.entry(role).name))


# ---- changes --------------------------------------------------------------------------------


def popped_to(outline: AnyOutline, graph: Graph, role: str, node: str) -> AnyOutline:
    """What stood in front of a node is gone."""
    first = outline.own or graph.entry(role).name
    if node == first or (outline.popped and outline.fronts == (node,)):
        return outline
    if graph.node(node).header.link:
        return replace(outline, fronts=fronts_behind(graph, role, node), popped=(), own=node)
    popped = ways_to(graph, role, first, node)
    if popped == ((),):
        return replace(outline, fronts=(node,))
    return replace(outline, fronts=(node,), popped=popped)


def without_link(outline: AnyOutline, node: str) -> AnyOutline:
    return replace(outline, untagged=(*outline.untagged, node))


def pushed(outline: AnyOutline, nodes: tuple[str, ...], before: str, behind: str) -> AnyOutline:
    made = replace(outline, pushes=(*nodes, *outline.pushes))
    if behind:
        return replace(made, behind=behind)
    return made if outline.pushes else replace(made, fronts=(before,))


def cut_behind(outline: AnyOutline, node: str) -> AnyOutline:
    return replace(outline, cut=node)


# ---- ways -----------------------------------------------------------------------------------


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


def fronts_behind(graph: Graph, role: str, start: str) -> tuple[str, ...]:
    """Nodes that may come first behind the leading link nodes of a packet that begins with
    `start`."""
    links = leading(graph, role, start)
    found = [e.target for e in graph.edges if role in e.roles and e.source in links]
    return tuple(dict.fromkeys(t for t in found if not graph.node(t).header.link))
