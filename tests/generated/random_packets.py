"""Frames for any checked pipeline, out of its own parse graph: such as its parser takes far in,
and the same truncated and damaged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from chance import Chance
from helioc.compiler.interpreter.build_packet import Heading, build
from helioc.compiler.interpreter.environment import Environment
from helioc.compiler.interpreter.evaluate import evaluate, holds
from helioc.compiler.interpreter.octets import Octets
from helioc.compiler.lowering.reads import walk
from helioc.compiler.model import (
    And,
    Compare,
    Condition,
    Const,
    Derived,
    Edge,
    Expr,
    Field,
    Header,
    Node,
    Not,
    Or,
    Own,
    Packet,
    Pipeline,
    Pop,
    Present,
    Push,
    Test,
)

LONGEST = 1600
TRIES = 120
GROUP_MACS = (b"\xff" * 6, b"\x01\x00\x5e\x00\x00\x05")
#: Options of a TCP header: with an MSS, behind others, cut short, without.
TCP_OPTIONS = tuple(
    map(
        bytes.fromhex,
        (
            "", "", "020405b4", "0102042328000000", "00020405b4000000", "030307020405b400",
            "020305b4", "01010204",
        ),
    )
)  # fmt: skip


@dataclass(frozen=True)
class Frame:
    data: bytes
    port: int


class PacketMaker:
    """`liked`: values that a field should have now and then, because rules ask for them: by node
    and field."""

    def __init__(
        self,
        chance: Chance,
        pipeline: Pipeline,
        environment: Environment,
        liked: Mapping[tuple[str, str], list[int]],
    ) -> None:
        self.chance, self.pipeline, self.environment = chance, pipeline, environment
        self.liked = liked
        self.graph = pipeline.graph
        self.locals = sorted(environment.local)
        self.behind = {n.name: self.reached(n.name) for n in self.graph.nodes}
        bodies = tuple(stage.body for stage in pipeline.stages)
        parts = [p for p in walk(bodies) if isinstance(p, Packet | Pop | Push | Present)]
        self.named = [getattr(p, "node", getattr(p, "before", "")) for p in parts]

    def reached(self, node: str) -> frozenset[str]:
        """The node and all that may stand behind it."""
        targets = {e.target for e in self.graph.leaving(node)}
        return frozenset({node}).union(*(self.reached(t) for t in targets))

    def frames(self, count: int) -> Iterator[Frame]:
        """Of eight: six whole, one cut off or longer, one with damaged octets."""
        for i in range(count):
            frame = self.whole()
            if i % 8 == 3:
                frame = self.cut(frame)
            elif i % 8 == 4:
                frame = self.damaged(frame)
            if len(frame.data) >= 14:
                yield frame

    def whole(self) -> Frame:
        chance = self.chance
        port = chance.one(self.environment.ports)
        nodes, edges = self.way(port.role)
        behind = chance.one((0, 0, 1, 7, 8, 20, 46, 120)) if not chance.maybe(0.04) else 1450
        payload = chance.octets(behind)
        headings: list[Heading] = []
        for node, edge in zip(nodes, [*edges, None], strict=True):
            headings.append(self.heading(node, edge))
        data = build(headings, payload)
        data = self.extents(headings, data, len(payload))
        return Frame((data + payload + self.padding())[:LONGEST], port.number)

    def padding(self) -> bytes:
        return self.chance.octets(self.chance.number(1, 18)) if self.chance.maybe(0.15) else b""

    def way(self, role: str) -> tuple[list[Node], list[Edge]]:
        """Nodes from the entry on, and the edges between: mostly past a node that stages name."""
        nodes, edges = [self.graph.entry(role)], []
        goal = self.chance.one(self.named) if self.named and self.chance.maybe(0.9) else ""
        while leaving := self.graph.leaving(nodes[-1].name, role):
            if goal == nodes[-1].name:
                goal = ""
            towards = [e for e in leaving if goal in self.behind[e.target]]
            if len(nodes) > 1 and not towards and self.chance.maybe(0.1):
                break
            edges.append(self.chance.one(towards or leaving))
            nodes.append(self.graph.node(edges[-1].target))
        return nodes, edges

    # ---- one header --------------------------------------------------------------------------

    def heading(self, node: Node, edge: Edge | None) -> Heading:
        """Values that the edge's guard and the header's own clauses take, if they can be found."""
        header = node.header
        if edge is not None and len(edge.tests) > 1 and self.chance.maybe(0.25):
            edge = replace(edge, tests=edge.tests[:1])  # it takes more than that to be followed
        best: Heading | None = None
        for _ in range(TRIES):
            made = self.drawn(node, edge)
            best = best or made
            if _meets(header, made, edge):
                return made
        assert best is not None
        return best

    def drawn(self, node: Node, edge: Edge | None) -> Heading:
        header, chance = node.header, self.chance
        values: dict[str, int | bytes] = {}
        hints = _constants(header)
        for field in header.fields:
            if isinstance(field.default, Derived):
                continue
            if field.group and not _there(header, field.group, values):
                continue
            values[field.name] = self.value(node, field, hints.get(field.name, []))
        if edge is not None:
            for test in edge.tests:
                values[test.field] = _chosen(chance, header.field(test.field), test)
        if header.size is not None:
            self.sized(header, values)
        for field in header.fields:  # the parts of a whole are as the whole is, if that is told
            if field.part_of and edge and any(t.field == field.name for t in edge.tests):
                values.pop(field.part_of, None)
        if edge:
            self.tidy(header, values, {t.field for t in edge.tests})
        return Heading(node.name, header, values)

    def tidy(self, header: Header, values: dict[str, int | bytes], tested: set[str]) -> None:
        """A tested whole gives its parts their values."""
        for name in tested:
            whole, said = header.field(name), values[name]
            for part in header.fields:
                if part.part_of == name and isinstance(said, int):
                    shift = whole.offset + whole.width - part.offset - part.width
                    values[part.name] = said >> shift & (1 << part.width) - 1

    def value(self, node: Node, field: Field, hints: list[int]) -> int:
        chance, header = self.chance, node.header
        if field.kind == "bytes":
            return int.from_bytes(chance.octets(field.width // 8), "big") if field.width else 0
        liked = self.liked.get((node.name, field.name), [])
        if liked and chance.maybe(0.75):
            return chance.one(liked) & (1 << field.width) - 1
        plain = _plain_values(header, field, chance)
        if plain is not None:
            return plain
        if field.kind == "ip4" and chance.maybe(0.3):
            return chance.one(self.locals + [a for _, a in self.environment.neighbours])
        if hints and chance.maybe(0.5):
            around = chance.one(hints) + chance.one((-1, 0, 0, 1))
            return max(0, around) & (1 << field.width) - 1
        return chance.value(field.width)

    def sized(self, header: Header, values: dict[str, int | bytes]) -> None:
        """Octets behind the fields, and a size that says so."""
        chance = self.chance
        own = _own_fields(header.size)
        rest = next((f for f in header.fields if not f.width), None)
        there = [g for g in header.groups if _there(header, g.name, values)]
        least = (header.fixed + sum(g.width for g in there if g.count is None)) // 8
        fits = []
        name = own[0]
        for value in range(min(1 << header.field(name).width, 512)):
            said = _size(header, {**values, name: value})
            if least <= said <= least + 64:
                fits.append((value, said))
        if not fits:
            return
        value, said = chance.one(fits[:3] + fits)
        if header.protocol == "tcp":
            options = chance.one(TCP_OPTIONS)
            value, said = next(f for f in fits if f[1] >= least + len(options))
            values["options"] = options.ljust(said - least, b"\0")
        elif rest is not None:
            values[rest.name] = chance.octets(said - least)
        values[name] = value

    def extents(self, headings: list[Heading], data: bytes, payload: int) -> bytes:
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

    # ---- damage ------------------------------------------------------------------------------

    def cut(self, frame: Frame) -> Frame:
        return Frame(frame.data[: self.chance.number(14, max(14, len(frame.data)))], frame.port)

    def damaged(self, frame: Frame) -> Frame:
        data = bytearray(frame.data)
        for _ in range(self.chance.number(1, 3)):
            at = self.chance.number(0, min(len(data), 120) - 1)
            data[at] = self.chance.one((0, 0xFF, data[at] ^ 1 << self.chance.number(0, 7)))
        return Frame(bytes(data), frame.port)


def _plain_values(header: Header, field: Field, chance: Chance) -> int | None:
    """What the fields of standard headers mostly are, so that packets get past the parser."""
    match header.protocol, field.name:
        case "ethernet", "dst" if chance.maybe(0.05):
            return int.from_bytes(chance.one(GROUP_MACS), "big")
        case "ethernet", "dst" | "src":
            return 0x020000000000 | chance.number(1, 9)
        case "ipv4", "version":
            return 4 if chance.maybe(0.97) else chance.value(4)
        case "ipv4", "more_fragments" | "fragment_offset":
            return 0 if chance.maybe(0.93) else chance.value(field.width)
        case "ipv4", "ttl":
            return chance.one((64, 64, 64, 2, 1, 255, 0)) if chance.maybe(0.4) else 64
        case "ipv4", "ecn":
            return chance.number(0, 3)
        case "gre", "version" | "routing_present":
            return 0 if chance.maybe(0.96) else chance.value(field.width)
        case "tcp", "syn":
            return chance.number(0, 1)
        case "arp", "hardware_type" | "protocol_type" | "hardware_length" | "protocol_length":
            return field.default if chance.maybe(0.95) and isinstance(field.default, int) else None
    return None


# ---- what a header asks for -------------------------------------------------------------------


def _chosen(chance: Chance, field: Field, test: Test) -> int:
    low, high = chance.one(test.ranges)
    value = chance.one((low, high, chance.number(low, high)))
    if test.mask is not None:
        value |= chance.number(0, (1 << field.width) - 1) & ~test.mask
    return value & (1 << field.width) - 1


def _meets(header: Header, made: Heading, edge: Edge | None) -> bool:
    octets = Octets(header, made.plain)

    def read(expr: Expr) -> int:
        assert isinstance(expr, Own)
        return octets.number(expr.field)

    def ask(condition: Condition) -> bool:
        raise AssertionError(condition)

    clauses = [*header.accept, *header.require, *(header.payload if edge else ())]
    if not all(holds(c, read, ask) for c in clauses):
        return False
    return edge is None or all(_passes(t, octets.number(t.field)) for t in edge.tests)


def _passes(test: Test, value: int) -> bool:
    under = value if test.mask is None else value & test.mask
    return any(low <= under <= high for low, high in test.ranges)


def _there(header: Header, group: str, values: Mapping[str, int | bytes]) -> bool:
    flags = next(g.flags for g in header.groups if g.name == group)
    return not flags or any(values.get(flag) for flag in flags)


def _constants(header: Header) -> dict[str, list[int]]:
    """Numbers that clauses compare the header's fields with, by field."""
    found: dict[str, list[int]] = {}

    def look(condition: Condition) -> None:
        match condition:
            case Not(operand):
                look(operand)
            case And(operands) | Or(operands):
                for each in operands:
                    look(each)
            case Compare(_, left, right):
                numbers = [e.value for e in (left, right) if isinstance(e, Const)]
                for name in (*_own_fields(left), *_own_fields(right)):
                    found.setdefault(name, []).extend(numbers)

    for condition in (*header.accept, *header.require, *header.payload):
        look(condition)
    return found


def _own_fields(expr: object) -> list[str]:
    if isinstance(expr, Own):
        return [expr.field]
    sides = (getattr(expr, "left", None), getattr(expr, "right", None))
    return [name for side in sides if side is not None for name in _own_fields(side)]


def _size(header: Header, values: Mapping[str, int | bytes]) -> int:
    assert header.size is not None

    def read(expr: Expr) -> int:
        assert isinstance(expr, Own)
        value = values.get(expr.field, 0)
        return value if isinstance(value, int) else 0

    return evaluate(header.size, read)
