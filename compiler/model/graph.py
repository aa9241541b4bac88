"""The parse graph: which header may stand behind which, and what tells so."""

from __future__ import annotations

from ...lang.text.frozen import Frozen
from ...lang.text.source import NOWHERE, Span
from .headers import Header


class Test(Frozen):
    """The field of the edge's source node, under `mask` if given, lies in one of the ranges. With
    `ahead`: so many bits behind that header do (and `field` only says so)."""

    field: str
    ranges: tuple[tuple[int, int], ...]
    mask: int | None = None
    ahead: int = 0


class Edge(Frozen):
    """`writes` are the source node's fields as a push assigns them; None if the edge cannot be
    written. `roles` are the port roles on which it is read: none if it is written only."""

    source: str
    target: str
    tests: tuple[Test, ...]
    writes: tuple[tuple[str, int], ...] | None
    roles: frozenset[str]
    span: Span = NOWHERE


class Node(Frozen):
    name: str
    header: Header
    span: Span = NOWHERE


class Graph(Frozen):
    """`nodes` in topological order. `entries`: (port role, node) where packets start that came in
    by a port of that role; the first node where a role is not named."""

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    entries: tuple[tuple[str, str], ...] = ()

    def entry(self, role: str) -> Node:
        name = dict(self.entries).get(role)
        return self.nodes[0] if name is None else self.node(name)

    def node(self, name: str) -> Node:
        return next(n for n in self.nodes if n.name == name)

    def leaving(self, node: str, role: str | None = None) -> tuple[Edge, ...]:
        """Edges that leave the node, read on that role (all of them if None), in file order."""
        return tuple(
            e for e in self.edges if e.source == node and (role is None or role in e.roles)
        )

    def entering(self, node: str, role: str | None = None) -> tuple[Edge, ...]:
        return tuple(
            e for e in self.edges if e.target == node and (role is None or role in e.roles)
        )
