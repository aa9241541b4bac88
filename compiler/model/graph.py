"""The parse graph: which header may follow which, and the field values that announce it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from ...lang.text.frozen import Frozen
from ...lang.text.source import NOWHERE, Span
from .headers import Header


class Test(Frozen):
    """The field of the edge's source node, under `mask` if given, lies in one of the ranges. With
    `ahead`: that many bits behind the header do, instead of a field."""

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
    """`options`: those of the header's options that the pipeline asks for. Where there are none,
    the parser does not look at them. `fits`: where it does not fit into what is in front of it
    the node is absent, and the packet not malformed."""

    name: str
    header: Header
    span: Span = NOWHERE
    options: tuple[str, ...] = ()
    fits: bool = False


class Chain(Frozen):
    """Headers that follow each other in any order, at most `most` of them, each announced by the
    field `by`, of `width` bits, of the one in front of it. `members` and `fronts` are nodes:
    those of the chain, and those that it may stand behind."""

    name: str
    by: str
    width: int
    most: int
    members: tuple[str, ...]
    fronts: tuple[str, ...]
    span: Span = NOWHERE


P = ParamSpec("P")
R = TypeVar("R")


def remembered(
    function: Callable[Concatenate[Graph, P], R],
) -> Callable[Concatenate[Graph, P], R]:
    """A function of a graph and of plain values, computed once for each."""

    @wraps(function)
    def found(graph: Graph, /, *given: P.args, **named: P.kwargs) -> R:
        key = function.__qualname__, *given, *named.items()
        if key not in graph.memory:
            graph.memory[key] = function(graph, *given, **named)
        known: R = graph.memory[key]
        return known

    return found


class Graph(Frozen):
    """`nodes` in topological order. `entries`: (port role, node) where packets start that came in
    by a port of that role; the first node where a role is not named.

    A packet has each node of a chain once: the first header that it announces. `edges` lead from a
    node of a chain to those that are declared behind it, as if they came in this order, and `again`
    to the others and to itself: only who follows a packet's headers asks for these."""

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    entries: tuple[tuple[str, str], ...] = ()
    chains: tuple[Chain, ...] = ()
    again: tuple[Edge, ...] = ()

    @cached_property
    def memory(self) -> dict[tuple[Any, ...], Any]:
        """What `remembered` functions found of this graph."""
        return {}

    def entry(self, role: str) -> Node:
        name = dict(self.entries).get(role)
        return self.nodes[0] if name is None else self.node(name)

    def node(self, name: str) -> Node:
        return self._by_name[name]

    @cached_property
    def _by_name(self) -> dict[str, Node]:
        return {n.name: n for n in reversed(self.nodes)}

    @remembered
    def leaving(self, node: str, role: str | None = None) -> tuple[Edge, ...]:
        """Edges that leave the node, read on that role (all of them if None), in file order."""
        return tuple(
            e for e in self.edges if e.source == node and (role is None or role in e.roles)
        )

    @remembered
    def onward(self, node: str, role: str) -> tuple[Edge, ...]:
        """Edges by which a parser goes on behind the node: those that lead back in a chain, too."""
        back = (e for e in self.again if e.source == node and role in e.roles)
        return (*self.leaving(node, role), *back)

    def chain(self, node: str) -> Chain | None:
        """The chain that a node is of."""
        return self._chains.get(node)

    @cached_property
    def _chains(self) -> dict[str, Chain]:
        return {node: chain for chain in self.chains for node in chain.members}

    @remembered
    def entering(self, node: str, role: str | None = None) -> tuple[Edge, ...]:
        return tuple(
            e for e in self.edges if e.target == node and (role is None or role in e.roles)
        )
