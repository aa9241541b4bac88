"""Parses bytes into headers by a pipeline's parse graph: docs/semantics.md#parsing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from ..model import Condition, Edge, Expr, Graph, Header, Node, Test
from ..model.checksums import FRAGMENTED, NETWORK
from ..model.parse_graph import tunnels
from .evaluate import evaluate, holds
from .header_view import HeaderView, Value, is_fragment
from .reached import Reached
from .walk_options import BadOptions


@dataclass(frozen=True, eq=False)
class Layer:
    """A header of a packet: its node, where it starts, its bytes (its size), and where what
    belongs to it ends: its extent, or the frame's end. All counted in bytes of the frame."""

    node: Node
    offset: int
    size: int
    end: int
    view: HeaderView

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
        return self.view.fields

    def reread(self, frame: bytes) -> Layer:
        """The same header after the frame's bytes changed."""
        view = HeaderView(self.header, frame[self.offset : self.behind])
        return Layer(self.node, self.offset, self.size, self.end, view)

    def moved(self, frame: bytes, by: int, shorter: int) -> Layer:
        """The same header `by` bytes further in front, of a frame that is `shorter` by that many
        bytes."""
        start = self.offset - by
        view = HeaderView(self.header, frame[start : start + self.size])
        return Layer(self.node, start, self.size, self.end - shorter, view)


@dataclass(frozen=True, eq=False)
class Parsed:
    """`layers`: the headers, of a chain the first of each node. `walked`: all of them. `reason`
    says of a malformed packet which node and why (`gre: truncated`), of one that is cut which node
    was not captured whole. `limit`: bytes of the frame that belong to headers and their payload;
    what lies behind is padding. `tiny`: of a tiny fragment, the node that it cuts short or begins
    within."""

    walked: tuple[Layer, ...]
    result: Literal["ok", "malformed", "cut"]
    reason: str
    limit: int
    tiny: str = ""

    @cached_property
    def layers(self) -> tuple[Layer, ...]:
        first: dict[str, Layer] = {}
        for layer in self.walked:
            first.setdefault(layer.name, layer)
        return tuple(first.values())

    @cached_property
    def by_name(self) -> dict[str, Layer]:
        return {layer.name: layer for layer in self.layers}

    @property
    def nodes(self) -> tuple[tuple[str, int], ...]:
        """(node, offset) in order."""
        return tuple((layer.name, layer.offset) for layer in self.layers)


class _Malformed(Exception):
    pass


class _Beyond(_Malformed):
    """The header, or what belongs to it, is not whole: a fragment may end anywhere."""


class _Longer(_Beyond):
    """It goes beyond the limit."""


class _Cut(Exception):
    """The parse needs bytes that were not captured."""


def parse_packet(graph: Graph, role: str, frame: bytes) -> Parsed:
    """Parse a frame that arrived on a port of `role`."""
    return PacketParser(graph).parse(role, frame)


class PacketParser:
    """The parser of one graph; keeps what it found out about the graph between packets."""

    def __init__(self, graph: Graph, reached: Reached | None = None) -> None:
        self._graph, self._reached = graph, reached or Reached()
        self._nodes = {node.name: node for node in graph.nodes}
        self._leaving: dict[tuple[str, str], tuple[Edge, ...]] = {}
        self._tunnels: dict[str, frozenset[str]] = {}

    def parse(self, role: str, frame: bytes, captured: int | None = None) -> Parsed:
        """`captured`: the bytes of the frame that are known (None: all); the others are zeros."""
        chained = 0  # headers of the chain that the last one is of
        layers: list[Layer] = []
        node: Node | None = self._graph.entry(role)
        offset, limit = 0, len(frame)
        known = limit if captured is None else captured
        while node is not None:
            part = node.header.takes_rest and _in_fragment(layers)
            try:
                layer, limit = _layer(node, frame, offset, limit, known, part)
            except _Cut:
                return Parsed(tuple(layers), "cut", node.name, limit)
            except _Malformed as damage:
                return _stopped(layers, node, damage, limit)
            if layer is None:
                break
            edges = self._edges(node, role)
            reach = node.header.reach
            if reach is not None and edges and not _in_fragment(layers):
                try:
                    limit = _reach(layer, reach, limit)
                except _Malformed as damage:
                    return _stopped(layers, node, damage, limit)
            layers.append(layer)
            offset = layer.behind
            if not all(_holds(c, layer.view) for c in layer.header.payload):
                return Parsed(tuple(layers), "ok", "", limit, self._begun(layer, edges))
            try:
                node = self._next(layer, edges, frame[offset:limit], known - offset)
            except _Cut:
                return Parsed(tuple(layers), "cut", f"behind {layer.name}", limit)
            if node and node.header.link and not layer.header.link and limit != len(frame):
                return _stopped(layers, node, _Longer("length"), limit)
            chain = self._graph.chain(node.name) if node else None
            chained = chained + 1 if chain is self._graph.chain(layer.name) else 1
            if chain and chained > chain.most:
                break
        return Parsed(tuple(layers), "ok", "", limit)

    def tunnels(self, role: str) -> frozenset[str]:
        if role not in self._tunnels:
            self._tunnels[role] = tunnels(self._graph, role)
        return self._tunnels[role]

    def _edges(self, node: Node, role: str) -> tuple[Edge, ...]:
        key = node.name, role
        if key not in self._leaving:
            self._leaving[key] = self._graph.onward(*key)
        return self._leaving[key]

    def _next(self, layer: Layer, edges: Sequence[Edge], behind: bytes, known: int) -> Node | None:
        """`behind`: the bytes that follow the header, of which the first `known` were captured."""
        for edge in edges:
            if all(_passes(test, layer.view, behind, known) for test in edge.tests):
                self._reached.edge(edge)
                return self._nodes[edge.target]
        return None

    def _begun(self, layer: Layer, edges: Sequence[Edge]) -> str:
        """The node that a later fragment begins within; "" if it begins behind."""
        if layer.header.protocol not in FRAGMENTED:
            return ""
        node = self._next(layer, edges, b"", 0)
        inside = (
            node
            and not node.fits
            and layer.view.number("fragment_offset") * 8 < node.header.minimum
        )
        return node.name if node and inside else ""


