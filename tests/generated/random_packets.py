"""Frames for any checked pipeline, out of its own parse graph: such as its parser takes far in,
and the same truncated and damaged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from chance import Chance
from helioc.compiler.interpret.build_packet import Heading, build
from helioc.compiler.model import (
    Derived,
    Edge,
    Item,
    Node,
    Packet,
    Pipeline,
    Pop,
    PopLink,
    Present,
    Push,
)
from helioc.compiler.model.checksums import FRAGMENTED
from helioc.compiler.model.parse_graph import onward
from helioc.compiler.model.walk import walk
from helioc.lang.contract.world.environment import Environment
from random_fields import FieldMaker

LONGEST = 1600


@dataclass(frozen=True)
class Frame:
    data: bytes
    port: int


class PacketMaker:
    """`liked`: values that fields should have now and then, because rules ask for them: by node and
    field."""

    def __init__(
        self,
        chance: Chance,
        pipeline: Pipeline,
        environment: Environment,
        liked: Mapping[tuple[str, str], list[int]],
    ) -> None:
        self.chance, self.environment = chance, environment
        self.graph, self.bare = pipeline.graph, pipeline.bare
        self.fields = FieldMaker(chance, environment, liked)
        self.behind = {n.name: self.reached(n.name) for n in self.graph.nodes}
        bodies = tuple(stage.body for stage in pipeline.stages)
        named = Packet | Item | Pop | PopLink | Push | Present
        parts = [p for p in walk(bodies) if isinstance(p, named)]
        self.named = [_named(p) for p in parts]

    def reached(self, node: str) -> frozenset[str]:
        """The node and all that may stand behind it."""
        targets = {e.target for e in self.graph.leaving(node)}
        return frozenset({node}).union(*(self.reached(t) for t in targets))

    def frames(self, count: int) -> Iterator[Frame]:
        """Of eight: five whole, one cut off or longer, one with damaged bytes, one a fragment."""
        for i in range(count):
            frame = self.whole()
            if i % 8 == 3:
                frame = self.cut(frame)
            elif i % 8 == 4:
                frame = self.damaged(frame)
            elif i % 8 == 5:
                frame = self.fragment()
            if len(frame.data) >= 14:
                yield self.as_it_comes(frame)

    def as_it_comes(self, frame: Frame) -> Frame:
        """Without an Ethernet header, where the port has none."""
        port = self.environment.port(frame.port)
        bare = port is not None and port.role in self.bare
        return Frame(frame.data[14:], frame.port) if bare else frame

    def whole(self) -> Frame:
        port, headings, payload = self.drawn()
        data = self.extents(headings, build(headings, payload))
        return Frame((data + payload + self.padding())[:LONGEST], port)

    def fragment(self) -> Frame:
        """A fragment, where a header can say so, that ends or begins in one of the next headers or
        near them."""
        port, headings, payload = self.drawn()
        data = build(headings, payload) + payload
        places = [i for i, h in enumerate(headings) if h.header.protocol in FRAGMENTED]
        if not places:
            return Frame(data, port)
        *front, last = headings[: self.chance.one(places) + 1]
        offset = self.chance.one((0, 0, 0, 1, 2, 3))
        values = {**last.values, "fragment_offset": offset, "more_fragments": int(not offset)}
        start = sum(h.size for h in (*front, last)) + offset * 8
        rest = data[start : start + self.chance.number(0, 64)]
        return Frame(build([*front, replace(last, values=values)], rest) + rest, port)

    def drawn(self) -> tuple[int, list[Heading], bytes]:
        """A port, the headers of a packet that arrives there, and its payload."""
        chance = self.chance
        port = chance.one(self.environment.ports)
        nodes, edges = self.way(port.role)
        behind = chance.one((0, 0, 1, 7, 8, 20, 46, 120)) if not chance.maybe(0.04) else 1450
        payload = chance.random_bytes(behind)
        headings: list[Heading] = []
        for node, before, edge in zip(nodes, [None, *edges], [*edges, None], strict=True):
            if edge is not None and len(edge.tests) > 1 and chance.maybe(0.1):
                edge = replace(edge, tests=edge.tests[:1])  # it takes more than that to be followed
            headings.append(self.fields.heading(node, before, edge))
        return port.number, headings, payload

    def padding(self) -> bytes:
        return (
            self.chance.random_bytes(self.chance.number(1, 18)) if self.chance.maybe(0.15) else b""
        )

    def way(self, role: str) -> tuple[list[Node], list[Edge]]:
        """Nodes from the entry on, and the edges between: mostly past a node that stages name."""
        nodes, edges = [self.graph.entry(role)], []
        goal = self.chance.one(self.named) if self.named and self.chance.maybe(0.9) else ""
        while leaving := onward(self.graph, role, [n.name for n in nodes]):
            if goal == nodes[-1].name:
                goal = ""
            towards = [e for e in leaving if goal in self.behind[e.target]]
            if len(nodes) > 1 and not towards and self.chance.maybe(0.1):
                break
            edges.append(self.chance.one(towards or leaving))
            nodes.append(self.graph.node(edges[-1].target))
        return nodes, edges

    # ---- damage ------------------------------------------------------------------------------

    def extents(self, headings: list[Heading], data: bytes) -> bytes:
        """Now and then a length that lies a little."""
        if not self.chance.maybe(0.1):
            return data
        at = 0
        for heading in headings:
            for field in heading.header.fields:
                if not isinstance(field.default, Derived) or field.default.what != "length":
                    continue
                if self.chance.maybe(0.5) and field.offset % 8 == 0 and field.width == 16:
                    place = at + field.offset // 8
                    said = int.from_bytes(data[place : place + 2], "big")
                    said = max(0, said + self.chance.one((-1, 1, -4, 9, -said))) & 0xFFFF
                    data = data[:place] + said.to_bytes(2, "big") + data[place + 2 :]
            at += heading.size
        return data

    def cut(self, frame: Frame) -> Frame:
        return Frame(frame.data[: self.chance.number(14, max(14, len(frame.data)))], frame.port)

    def damaged(self, frame: Frame) -> Frame:
        data = bytearray(frame.data)
        for _ in range(self.chance.number(1, 3)):
            at = self.chance.number(0, min(len(data), 120) - 1)
            data[at] = self.chance.one((0, 0xFF, data[at] ^ 1 << self.chance.number(0, 7)))
        return Frame(bytes(data), frame.port)


def _named(part: Packet | Item | Pop | PopLink | Push | Present) -> str:
    """The node that a statement or an expression is about."""
    if isinstance(part, Push):
        return part.before or part.behind
    return part.node
