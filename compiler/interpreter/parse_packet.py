"""Octets to headers by a pipeline's parse graph: docs/semantics.md, "Parsing"."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from ..model import Condition, Edge, Expr, Graph, Header, Node, Own, Test
from ..sums import NETWORK
from .evaluate import evaluate, holds
from .octets import Octets, Value, is_fragment


@dataclass(frozen=True, eq=False)
class Layer:
    """A header of a packet: its node, where it starts, its octets (its size), and where what
    belongs to it ends: its extent, or the frame's end. All counted in octets of the frame."""

    node: Node
    offset: int
    size: int
    end: int
    octets: Octets

    @property
    def name(self) -> str:
        return self.node.name

    @property
    def header(self) -> Header:
        return self.node.header

    @property
    def behind(self) -> int:
        """Where the next header starts."""
        return self.offset + self.size

    @property
    def fields(self) -> dict[str, Value]:
        return self.octets.fields

    def reread(self, frame: bytes) -> Layer:
        """The same header after the frame's octets changed."""
        octets = Octets(self.header, frame[self.offset : self.behind])
        return Layer(self.node, self.offset, self.size, self.end, octets)

    def moved(self, frame: bytes, by: int, shorter: int) -> Layer:
        """The same header where it starts so many octets earlier, of a frame shortened by as many
        as are said."""
        start = self.offset - by
        octets = Octets(self.header, frame[start : start + self.size])
        return Layer(self.node, start, self.size, self.end - shorter, octets)


@dataclass(frozen=True, eq=False)
class Parsed:
    """`reason` says of a malformed packet which node and why (`gre: truncated`). `limit`: octets
    of the frame that belong to headers and their payload; what lies behind is padding."""

    layers: tuple[Layer, ...]
    result: Literal["ok", "malformed"]
    reason: str
    limit: int

    @cached_property
    def by_name(self) -> dict[str, Layer]:
        return {layer.name: layer for layer in self.layers}

    @property
    def nodes(self) -> tuple[tuple[str, int], ...]:
        """(node, offset) in order."""
        return tuple((layer.name, layer.offset) for layer in self.layers)


class _Malformed(Exception):
    pass


def parse_packet(graph: Graph, role: str, frame: bytes) -> Parsed:
    """Parse a frame that arrived on a port of `role`."""
    return PacketParser(graph).parse(role, frame)


class PacketParser:
    """The parser of one graph; keeps what it found out about the graph between packets."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._nodes = {node.name: node for node in graph.nodes}
        self._leaving: dict[tuple[str, str], tuple[Edge, ...]] = {}

    def parse(self, role: str, frame: bytes) -> Parsed:
        layers: list[Layer] = []
        node: Node | None = self._graph.entry(role)
        offset, limit = 0, len(frame)
        while node is not None:
            try:
                layer, limit = _layer(node, frame, offset, limit)
            except _Malformed as damage:
                return Parsed(tuple(layers), "malformed", f"{node.name}: {damage}", limit)
            if layer is None:
                break
            edges = self._edges(node, role)
            reach = node.header.reach
            if reach is not None and edges and not _in_fragment(layers):
                try:
                    limit = _reach(layer, reach, limit)
                except _Malformed as damage:
                    return Parsed(tuple(layers), "malformed", f"{node.name}: {damage}", limit)
            layers.append(layer)
            offset, node = layer.behind, self._next(layer, edges, frame[layer.behind : limit])
            if node and node.header.link and not layer.header.link and limit != len(frame):
                return Parsed(tuple(layers), "malformed", f"{node.name}: length", limit)
        return Parsed(tuple(layers), "ok", "", limit)

    def _edges(self, node: Node, role: str) -> tuple[Edge, ...]:
        key = node.name, role
        if key not in self._leaving:
            self._leaving[key] = self._graph.leaving(*key)
        return self._leaving[key]

    def _next(self, layer: Layer, edges: Sequence[Edge], behind: bytes) -> Node | None:
        if not all(_holds(c, layer.octets) for c in layer.header.payload):
            return None
        for edge in edges:
            if all(_passes(test, layer.octets, behind) for test in edge.tests):
                return self._nodes[edge.target]
        return None


def _in_fragment(layers: Sequence[Layer]) -> bool:
    """Whether what stands behind these headers is part of a packet, and not a whole one."""
    said = (x for x in reversed(layers) if x.header.protocol in (*NETWORK, "ipv6_fragment"))
    innermost = next(said, None)
    if innermost is None or innermost.header.protocol == "ipv6":
        return False
    return is_fragment(innermost.octets)


def _reach(layer: Layer, said: Expr, limit: int) -> int:
    """The limit of what stands behind the header."""
    reach = evaluate(said, _reader(layer.octets))
    if reach < layer.size or layer.offset + reach > limit:
        raise _Malformed("length")
    return layer.offset + reach


def header_at(node: Node, frame: bytes, offset: int) -> Layer | None:
    """The header that another parser found there; None where this one would have found none."""
    try:
        return _layer(node, frame, offset, len(frame))[0]
    except _Malformed:
        return None


def _layer(node: Node, frame: bytes, offset: int, limit: int) -> tuple[Layer | None, int]:
    """The header at `offset` and the limit behind it; None if the node does not accept it."""
    header = node.header
    if offset + header.minimum > limit:
        raise _Malformed("truncated")
    octets = Octets(header, frame[offset : offset + header.minimum])
    if not all(_holds(c, octets) for c in header.accept):
        return None, limit
    size = octets.sum_of_parts
    if header.size is not None:
        size, least = evaluate(header.size, _reader(octets)), size
        if size < least:
            raise _Malformed("length")
    if offset + size > limit:
        raise _Malformed("truncated")
    octets = Octets(header, frame[offset : offset + size])
    if not all(_holds(c, octets) for c in header.require):
        raise _Malformed("invalid")
    if header.extent is not None:
        extent = evaluate(header.extent, _reader(octets))
        if extent < size or offset + extent > limit:
            raise _Malformed("length")
        limit = offset + extent
    end = limit if header.extent is not None else len(frame)
    return Layer(node, offset, size, end, octets), limit


def _reader(octets: Octets) -> Callable[[Expr], int]:
    def read(expr: Expr) -> int:
        assert isinstance(expr, Own), expr
        return octets.number(expr.field)

    return read


def _holds(condition: Condition, octets: Octets) -> bool:
    return holds(condition, _reader(octets), _no_question)


def _no_question(condition: Condition) -> bool:
    raise AssertionError(f"a header's clause cannot ask {condition}")


def _passes(test: Test, octets: Octets, behind: bytes) -> bool:
    """`behind`: the octets that follow the header."""
    value = _ahead(behind, test.ahead) if test.ahead else octets.get(test.field)
    if not isinstance(value, int):
        return False
    if test.mask is not None:
        value &= test.mask
    return any(low <= value <= high for low, high in test.ranges)


def _ahead(behind: bytes, bits: int) -> int | None:
    """The first bits of what follows; None if there are fewer."""
    octets = (bits + 7) // 8
    if len(behind) < octets:
        return None
    return int.from_bytes(behind[:octets], "big") >> (octets * 8 - bits)