def _stopped(layers: Sequence[Layer], node: Node, why: _Malformed, limit: int) -> Parsed:
    """What a header that cannot be read makes of the packet."""
    if isinstance(why, _Longer) and node.fits:
        return Parsed(tuple(layers), "ok", "", limit)
    if isinstance(why, _Beyond) and _in_fragment(layers):
        tiny = node.name if str(why) == "truncated" else ""
        return Parsed(tuple(layers), "ok", "", limit, tiny)
    return Parsed(tuple(layers), "malformed", f"{node.name}: {why}", limit)


def _in_fragment(layers: Sequence[Layer]) -> bool:
    """Whether what stands behind these headers is part of a packet, and not a whole one: as the
    innermost IP header says, or a fragment header behind it."""
    for layer in reversed(layers):
        protocol = layer.header.protocol
        if protocol in FRAGMENTED and is_fragment(layer.view):
            return True
        if protocol in NETWORK:
            return False
    return False


def _reach(layer: Layer, said: Expr, limit: int) -> int:
    """The limit of what stands behind the header."""
    reach = evaluate(said, layer.view.own)
    if reach < layer.size:
        raise _Malformed("length")
    if layer.offset + reach > limit:
        raise _Longer("length")
    return layer.offset + reach


def header_at(node: Node, frame: bytes, offset: int) -> Layer | None:
    """The header that another parser found there; None where this one would have found none."""
    try:
        return _layer(node, frame, offset, len(frame), len(frame))[0]
    except _Malformed:
        return None


def _layer(
    node: Node, frame: bytes, offset: int, limit: int, known: int, part: bool = False
) -> tuple[Layer | None, int]:
    """The header at `offset` and the limit behind it; None if the node does not accept it, or if
    it takes the rest of a packet of which this is a `part`."""
    header = node.header
    _check_end(offset + header.minimum, limit, known)
    read = (
        header.maximum if any(header.domain_name(g.name) for g in header.groups) else header.minimum
    )
    view = HeaderView(header, frame[offset : offset + read])
    if not all(_holds(c, view) for c in header.accept):
        return None, limit
    size = view.sum_of_parts
    if header.takes_rest:
        size, least = limit - offset, size
        if part or size > header.maximum:
            return None, limit
        if size < least:
            raise _Longer("truncated")
    elif header.size is not None:
        size, least = evaluate(header.size, view.own), size
        if size < least:
            raise _Malformed("length")
    _check_end(offset + size, limit, known)
    view = HeaderView(header, frame[offset : offset + size])
    if not all(_holds(c, view) for c in header.require):
        raise _Malformed("invalid")
    if node.options:
        _check_options(view)
    if header.extent is not None:
        extent = evaluate(header.extent, view.own)
        if extent < size:
            raise _Beyond("length")
        if offset + extent > limit:
            raise _Longer("length")
        limit = offset + extent
    end = limit if header.extent is not None else len(frame)
    return Layer(node, offset, size, end, view), limit


def _check_options(view: HeaderView) -> None:
    try:
        view.options  # noqa: B018  which walks them
    except BadOptions as bad:
        raise _Malformed("options") from bad


def _check_end(end: int, limit: int, known: int) -> None:
    """Whether a header may end there."""
    if end > limit:
        raise _Longer("truncated")
    if end > known:
        raise _Cut


def _holds(condition: Condition, view: HeaderView) -> bool:
    return holds(condition, view.own, _no_question)


def _no_question(condition: Condition) -> bool:
    raise AssertionError(f"a header's clause cannot ask {condition}")


def _passes(test: Test, view: HeaderView, behind: bytes, known: int) -> bool:
    value = _ahead(behind, test.ahead, known) if test.ahead else view.get(test.field)
    if not isinstance(value, int):
        return False
    if test.mask is not None:
        value &= test.mask
    return any(low <= value <= high for low, high in test.ranges)


def _ahead(behind: bytes, bits: int, known: int) -> int | None:
    """The first bits of what follows; None if there are fewer."""
    size = (bits + 7) // 8
    if len(behind) < size:
        return None
    if known < size:
        raise _Cut
    return int.from_bytes(behind[:size], "big") >> (size * 8 - bits)
