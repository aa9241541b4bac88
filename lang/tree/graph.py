"""The parser's edges and their guards."""

from __future__ import annotations

from .expressions import Expr, Name, Node, Number, Range


class Test(Node):
    """`protocol = 17 | 6`: one conjunct of a guard; `field` belongs to the node the edge leaves. In
    `next u4 = 4`, `ahead` is the type, and `field` the word `next`."""

    field: Name
    alternatives: tuple[Range, ...]
    ahead: Name | None = None


class ChainMember(Node):
    """`ipv6_fragment as part when 44`: a header of a chain, and the values that announce it.
    `write`: the one that a push writes, where there are several."""

    target: Name
    alias: Name | None
    alternatives: tuple[Range, ...]
    write: tuple[Expr, ...] = ()

    @property
    def node(self) -> Name:
        return self.alias or self.target


class Chain(Node):
    """`chain extension by next_header max 8 {…}`: headers that follow each other in any order, each
    announced by this field of the one in front of it."""

    name: Name
    by: Name
    most: Number
    members: tuple[ChainMember, ...]


class Edge(Node):
    """`ethernet -> ipv4 as user when type = 0x0800 write 0x0800 on lan`. `depth`: the target is a
    stack, as in `ethernet -> vlan[2]`. `fits`: `if it fits`, the words as they are written."""

    source: Name
    target: Name
    alias: Name | None
    guard: tuple[Test, ...]
    write: tuple[Expr, ...]
    ports: tuple[Name, ...]
    depth: Number | None = None
    fits: Name | None = None
