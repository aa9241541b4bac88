"""The place where a function is being lowered: what is known there, and what it uses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from ...lang.contract.manifest.manifest import State
from ..model import Header, Pipeline
from ..model.parse_graph import leading
from .events import Events
from .layout import Table
from .lowered import Line, Writer, c_name, function_name

if TYPE_CHECKING:
    from .shape import Shape
    from .trace import Points


@dataclass(frozen=True)
class Binding:
    """A bound rule: C text of its record pointer, and its kind."""

    text: str
    rule: str


@dataclass(frozen=True)
class Helper:
    """A function that stages call for what is long and seldom: its name, body and state."""

    name: str
    body: tuple[Line, ...]
    takes: tuple[str, ...]


@dataclass
class Kept:
    """How many words of the scratch record hold what is written later, and how many what a
    statement needs while it is carried out."""

    words: int = 0
    aside: int = 0


@dataclass
class Site:
    """Where a function is being lowered: what is known there, and what it takes from the state."""

    pipeline: Pipeline
    role: str
    stage: str
    tables: dict[str, Table]
    events: Events
    points: Points
    writer: Writer
    reachable: frozenset[str]
    shape: Shape
    bindings: dict[str, Binding] = field(default_factory=dict)
    steers: bool = False  # whether a stage says which receive queue packets go to
    card: bool = (
        False  # for a network card: no scratch record, no epochs, no functions of their own
    )
    ports: dict[str, str] = field(default_factory=dict)  # `port p`: C text of its number
    helpers: dict[str, Helper] = field(default_factory=dict)
    states: dict[str, State] = field(default_factory=dict)
    in_memory: bool = True  # whether what earlier stages found is in the scratch record
    frugal: bool = False  # whether nothing lies on the stack from one statement to the next
    aside: int = 0  # words of the scratch record that the statement took so far
    uses: set[str] = field(default_factory=set)  # members of the state
    needs: set[str] = field(default_factory=set)  # the same of all helpers
    loaded: set[str] = field(default_factory=set)  # pointers that this function has, null or not
    known: set[str] = field(default_factory=set)  # nodes and kinds whose pointers are not null here
    kept: Kept = field(default_factory=lambda: Kept())

    @property
    def words(self) -> str:
        """C text of an array of u64 that later stages find."""
        return "st->kept" if self.card else "st->scratch->kept"

    def branch(self, known: set[str] | frozenset[str] = frozenset()) -> Site:
        """The same place for one way of a branch: what it learns stays there. `known`: nodes that
        the branch's condition found present."""
        return replace(
            self,
            bindings=dict(self.bindings),
            ports=dict(self.ports),
            loaded=set(self.loaded),
            known=self.known | known,
        )

    def apart(self, writer: Writer, **changes: Any) -> Site:
        """The same place in a function of its own, which knows nothing yet."""
        own: dict[str, Any] = {
            "bindings": dict(self.bindings),
            "ports": {},
            "uses": set(),
            "loaded": set(),
            "known": set(),
        }
        return replace(self, writer=writer, **own | changes)

    def node(self, name: str) -> str:
        """C text of the pointer to a present node's header. The checker saw that it is present; the
        verifier sees it by the test that is put here unless one went before."""
        return self._surely(name, self.pointer(name))

    def record(self, name: str) -> str:
        """C text of the pointer to a bound rule's record. Of one that is kept in the state the
        verifier has to see that it is there, as of a node."""
        bound = self.bindings[name]
        if not bound.text.startswith("st->"):
            return bound.text
        prefix, kept = self.tables[bound.rule].manifest.prefix, bound.text
        if self._lacks(kept):
            slot = self.writer.fresh("slot")
            self.writer.put(
                f"u32 {slot} = {self.state(f'{prefix}_slot')};",
                f"{kept} = bpf_map_lookup_elem(&{prefix}_records, &{slot});",
            )
        return self._surely(kept, kept)

    def forget(self) -> None:
        """Let what follows make its pointers and reads anew, so that none of them is kept."""
        self.loaded.clear()
        self.known.clear()
        self.aside = 0
        self.writer.put("REMEMBERED;")

    def zeros(self, type_: str, name: str, octets: int) -> None:
        """Let that C name lead to so many octets of zeros, until the statement ends."""
        self.writer.put(
            f"{type_} *{name} = (void *)&st->scratch->aside[{self.aside}];",
            f"__builtin_memset({name}, 0, {octets});",
        )
        self.aside += (octets + 7) // 8
        self.kept.aside = max(self.kept.aside, self.aside)

    def _lacks(self, pointer: str) -> bool:
        """Whether a pointer has to be made of what is in the scratch record; from then on it is
        there, on this way and those that branch off it."""
        if not self.in_memory or pointer in self.loaded:
            return False
        self.loaded.add(pointer)
        return True

    def _surely(self, known: str, pointer: str) -> str:
        if known not in self.known:
            self.writer.never(f"!there({pointer})")
            self.known.add(known)
        return pointer

    def removed(self, name: str) -> str:
        """C text of the pointer to the header of a node that a pop removed from this packet."""
        if name not in self._perhaps_gone(self.shape):
            return self.node(name)
        pointer, at = self.writer.fresh("removed"), self.state(f"{c_name(name)}_at")
        size = self.header(name).minimum
        self.writer.put(f"void *{pointer} = header_at(ctx, {at}, {size});")
        self.writer.never(f"!there({pointer})")
        return pointer

    def reshape(self, shape: Shape) -> None:
        """The packet is to look like that from here on."""
        for name in self._perhaps_gone(shape) - self._perhaps_gone(self.shape):
            self.known.discard(name)
            self.loaded.discard(f"st->{c_name(name)}_h")
        self.shape = shape

    def _perhaps_gone(self, shape: Shape) -> set[str]:
        return shape.perhaps_gone(self.pipeline.graph, self.role)

    def may_have(self, name: str) -> bool:
        """Whether a packet here can have the node: none that a pop or an append took away."""
        gone = self.shape.gone(self.pipeline.graph, self.role)
        return name in self.reachable and name not in gone

    def pointer(self, name: str) -> str:
        """C text of the pointer to a node's header; null where the packet lacks the node."""
        pointer = f"st->{c_name(name)}_h"
        self.uses.add(f"{c_name(name)}_at")
        if self._lacks(pointer):
            at, size = self.offset(name), self.header(name).minimum
            self.writer.put(f"{pointer} = header_at(ctx, {at}, {size});")
        return pointer

    def offset(self, name: str) -> str:
        """C text of the octet of the frame at which a node starts."""
        at = self.state(f"{c_name(name)}_at")
        if self.card:
            self.uses.add(f"{c_name(name)}_off")
        if name in self._perhaps_gone(self.shape):
            at = f"leading({at}, {self.state('link')})"
        by = self.moved_by(name)
        if self.in_memory and self.leads(name):
            return str(by)
        return f"moved({at}, {by})" if by else at

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
        """C name of a function for this role and this shape of packet; lowered at its first use. It
        finds its nodes by the scratch record, and is called as `NAME(ctx, st, a, b)`."""
        gone = [n for way in self.shape.popped for n in way]
        own = [self.shape.own] if self.shape.own else []
        untagged = ["without", *self.shape.untagged] if self.shape.untagged else []
        shape = "_".join((self.role, *gone, "to", *own, *self.shape.fronts, *untagged))
        name = function_name(c_name(f"{what}_{shape}"))
        if name not in self.helpers:
            inner = self.apart(Writer(span=self.writer.span), in_memory=True, bindings={})
            lower(inner)
            self.helpers[name] = Helper(name, tuple(inner.writer.lines), tuple(sorted(inner.uses)))
            self.needs |= inner.uses
        return name

    def state(self, member: str) -> str:
        """C text of a member of the state."""
        self.uses.add(member)
        return f"st->scratch->{member}" if self.in_memory else f"st->{member}"

    @property
    def links(self) -> list[str]:
        """Link nodes that may be at the front of a frame."""
        return leading(self.pipeline.graph, self.role)

    def header(self, node: str) -> Header:
        return self.pipeline.graph.node(node).header
