"""Packets for a pipeline: a way through its parse graph, each header with values that its clauses
and the next edge ask for; then perhaps cut off, damaged or padded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from ...lang.contract.world.bare_packets import ETHERNET
from ...lang.contract.world.moment import Moment
from ..interpret.build_packet import Heading, build
from ..interpret.header_view import Value
from ..model import Edge, Field, Node, Pipeline
from ..model.checksums import FRAGMENTED
from ..model.parse_graph import onward
from .headers import field_value, header_values
from .world import World

if TYPE_CHECKING:
    from hypothesis.vendor.pretty import RepresentationPrinter

LONGEST = 1600  # bytes: beyond every MTU, and less than a page with its headroom
_TAILS = (0, 0, 1, 7, 8, 20, 46, 120, 1360, 1420, 1460)


@dataclass(frozen=True)
class Given:
    """A header of a drawn packet: its node, and the values that were drawn for it."""

    node: Node
    values: Mapping[str, Value]


@dataclass(frozen=True)
class Drawn:
    """A packet on its way in: its headers, then `payload`, or a whole frame as the payload of no
    headers. `cut`: bytes that are left of it (None: all); `damage`: bytes that
    are others than they were, by place. It comes `wait` ns behind the one before, and chance gives
    it `random`."""

    port: int
    headers: tuple[Given, ...]
    payload: bytes = b""
    padding: bytes = b""
    cut: int | None = None
    damage: tuple[tuple[int, int], ...] = ()
    wait: int = 0
    random: int = 0

    def __repr__(self) -> str:
        digits = self.frame.hex()
        shown = digits if len(digits) <= 300 else f"{digits[:300]}… ({len(digits) // 2} bytes)"
        said = f"after {self.wait} ns, " * bool(self.wait)
        said += f"random {self.random}, " * bool(self.random)
        return f"{said}port {self.port}: {shown}"

    def moment(self, before: Moment) -> Moment:
        """When it comes."""
        return replace(before.later(self.wait), random=self.random)

    def _repr_pretty_(self, printer: RepresentationPrinter, cycle: bool) -> None:
        """As hypothesis shows it: without the graph that it was drawn from."""
        printer.text(repr(self))

    @cached_property
    def frame(self) -> bytes:
        headings = [Heading(h.node.name, h.node.header, h.values) for h in self.headers]
        whole = bytearray(build(headings, self.payload) + self.payload + self.padding)
        for at, byte in self.damage:
            if at < len(whole):
                whole[at] = byte
        drawn = LONGEST if self.headers else None  # what a test hands over stays as it is
        return bytes(whole[:drawn][: self.cut])

    def arriving(self, world: World) -> bytes:
        """As its port has it: without the first header where packets have no link header. What a
        test hands over stays as it is."""
        bare = self.headers and self.port in world.bare
        return self.frame[ETHERNET:] if bare else self.frame


def packets(pipeline: Pipeline, world: World, edge: Edge | None = None) -> st.SearchStrategy[Drawn]:
    """Packets of which most are whole, arriving on the ports of the world. `edge`: on their way
    through the parse graph."""
    return _packet(pipeline, world, edge)


@st.composite
def _packet(draw: st.DrawFn, pipeline: Pipeline, world: World, edge: Edge | None) -> Drawn:
    ports = world.environment.ports
    port = draw(st.sampled_from([p for p in ports if edge is None or p.role in edge.roles]))
    headers = draw(headers_from(pipeline, world, port.role, (), edge))
    whole = Drawn(port.number, headers, draw(payloads()))
    return whole if edge else draw(_spoilt(whole))


@st.composite
def headers_from(
    draw: st.DrawFn,
    pipeline: Pipeline,
    world: World,
    role: str,
    kept: tuple[Given, ...],
    goal: Edge | None = None,
) -> tuple[Given, ...]:
    """`kept`, and headers behind the last of them, which is drawn again."""
    start = kept[-1].node if kept else pipeline.graph.entry(role)
    nodes, edges = draw(_way(pipeline, role, start, goal))
    drawn = (
        Given(node, draw(header_values(node.header, edge, world)))
        for node, edge in zip(nodes, [*edges, None], strict=True)
    )
    return (*kept[:-1], *drawn)


@st.composite
def payloads(draw: st.DrawFn) -> bytes:
    size = draw(st.sampled_from(_TAILS))
    return bytes(size) if size > 20 else draw(st.binary(min_size=size, max_size=size))


@st.composite
def variations(draw: st.DrawFn, base: Drawn, world: World) -> Drawn:
    """The packet with another value in one of its fields, or spoilt."""
    which = draw(st.integers(0, 2 * len(base.headers) - 1))
    if which >= len(base.headers):
        return draw(_spoilt(Drawn(base.port, base.headers, base.payload)))
    header = base.headers[which]
    named = [f for f in header.node.header.fields if f.name in header.values]
    if not named:
        return base
    return draw(with_value(base, which, draw(st.sampled_from(named)), world))


@st.composite
def with_value(draw: st.DrawFn, base: Drawn, at: int, field: Field, world: World) -> Drawn:
    """Of the whole packet."""
    given = base.headers[at]
    value = draw(field_value(given.node.header, field, world))
    headers = list(base.headers)
    headers[at] = Given(given.node, {**given.values, field.name: value})
    return Drawn(base.port, tuple(headers), base.payload)


@st.composite
def _way(
    draw: st.DrawFn, pipeline: Pipeline, role: str, start: Node, goal: Edge | None
) -> tuple[list[Node], list[Edge]]:
    """Nodes from `start` on, and the edges between them: by way of the goal, to a leaf nearly
    always."""
    graph = pipeline.graph
    nodes, edges = [start], list[Edge]()
    before = in_front(pipeline, role, goal)
    while leaving := onward(graph, role, [node.name for node in nodes]):
        towards = [e for e in leaving if e == goal or e.target in before]
        if goal not in edges and towards:
            leaving = tuple(towards)
        elif len(nodes) > 1 and draw(st.integers(0, 15)) == 15:
            break
        edges.append(draw(st.sampled_from(leaving)))
        nodes.append(graph.node(edges[-1].target))
    return nodes, edges


def in_front(pipeline: Pipeline, role: str, goal: Edge | None) -> set[str]:
    """Nodes from which a way leads to the edge."""
    found, new = set[str](), {goal.source} if goal else set[str]()
    while new:
        found |= new
        edges = (*pipeline.graph.edges, *pipeline.graph.again)
        new = {e.source for e in edges if e.target in new and role in e.roles} - found
    return found


@st.composite
def _spoilt(draw: st.DrawFn, whole: Drawn) -> Drawn:
    """The packet as it is, more often than not."""
    frame = whole.frame
    match draw(st.sampled_from(["", "", "", "", "padding", "cut", "damage", "fragment"])):
        case "padding":
            padding = draw(st.binary(min_size=1, max_size=18))
            return Drawn(whole.port, whole.headers, whole.payload, padding)
        case "cut":
            cut = draw(st.integers(min(14, len(frame)), len(frame)))
            return Drawn(whole.port, whole.headers, whole.payload, cut=cut)
        case "damage":
            place = st.tuples(st.integers(0, min(len(frame), 150) - 1), st.integers(0, 255))
            damage = draw(st.lists(place, min_size=1, max_size=3))
            return Drawn(whole.port, whole.headers, whole.payload, damage=tuple(damage))
        case "fragment":
            return draw(_fragment(whole))
    return whole


@st.composite
def _fragment(draw: st.DrawFn, whole: Drawn) -> Drawn:
    """A fragment of the packet that ends, or begins, in one of the next headers or near them."""
    places = [i for i, h in enumerate(whole.headers) if h.node.header.protocol in FRAGMENTED]
    if not places:
        return whole
    at = draw(st.sampled_from(places))
    offset = draw(st.sampled_from([0, 0, 0, 1, 2, 3]))
    more = 1 if not offset else draw(st.integers(0, 1))
    said = {**whole.headers[at].values, "fragment_offset": offset, "more_fragments": more}
    front = (*whole.headers[:at], Given(whole.headers[at].node, said))
    size = len(Drawn(whole.port, front).frame) + offset * 8
    return Drawn(whole.port, front, whole.frame[size : size + draw(st.integers(0, 64))])
