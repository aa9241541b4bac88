"""What the stages of a pipeline may name, and what is learnt from them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

from ...lang import tree
from ...lang.text.diagnostics import Diagnostic, Diagnostics
from ...lang.text.source import Span
from .. import model
from .contents import Contents
from .edges import CheckedGraph
from .elements import Elements
from .flow import Narrowed, Scope, State, World
from .kinds import Rules
from .values import Value


@dataclass
class Program:
    """All that the stages may name, and what is learnt from them on the way."""

    checked: CheckedGraph
    elements: Elements
    rules: Rules
    states: dict[str, model.State]
    registers: dict[str, model.Registers]
    events: dict[str, model.EventKind]
    actions: dict[str, tree.Action]
    roles: tuple[str, ...]
    hooks: dict[model.Event, model.Verdict | None]
    found: Diagnostics
    narrow: Callable[[Program, tree.Expr, State, Scope], Narrowed]  # conditions.py, of names again
    required: dict[str, list[model.Requirement]] = field(default_factory=dict)
    lookups: dict[str, list[State]] = field(default_factory=dict)
    given_by_find: set[tuple[str, str]] = field(default_factory=set)  # kinds and their elements
    alone: dict[str, Span] = field(default_factory=dict)  # kinds whose rules are reached one by one
    chosen: dict[str, Span] = field(default_factory=dict)  # kinds reached by `choose`
    missed: dict[str, Span] = field(default_factory=dict)  # where a kind was looked up
    forgotten: dict[str, Span] = field(default_factory=dict)  # where an entry of a state was
    pushes: dict[str, Span] = field(default_factory=dict)  # where a node was pushed
    pushed: dict[str, list[Contents]] = field(default_factory=dict)  # what pushes wrote of a node
    lets: dict[Span, Value | None] = field(default_factory=dict)  # by the statement
    locals: dict[str, tuple[int, str]] = field(default_factory=dict)  # width and kind, by name
    randoms: dict[Span, int] = field(default_factory=dict)  # places, by the call
    metered: set[str] = field(default_factory=set)  # kinds of which a meter is asked
    applied: set[str] = field(default_factory=set)
    steps: int = 0  # statements of inlined actions
    broken: frozenset[str] = frozenset()  # declarations in which something is wrong
    unsure: bool = False  # something was left out: do not hold what is missing against the user
    said: set[tuple[str, Span]] = field(default_factory=set)
    within: tuple[Span, ...] = ()  # the statement that is checked, and those around it in front
    lacked: set[tuple[str, Span]] = field(default_factory=set)

    def report(self, diagnostic: Diagnostic) -> None:
        """Once for each place, however often an action is inlined."""
        assert diagnostic.span is not None
        key = diagnostic.code, diagnostic.span
        if key not in self.said:
            self.said.add(key)
            self.found.add(diagnostic)

    def report_lack(self, node: str, diagnostic: Diagnostic) -> None:
        """That packets may lack a node: once for each statement, however often it reads that; not
        for those within one that is told of."""
        if not any((node, span) in self.lacked for span in self.within):
            self.lacked |= {(node, span) for span in self.within[-1:]}
            self.report(diagnostic)

    def bit(self, node: str) -> int:
        return 1 << self.position(node)

    def order(self, world: World) -> list[model.Node]:
        """The nodes of a packet, outermost first."""
        return [self.checked.graph.nodes[i] for i in world.chain]

    def position(self, node: str) -> int:
        return self._positions[node]

    def leading(self, world: World) -> int:
        """How many link nodes stand in front of all else."""
        for at, position in enumerate(world.chain):
            if position not in self._links:
                return at
        return len(world.chain)

    # Of some thousand kinds of packets each asks for these.

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {node.name: i for i, node in enumerate(self.checked.graph.nodes)}

    @cached_property
    def _links(self) -> frozenset[int]:
        return frozenset(i for i, n in enumerate(self.checked.graph.nodes) if n.header.link)
