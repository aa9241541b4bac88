"""The place where a function is being lowered: what is known there, and what it uses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from ...lang.contract.manifest import manifest as m
from ..ir.builder import Builder
from ..ir.expr import (
    CTX,
    ZERO,
    Call,
    Expr,
    HelperCall,
    NotNull,
    RecordOf,
    State,
    StatePointer,
    not_,
    number,
)
from ..ir.names import Names, c_name
from ..ir.nodes import Body, KnownNotNull, MakePointer
from ..ir.types import BYTES, U32, U64, Array, Pointer, Type, raw
from ..model import Header, Pipeline
from ..model.parse_graph import leading
from ..tables.layout import Table
from .events import Events

if TYPE_CHECKING:
    from .shape import Shape
    from .trace import Points


@dataclass(frozen=True)
class Binding:
    """A bound rule: the pointer to its record, and its kind."""

    record: Expr
    rule: str


@dataclass(frozen=True)
class Helper:
    """A function that stages call for what is long and seldom."""

    name: str
    body: Body


@dataclass
class ScratchWords:
    """How many words of the scratch record hold what is written later."""

    count: int = 0


@dataclass
class Site:
    """Where a function is being lowered: what is known there, and what it takes from the state."""

    pipeline: Pipeline
    role: str
    stage: str
    tables: dict[str, Table]
    events: Events
    points: Points
    writer: Builder
    reachable: frozenset[str]
    shape: Shape
    bindings: dict[str, Binding] = field(default_factory=dict)
    steers: bool = False  # whether a stage says which receive queue packets go to
    card: bool = (
        False  # for a network card: no scratch record, no epochs, no functions of their own
    )
    ports: dict[str, Expr] = field(default_factory=dict)  # `port p`: its number
    names: Names = field(default_factory=Names)  # of the functions of all roles
    helpers: dict[tuple[str, ...], Helper] = field(default_factory=dict)
    states: dict[str, m.State] = field(default_factory=dict)
    known: set[str] = field(default_factory=set)  # nodes that a packet here has
    tested: frozenset[str] = frozenset()  # those of them that the condition under way has tested
    kept: ScratchWords = field(default_factory=ScratchWords)

    @property
    def words(self) -> Expr:
        """An array of words that later stages find."""
        return State("kept", Array(U64, 0), scratch=not self.card)

    def branch(self, known: set[str] | frozenset[str] = frozenset()) -> Site:
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
            self.writer.put(KnownNotNull(tuple(map(pointer_to, sorted(nodes)))))

    def apart(self, writer: Builder, **changes: Any) -> Site:
        """The same place in a function of its own, which knows nothing yet."""
        own: dict[str, Any] = {"bindings": dict(self.bindings), "ports": {}, "known": set()}
        return replace(self, writer=writer, **own | changes)

    def pointer(self, name: str) -> StatePointer:
        """The pointer to a node's header; null where the packet lacks the node."""
        again = header_at(self.offset(name), self.header(name).minimum)
        return StatePointer(pointer_to(name), again)

    def node(self, name: str) -> StatePointer:
        """The pointer to a present node's header: the checker saw that it is present."""
        pointer = replace(self.pointer(name), sure=name not in self.tested)
        self._first(name, pointer)
        return pointer

    def record(self, name: str) -> Expr:
        """The pointer to a bound rule's record."""
        bound = self.bindings[name]
        if not isinstance(bound.record, State):
            return bound.record
        prefix = self.tables[bound.rule].manifest.prefix
        again = RecordOf(prefix, self.state(f"{prefix}_slot"))
        record = StatePointer(bound.record, again, sure=True)
        self._first(known_as(bound.record), record)
        return record

    def _first(self, known: str, pointer: StatePointer) -> None:
        """A pointer that is sure is made where it is first asked for, not on each way behind
        that."""
        if known not in self.known:
            self.known.add(known)
            self.writer.put(MakePointer(pointer))

    def rule_record(self, rule: str) -> State:
        """Where the pointer to the record of the rule that was found of a kind is kept."""
        return rule_record(self.tables[rule])

    def removed(self, name: str) -> Expr:
        """The pointer to the header of a node that a pop removed from this packet."""
        if name not in self._perhaps_gone(self.shape):
            return self.node(name)
        at, size = self.state(f"{c_name(name)}_at"), self.header(name).minimum
        pointer = self.writer.local(BYTES, "removed", header_at(at, size))
        self.writer.assume_not(not_(NotNull(pointer)))
        return pointer

    def reshape(self, shape: Shape) -> None:
        """The packet is to look like that from here on."""
        for name in self._perhaps_gone(shape) - self._perhaps_gone(self.shape):
            self.known.discard(name)
        self.shape = shape

    def _perhaps_gone(self, shape: Shape) -> set[str]:
        return shape.perhaps_gone(self.pipeline.graph, self.role)

    def may_have(self, name: str) -> bool:
        """Whether a packet here can have the node: none that a pop or an append took away."""
        gone = self.shape.gone(self.pipeline.graph, self.role)
        return name in self.reachable and name not in gone

    def offset(self, name: str) -> Expr:
        """The octet of the frame at which a node starts."""
        by = self.moved_by(name)
        if self.leads(name):
            return number(by)
        at: Expr = self.state(f"{c_name(name)}_at")
        if name in self._perhaps_gone(self.shape):
            at = Call("leading", (at, self.state("link")))
        return Call("moved", (at, number(by))) if by else at

    def moved_by(self, name: str) -> int:
        """Octets by which a header starts later than it came: by link headers popped behind it."""
        if not self.shape.untagged:
            return 0
        order = [n.name for n in self.pipeline.graph.nodes]
        behind = order[order.index(name) + 1 :]
        return sum(self.header(n).fixed // 8 for n in self.shape.untagged if n in behind)

    def leads(self, name: str) -> bool:
        """Whether a node is where every frame starts."""
        graph = self.pipeline.graph
        return graph.entry(self.role).name == name and not graph.entering(name, self.role)

    def helper(self, what: str, lower: Callable[[Site], None]) -> str:
        """The name of a function for this role and this shape of packet; lowered at its first use.
        It finds its nodes by the scratch record, and is called as `NAME(ctx, st, a, b)`."""
        gone = [n for way in self.shape.popped for n in way]
        own = [self.shape.own] if self.shape.own else []
        untagged = ["without", *self.shape.untagged] if self.shape.untagged else []
        key = (what, self.role, *gone, "to", *own, *self.shape.fronts, *untagged)
        if key not in self.helpers:
            name = self.names.free(c_name("_".join(key)))
            inner = self.apart(Builder(span=self.writer.span), bindings={})
            lower(inner)
            self.helpers[key] = Helper(name, inner.writer.body)
        return self.helpers[key].name

    def call(self, helper: str, a: Expr = ZERO, b: Expr = ZERO) -> Expr:
        """What a helper returns for two numbers."""
        return HelperCall(helper, a, b)

    def state(self, member: str) -> State:
        """A number of the state."""
        return State(member, _TYPES.get(member, U32))

    @property
    def links(self) -> list[str]:
        """Link nodes that may be at the front of a frame."""
        return leading(self.pipeline.graph, self.role)

    def header(self, node: str) -> Header:
        return self.pipeline.graph.node(node).header


#: Of the numbers of a packet's state that are no u32.
_TYPES: dict[str, Type] = {"epoch": U64, "length": U64, "l4": raw(32)}


def pointer_to(node: str) -> State:
    """The place of the pointer to a node's header."""
    return State(f"{c_name(node)}_h", BYTES)


def header_at(at: Expr, octets: int) -> Expr:
    """The pointer to the header that starts at octet `at`, of so many octets; null if there is
    none."""
    return Call("header_at", (CTX, at, number(octets)), BYTES)


def rule_record(table: Table) -> State:
    """Where the pointer to the record of the rule that was found of a kind is kept."""
    prefix = table.manifest.prefix
    return State(f"{prefix}_rule", Pointer(f"struct {prefix}_record"))


def known_as(record: State) -> str:
    """What `known` says of a rule that was found. No node has such a name."""
    return f"record {record.member}"
