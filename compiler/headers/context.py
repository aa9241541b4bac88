"""Where code is made: the role, and what is known there of a packet."""

from __future__ import annotations

from dataclasses import dataclass, field

from ...lang.contract.base.lists import bytes_of
from ...lang.text.frozen import Frozen
from ..ir.builder import Builder
from ..ir.edits import NodePointer
from ..ir.events import Events
from ..ir.expr import State, StatePointer
from ..ir.names import announced_name, c_name, option_name
from ..ir.nodes import Action, Body, MakePointer, Verdict
from ..ir.types import BYTES, U8, U32, U64, Int, Type, raw
from ..ir.values import Value
from ..model import Chain, Graph, Header
from ..model.parse_graph import leading


class Helper(Frozen):
    """A function that stages call for what is long and seldom."""

    name: str
    body: Body


@dataclass(kw_only=True)
class Context:
    """`reachable`: nodes that a packet of the role can have; `known`: those that one has here.
    `card`: for a network card, which has no scratch record, no epochs, no functions of their
    own."""

    graph: Graph
    role: str
    stage: str
    events: Events
    writer: Builder
    reachable: frozenset[str]
    steers: bool = False  # whether a stage says which receive queue packets go to
    card: bool = False
    known: set[str] = field(default_factory=set)

    def header(self, node: str) -> Header:
        return self.graph.node(node).header

    def state(self, member: str) -> State:
        """A number of the state."""
        return State(member, _TYPES.get(member, U32))

    def leads(self, name: str) -> bool:
        """Whether a node is where every frame starts."""
        return self.graph.entry(self.role).name == name and not self.graph.entering(name, self.role)

    @property
    def links(self) -> list[str]:
        """Link nodes that may be at the front of a frame."""
        return leading(self.graph, self.role)

    def make_once(self, known: str, pointer: StatePointer | NodePointer) -> None:
        """A pointer that is sure is made where it is first asked for, not on each way behind
        that."""
        if known not in self.known:
            self.known.add(known)
            self.writer.put(MakePointer(pointer))

    def captured(self, v: Value, stem: str) -> Value:
        """The value in a local variable of its own: what it was read from may change."""
        made = self.writer.capture(v.stored, stem, v.expr)
        given = None if v.given is None else self.writer.capture(U8, "given", v.given)
        return Value(made, v.width, given)

    def drop(self, reason: str) -> None:
        self.writer.count(self.events("drop", reason))
        self.end("drop")

    def end(self, action: Action) -> None:
        """The packet's way ends with this verdict."""
        self.writer.put(Verdict(self.events("verdict", action), action))


#: Of the numbers of a packet's state that are no u32.
_TYPES: dict[str, Type] = {"epoch": U64, "length": U64, "l4": raw(32)}


#: Of a packet with a chain whether it is a fragment, as the headers in front of what is parsed say.
FRAGMENT_OF_CHAIN = State(announced_name("fragment"), raw(16))  # no chain has this name


def announced(chain: Chain) -> State:
    """The place of what says what stands behind a chain."""
    return State(announced_name(chain.name), Int(bytes_of(chain.width) * 8))


def option_of(graph: Graph, node: str, option: str) -> State:
    """The place of where an option starts, in bytes from the start of its header: 0 where the
    header lacks it."""
    index = next(i for i, n in enumerate(graph.nodes) if n.name == node)
    return State(option_name(node, index, option), U32)


def pointer_to(node: str) -> State:
    """The place of the pointer to a node's header."""
    return State(f"{c_name(node)}_h", BYTES)


def place_of(node: str) -> State:
    """The place of the byte of the frame at which a node started when the packet was parsed."""
    return State(f"{c_name(node)}_at", U32)
