"""SCHED_CLS: a program at tc's ingress is given an skb, whose metadata has to stay true. A spike,
for tests: what it does not do is refused here, or dropped and counted where only packets show it.

Refused: traced builds, receive queues, IPv6, edits but `push` of IPv4 and GRE without checksum or
sequence number, `pop` to IP, `forward`, `clamp mss` and verdicts. Dropped: packets with a VLAN tag
in the metadata (an internal error), as all tags of a wire are; what GSO the kernel does not
encapsulate, or encapsulated before, and what is longer than IPv4 can say (`no_headroom`); an ICMP
error about a packet with a partial checksum (an internal error). Different from XDP: a GSO packet
counts once, with all its bytes; what is more than MOST_HEADERS into a packet is truncated to a
parser; a GSO packet stays marked as encapsulated after a pop, which only devices that segment might
mistake; `send back` is right at ingress only.
"""

from __future__ import annotations

from types import MappingProxyType

from ..edits.head import Head, Headers
from ..ir import edits as e
from ..ir.expr import CTX, ZERO, Call, Expr, Symbol
from ..ir.types import U32
from ..ir.unit import Unit
from ..ir.walk import statements
from ..model import Graph

_IPV4 = 20


class Unsupported(Exception):
    """What the spike does not do."""


#: As what the kernel segments a packet with these headers around it: see templates/tc.bpf.h.
_ENCAPSULATED = {
    (): ZERO,
    ("ipv4",): Symbol("AS_IPIP"),
    ("ipv4", "gre"): Symbol("AS_GRE"),
}  # fmt: skip


class SkbHead(Head):
    """The MAC header stays in front of room that is made, or taken away, behind it. Where that
    fails the frame may be half done, so no hook sees it."""

    hooks = MappingProxyType({"no_headroom": "drop"})

    def refuse(self, unit: Unit) -> None:
        if unit.traced is not None:
            raise Unsupported("a traced build, at tc")
        if unit.steers:
            raise Unsupported("a receive queue, at tc")
        if any(node.header.protocol == "ipv6" for node in unit.graph.nodes):
            raise Unsupported("IPv6, at tc")
        for function in unit.functions:
            for s in statements(function.body):
                if isinstance(s, e.PacketEdit) and not _taken(unit.graph, s):
                    raise Unsupported(f"{type(s).__name__}, at tc")

    def move(self, by: Expr, pushed: Headers = ()) -> Expr:
        if pushed:
            raise Unsupported("headers pushed on a packet that is not forwarded, at tc")
        return Call("move_head", (CTX, by))

    def move_end(self, by: Expr) -> Expr:
        return Call("move_end", (CTX, by))

    def room(self, begins: Expr, pushed: Expr, headers: Headers, tag: Expr) -> Expr:
        protocols = tuple(h.header.protocol for h in headers)
        known = all(not h.sealed() and "sequence" not in h.given for h in headers)
        if (
            protocols not in _ENCAPSULATED
            or not known
            or (headers and headers[0].known_size != _IPV4)
        ):
            raise Unsupported(f"pushing {' / '.join(h.node for h in headers)}, at tc")
        return Call("make_room", (CTX, begins, pushed, _ENCAPSULATED[protocols]))

    def extent(self, at: Expr, extent: Expr) -> Expr:
        return Call("segment_extent", (CTX, at, extent), U32)


def _taken(graph: Graph, edit: e.PacketEdit) -> bool:
    match edit:
        case e.Push(behind=behind):
            return not behind
        case e.Pop(node):
            return not graph.node(node).header.link
    return isinstance(edit, e.Forward | e.Finish | e.ClampMss)
