"""The place where a function is being lowered: what is known there, and what it uses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from ...lang.contract.manifest import manifest as m
from ...lang.text.frozen import Frozen
from ..headers.context import Context, Helper
from ..headers.outline import Outline
from ..ir.builder import Builder
from ..ir.edits import NodePointer
from ..ir.expr import ZERO, Expr, HelperCall, RecordOf, State, StatePointer, TableCall
from ..ir.names import Names, c_name
from ..ir.nodes import KnownNotNull
from ..ir.types import U32, Pointer
from ..ir.values import Value
from ..model import Pick, Pipeline
from ..tables.layout import Table


class Binding(Frozen):
    """A bound rule: the pointer to its record, its kind, and the number of its cell, which is known
    in this program."""

    record: Expr
    rule: str
    cell: Expr = ZERO


@dataclass(kw_only=True)
class LoweringContext(Context):
    """`outline`: which headers a packet has lost and gained so far; `tested`: those of the `known`
    nodes that the condition under way has tested; `ports`: `port p`: its number; `names`: of the
    functions of all roles; `pick`: lowers one of two values by a condition, which is made of values
    again."""

    pipeline: Pipeline
    tables: dict[str, Table]
    outline: Outline
    pick: Callable[[LoweringContext, Pick], Value]
    bindings: dict[str, Binding] = field(default_factory=dict)
    ports: dict[str, Expr] = field(default_factory=dict)
    names: Names = field(default_factory=Names)
    helpers: dict[str, Helper] = field(default_factory=dict)
    states: dict[str, m.State] = field(default_factory=dict)
    emits: dict[str, m.EventKind] = field(default_factory=dict)
    tested: frozenset[str] = frozenset()

    def branch(self, known: set[str] | frozenset[str] = frozenset()) -> LoweringContext:
        """The same place for one way of a branch: what it learns stays there. `known`: nodes that
        the branch's condition found present."""
        inner = replace(
            self, bindings=dict(self.bindings), ports=dict(self.ports), known=set(self.known)
        )
        inner.learn(known)
        return inner

    def learn(self, nodes: set[str] | frozenset[str]) -> None:
        """A test in front showed that a packet here has these nodes."""
        self.known |= nodes
        if nodes:
            self.writer.put(KnownNotNull(tuple(NodePointer(n, sure=True) for n in sorted(nodes))))

    def new_function(self, writer: Builder, **changes: Any) -> LoweringContext:
        """The same place in a function of its own, which knows nothing yet."""
        own: dict[str, Any] = {"bindings": dict(self.bindings), "ports": {}, "known": set()}
        return replace(self, writer=writer, **own | changes)

    # ---- nodes

    def pointer(self, name: str) -> NodePointer:
        """The pointer to a node's header; null where the packet lacks the node."""
        return NodePointer(name)

    def node(self, name: str) -> NodePointer:
        """The pointer to a present node's header: the checker saw that it is present."""
        pointer = NodePointer(name, sure=name not in self.tested)
        self.make_once(name, pointer)
        return pointer

    def reshape(self, outline: Outline) -> None:
        """The packet is to look like that from here on."""
        for name in self._perhaps_gone(outline) - self._perhaps_gone(self.outline):
            self.known.discard(name)
        self.outline = outline

    def _perhaps_gone(self, outline: Outline) -> set[str]:
        return outline.perhaps_gone(self.graph, self.role)

    def may_have(self, name: str) -> bool:
        """Whether a packet here can have the node: none that a pop or an append took away."""
        return name in self.reachable and name not in self.outline.gone(self.graph, self.role)

    # ---- rules

    def record(self, name: str) -> Expr:
        """The pointer to a bound rule's record."""
        bound = self.bindings[name]
        if not isinstance(bound.record, State):
            return bound.record
        prefix = self.tables[bound.rule].manifest.prefix
        again = RecordOf(prefix, self.state(f"{prefix}_slot"))
        record = StatePointer(bound.record, again, sure=True)
        self.make_once(known_as(bound.record), record)
        return record

    def cell(self, name: str) -> Expr:
        """A bound rule's cell."""
        bound = self.bindings[name]
        if not isinstance(bound.record, State):
            return bound.cell
        prefix = self.tables[bound.rule].manifest.prefix
        return TableCall(prefix, "cell_of", (self.state(f"{prefix}_slot"),), U32)

    def rule_record(self, rule: str) -> State:
        """Where the pointer to the record of the rule that was found of a kind is kept."""
        return rule_record(self.tables[rule])

    # ---- helpers

    def helper(self, what: str, lower: Callable[[LoweringContext], None]) -> Expr:
        """A call of a function for this role, lowered at its first use. It finds its nodes by the
        scratch record."""
        if what not in self.helpers:
            name = self.names.free(c_name(f"{what}_{self.role}"))
            inner = self.new_function(Builder(span=self.writer.span), bindings={})
            lower(inner)
            self.helpers[what] = Helper(name, inner.writer.body)
        return HelperCall(self.helpers[what].name, ZERO, ZERO)


def rule_record(table: Table) -> State:
    """Where the pointer to the record of the rule that was found of a kind is kept."""
    prefix = table.manifest.prefix
    return State(f"{prefix}_rule", Pointer(f"struct {prefix}_record"))


def known_as(record: State) -> str:
    """What `known` says of a rule that was found. No node has such a name."""
    return f"record {record.member}"
