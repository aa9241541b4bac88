"""Where a packet is edited: what it will look like, and where its headers are."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from ..headers.context import Context, Helper, place_of, pointer_to
from ..ir.builder import Builder
from ..ir.expr import (
    CTX,
    ZERO,
    Call,
    Expr,
    HelperCall,
    Name,
    NotNull,
    State,
    StatePointer,
    not_,
    number,
)
from ..ir.names import Names, c_name
from ..ir.nodes import KnownNotNull
from ..ir.types import BYTES, U64, Array
from .head import Head
from .shape import Shape


class Covering(NamedTuple):
    """A checksum that covers what is assigned: that of a node, counted where the packet lacks the
    nodes `nearer`, itself covered by those of the nodes `fronts`, innermost first. `pseudo`: what
    is assigned is of its pseudo header, where the target asks for that."""

    node: str
    field: str
    nearer: tuple[str, ...]
    fronts: tuple[str, ...]
    pseudo: bool = False


@dataclass
class ScratchWords:
    """How many words of the scratch record hold what is written later."""

    count: int = 0


@dataclass(kw_only=True)
class EditContext(Context):
    """`head`: how the target moves a frame; `hooks`: what is done at an event; `bare`: roles whose
    packets have no link header; `kept`: the words that pushes take in the scratch record;
    `helpers`: by what they do, for which shape of packet. `sums`: variables for what changes under
    the checksums that wait, those of the innermost body first. `copying`: it is a copy that leaves,
    and the packet goes on; `shown`: bytes of it, or 0: all."""

    shape: Shape
    head: Head
    hooks: dict[str, str]
    names: Names
    bare: tuple[str, ...] = ()
    kept: ScratchWords = field(default_factory=ScratchWords)
    helpers: dict[tuple[str, ...], Helper] = field(default_factory=dict)
    sums: ChainMap[Covering, Name] = field(default_factory=ChainMap)
    copying: bool = False
    shown: int = 0

    @property
    def words(self) -> Expr:
        """An array of words that later stages find."""
        return State("kept", Array(U64, 0), scratch=self.head.scratch)

    def branch(self, known: set[str] | frozenset[str] = frozenset()) -> EditContext:
        """The same place for one way of a branch: what it learns stays there. `known`: nodes that
        the branch's condition found present."""
        inner = replace(self, known=set(self.known))
        inner.learn(known)
        return inner

    def learn(self, nodes: set[str] | frozenset[str]) -> None:
        """A test in front showed that a packet here has these nodes."""
        self.known |= nodes
        if nodes:
            self.writer.put(KnownNotNull(tuple(map(pointer_to, sorted(nodes)))))

    # ---- nodes

    def pointer(self, name: str) -> StatePointer:
        """The pointer to a node's header; null where the packet lacks the node."""
        again = header_at(self.offset(name), self.header(name).minimum)
        return StatePointer(pointer_to(name), again)

    def node(self, name: str) -> StatePointer:
        """The pointer to a present node's header: the checker saw that it is present."""
        pointer = replace(self.pointer(name), sure=True)
        self.make_once(name, pointer)
        return pointer

    def found(self, name: str) -> StatePointer:
        """The pointer to a node's header: a present node's where a test has shown that it is."""
        return self.node(name) if name in self.known else self.pointer(name)

    def removed(self, name: str) -> Expr:
        """The pointer to the header of a node that a pop removed from this packet."""
        if name not in self._perhaps_gone(self.shape):
            return self.node(name)
        at, size = place_of(name), self.header(name).minimum
        pointer = self.writer.local(BYTES, "removed", header_at(at, size))
        self.writer.assume_not(not_(NotNull(pointer)))
        return pointer

    def reshape(self, shape: Shape) -> None:
        """The packet is to look like that from here on."""
        for name in self._perhaps_gone(shape) - self._perhaps_gone(self.shape):
            self.known.discard(name)
        self.shape = shape

    def _perhaps_gone(self, shape: Shape) -> set[str]:
        return shape.perhaps_gone(self.graph, self.role)

    def may_have(self, name: str) -> bool:
        """Whether a packet here can have the node: none that a pop or an append took away."""
        return name in self.reachable and name not in self.shape.gone(self.graph, self.role)

    def offset(self, name: str) -> Expr:
        """The byte of the frame at which a node starts."""
        by = self._moved_by(name)
        if self.leads(name):
            return number(by)
        at: Expr = place_of(name)
        if name in self._perhaps_gone(self.shape):
            at = Call("leading", (at, self.state("link")))
        return Call("moved", (at, number(by))) if by else at

    def _moved_by(self, name: str) -> int:
        """Bytes by which a header starts later than it came: by link headers popped behind it."""
        if not self.shape.untagged:
            return 0
        order = [n.name for n in self.graph.nodes]
        behind = order[order.index(name) + 1 :]
        return sum(self.header(n).fixed // 8 for n in self.shape.untagged if n in behind)

    def in_front(self, node: str) -> list[str]:
        """The node, and those that may stand anywhere in front of it, innermost first."""
        found = [node]
        for other in reversed(self.graph.nodes):
            targets = {e.target for e in self.graph.leaving(other.name, self.role)}
            if other.name in self.reachable and targets & set(found):
                found.append(other.name)
        return found

    # ---- helpers

    def helper(self, what: str, make: Callable[[EditContext], None]) -> str:
        """The name of a function for this role and this shape of packet; made at its first use. It
        finds its nodes by the scratch record, and is called as `NAME(ctx, st, a, b)`."""
        assert self.head.scratch, "H0360"
        gone = [n for way in self.shape.popped for n in way]
        own = [self.shape.own] if self.shape.own else []
        untagged = ["without", *self.shape.untagged] if self.shape.untagged else []
        key = (what, self.role, *gone, "to", *own, *self.shape.fronts, *untagged)
        if key not in self.helpers:
            name = self.names.free(c_name(f"{what}_{self.role}"))
            inner = self.new_function(Builder(span=self.writer.span))
            make(inner)
            self.helpers[key] = Helper(name, inner.writer.body)
        return self.helpers[key].name

    def new_function(self, writer: Builder, **changes: Any) -> EditContext:
        """The same place in a function of its own, which knows nothing yet."""
        return replace(self, writer=writer, known=set(), sums=ChainMap(), **changes)

    def call(self, helper: str, a: Expr = ZERO, b: Expr = ZERO) -> Expr:
        """What a helper returns for two numbers."""
        return HelperCall(helper, a, b)


def header_at(at: Expr, size: int) -> Expr:
    """The pointer to the header that starts at byte `at`, of so many bytes; null if there is
    none."""
    return Call("header_at", (CTX, at, number(size)), BYTES)
