"""The parser's edges and their guards."""

from __future__ import annotations

from .expressions import Expr, Name, Node, Number, Range


class Test(Node):
    """`protocol = 17 | 6`: one conjunct of a guard; `field` belongs to the node the edge leaves. In
    `next u4 = 4`, `ahead` is the type, and `field` the word `next`."""

    field: Name
    alternatives: tuple[Range, ...]
    ahead: Name | None = None


class Edge(Node):
    """`ethernet -> ipv4 as user when type = 0x0800 write 0x0800 on lan`. `depth`: the target is a
    stack, as in `ethernet -> vlan[2]`."""

    source: Name
    target: Name
    alias: Name | None
    guard: tuple[Test, ...]
    write: tuple[Expr, ...]
    ports: tuple[Name, ...]
    depth: Number | None = None
