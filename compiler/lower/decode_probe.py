"""Statements of a decoder: they write where the nodes of a packet are, and their plain fields, into
the map `decode_probe`."""

from __future__ import annotations

from functools import partial

from ..ir.edits import NodeOffset
from ..ir.expr import Address, Call, Member, Symbol, element
from ..ir.expr_builders import both
from ..ir.names import c_name
from ..ir.nodes import Do
from ..ir.types import U32, U64, Array, Pointer
from ..model import Field, Graph, Header, Node, Packet
from .context import LoweringContext
from .values import value

PROBE = Pointer("struct decode_probe")


def probed_fields(header: Header) -> tuple[Field, ...]:
    """Fields of the fixed part of up to 64 bits: those that a register holds."""
    return tuple(
        f
        for f in header.fields
        if f.group is None
        and 0 < f.width <= 64
        and f.offset + f.width <= header.fixed
        and not f.name.startswith("_")
    )


def places(graph: Graph) -> dict[tuple[str, str], int]:
    """The word of the map for each (node, field). Field "": the byte at which the node starts,
    plus one; 0 where the packet lacks it."""
    found: dict[tuple[str, str], int] = {}
    for node in graph.nodes:
        for name in ("", *(f.name for f in probed_fields(node.header))):
            found[node.name, name] = len(found)
    return found


def probe(site: LoweringContext, nodes: tuple[str, ...]) -> None:
    """A function for each node, so that the verifier need not follow every set of nodes that a
    packet may have through all of them."""
    at = places(site.graph)
    for node in site.graph.nodes:
        if node.name in nodes and node.name in site.reachable:
            what = f"probe_{c_name(node.name)}"
            site.writer.put(Do(site.helper(what, partial(_node, node=node, at=at))))


def _node(site: LoweringContext, node: Node, at: dict[tuple[str, str], int]) -> None:
    w = site.writer
    first = w.let(U32, "first", 0)
    place = Address(Symbol("decode_probe")), Address(first)
    out = w.let(PROBE, "out", Call("bpf_map_lookup_elem", place, PROBE))
    word = Member(out, "word", Array(U64, 0))
    with w.when(both((out, site.pointer(node.name)))):
        inner = site.branch({node.name})
        w.set(element(word, at[node.name, ""]), 1 + NodeOffset(node.name))
        for f in probed_fields(node.header):
            read = value(inner, Packet(node.name, f.name, f.width, f.kind)).host()
            w.set(element(word, at[node.name, f.name]), read)
    w.returns(0)
