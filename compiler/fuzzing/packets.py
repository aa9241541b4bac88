"""Packets for a pipeline: a way through its parse graph, each header with values that its clauses
and the next edge ask for; then perhaps cut off, damaged or padded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from ..interpreter.build_packet import Heading, build
from ..interpreter.evaluate import holds
from ..interpreter.octets import Value
from ..lowering.reads import walk
from ..model import Condition, Const, Derived, Edge, Expr, Field, Header, Node, Own, Pipeline, Test
from .world import World

if TYPE_CHECKING:
    from hypothesis.vendor.pretty import RepresentationPrinter

LONGEST = 1600  # octets: beyond every MTU, and less than a page with its headroom
_TAILS = (0, 0, 1, 7, 8, 20, 46, 120, 1360, 1420, 1460)
_OPTIONS = {
    "tcp": (b"\x02\x04\x05\xb4", b"\x01\x02\x04\x23\x28", b"\0\x02\x04\x05\xb4", b"\x02\x03\x05"),
    "ipv4": (b"\x94\x04\0\0", b"\x07\x0b\x04" + bytes(9), b"\x01" * 40),
}


@dataclass(frozen=True)
class Given:
    """A header of a drawn packet: its node, and the values that were drawn for it."""

    node: Node
    values: Mapping[str, Value]


@dataclass(frozen=True)
class Drawn:
    """A packet on its way in. `cut`: octets that are left of it (None: all); `damage`: octets that
    are others than they were, by place."""

    port: int
    headers: tuple[Given, ...]
    payload: bytes = b""
    padding: bytes = b""
    cut: int | None = None
    damage: tuple[tuple[int, int], ...] = ()

    def __repr__(self) -> str:
        octets = self.frame.hex()
        shown = octets if len(octets) <= 300 else f"{octets[:300]}… ({len(octets) // 2} octets)"
        return f"port {self.port}: {shown}"

    def _repr_pretty_(self, printer: RepresentationPrinter, cycle: bool) -> None:
        """As hypothesis shows it: without the graph that it was drawn from."""
        printer.text(repr(self))

    @property
    def frame(self) -> bytes:
        headings = [Heading(h.node.name, h.node.header, h.values) for h in self.headers]
        whole = bytearray(build(headings, self.payload) + self.payload + self.padding)
        for at, octet in self.damage:
            if at < len(whole):
                whole[at] = octet
        return bytes(whole[:LONGEST][: self.cut])


def packets(pipeline: Pipeline, world: World) -> st.SearchStrategy[Drawn]:
    """Packets of which most are whole, arriving on the ports of the world."""
    return _packet(pipeline, world)


@st.composite
def _packet(draw: st.DrawFn, pipeline: Pipeline, world: World) -> Drawn:
    port = draw(st.sampled_from(world.environment.ports))
    nodes, edges = draw(_way(pipeline, port.role))
    headers = [
        Given(node, draw(_values(node.header, edge, world)))
        for node, edge in zip(nodes, [*edges, None], strict=True)
    ]
    size = draw(st.sampled_from(_TAILS))
    payload = bytes(size) if size > 20 else draw(st.binary(min_size=size, max_size=size))
    whole = Drawn(port.number, tuple(headers), payload)
    return draw(_spoilt(whole))


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
    field = draw(st.sampled_from(named))
    values = {**header.values, field.name: draw(_value(header.node.header, field, world))}
    headers = list(base.headers)
    headers[which] = Given(header.node, values)
    return Drawn(base.port, tuple(headers), base.payload)


@st.composite
def _way(draw: st.DrawFn, pipeline: Pipeline, role: str) -> tuple[list[Node], list[Edge]]:
    """Nodes from the entry on, and the edges between them: to a leaf nearly always."""
    graph = pipeline.graph
    nodes, edges = [graph.entry(role)], list[Edge]()
    while leaving := graph.leaving(nodes[-1].name, role):
        if len(nodes) > 1 and draw(st.integers(0, 15)) == 15:
            break
        edges.append(draw(st.sampled_from(leaving)))
        nodes.append(graph.node(edges[-1].target))
    return nodes, edges


@st.composite
def _spoilt(draw: st.DrawFn, whole: Drawn) -> Drawn:
    """The packet as it is, more often than not."""
    frame = whole.frame
    match draw(st.sampled_from(["", "", "", "", "padding", "cut", "damage"])):
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
    return whole


# ---- one header -----------------------------------------------------------------------------


@st.composite
def _values(draw: st.DrawFn, header: Header, edge: Edge | None, world: World) -> dict[str, Value]:
    """Values by field: what has no default always, of the rest a few; then what the edge and the
    header's clauses ask for."""
    tests = [test for test in edge.tests if not test.ahead] if edge else []
    tested = {test.field for test in tests}
    kept = _read_by_clauses(header) if draw(st.integers(0, 11)) else frozenset[str]()
    derived = {
        p.field for p in walk((header.size, header.extent, header.reach)) if isinstance(p, Own)
    }
    derived |= {p.field for g in header.groups for p in walk(g.count) if isinstance(p, Own)}
    flags = draw(_flags(header, tested))
    there = {g.name for g in header.groups if not g.flags or flags & set(g.flags)}
    free = [
        f for f in header.fields
        if not f.name.startswith("_") and f.name not in kept | tested | derived | _all_flags(header)
        and not isinstance(f.default, Derived) and (f.group is None or f.group in there)
    ]  # fmt: skip
    plain = [f.name for f in free if f.default is not None or f.part_of or not f.width]
    chosen = set(draw(st.lists(st.sampled_from(plain), max_size=3))) if plain else set()
    values: dict[str, Value] = {
        f.name: draw(_value(header, f, world))
        for f in free
        if f.name in chosen or f.name not in plain
    }
    values |= dict.fromkeys(sorted(flags), 1)
    for test in tests:
        values = _without_parts(header, test.field, values)
        values[test.field] = draw(_passing(test, header.field(test.field)))
    _mend(header, values, bool(edge), kept | tested)
    return values


@st.composite
def _flags(draw: st.DrawFn, header: Header, tested: set[str]) -> frozenset[str]:
    """Flags that are set: of half of the groups, and of those whose fields the edge asks for."""
    asked = {header.field(name).group for name in tested}
    found: set[str] = set()
    for group in header.groups:
        free = [flag for flag in group.flags if flag not in tested]
        if free and (group.name in asked or draw(st.booleans())):
            found |= set(draw(st.lists(st.sampled_from(free), min_size=1, unique=True)))
    return frozenset(found)


def _all_flags(header: Header) -> set[str]:
    return {flag for group in header.groups for flag in group.flags}


def _read_by_clauses(header: Header) -> frozenset[str]:
    clauses = (header.accept, header.require, header.payload)
    return frozenset(part.field for part in walk(clauses) if isinstance(part, Own))


def _without_parts(header: Header, name: str, values: dict[str, Value]) -> dict[str, Value]:
    """A part is written over the whole that it belongs to: the tested one must have the word."""
    parts = {f.name for f in header.fields if f.part_of == name}
    return {field: value for field, value in values.items() if field not in parts}


def _value(header: Header, field: Field, world: World) -> st.SearchStrategy[Value]:
    array = header.array(field)
    if array is not None:
        one = st.sampled_from(world.values(field.kind, field.width))
        return st.lists(one, min_size=1, max_size=array.most).map(tuple)
    if not field.width:
        known = _OPTIONS.get(header.protocol, ())
        return st.sampled_from((b"", *known)) | st.binary(max_size=12)
    anything = st.integers(0, (1 << field.width) - 1)
    known_values = world.values(field.kind, field.width)
    if field.kind == "bytes":
        return anything
    near = world.of(header.name, field)
    choices = [st.sampled_from(known_values), st.sampled_from(known_values), anything]
    return st.one_of(*([st.sampled_from(near)] if near else []), *choices)


def _passing(test: Test, field: Field) -> st.SearchStrategy[int]:
    """Values that the test lets through, at the ends of its ranges or within; the bits that it
    ignores as they come."""
    ranges = st.sampled_from(test.ranges)
    inside = ranges.flatmap(lambda r: st.sampled_from(r) | st.integers(*r))
    if test.mask is None:
        return inside
    others = (1 << field.width) - 1 & ~test.mask
    return st.tuples(inside, st.integers(0, (1 << field.width) - 1)).map(
        lambda pair: pair[0] | pair[1] & others
    )


# ---- what clauses ask for -------------------------------------------------------------------


def _mend(header: Header, values: dict[str, Value], goes_on: bool, fields: frozenset[str]) -> None:
    """Give the fields that clauses read, and that were not drawn, values for which they hold."""
    wanted = (*header.accept, *header.require, *(header.payload if goes_on else ()))
    for condition in wanted:
        if _true(condition, header, values):
            continue
        for name in sorted({p.field for p in walk(condition) if isinstance(p, Own)} & fields):
            tried = _candidates(condition, header.field(name))
            before = values.get(name)
            for value in tried:
                values[name] = value
                if _true(condition, header, values):
                    break
            else:
                values.pop(name)
                if before is not None:
                    values[name] = before
                continue
            break


def _candidates(condition: Condition, field: Field) -> list[int]:
    named = [part.value for part in walk(condition) if isinstance(part, Const)]
    near = [value + by for value in named for by in (0, 1, -1)]
    most = (1 << field.width) - 1
    return [value for value in (*near, 0, 1, most) if 0 <= value <= most]


def _true(condition: Condition, header: Header, values: Mapping[str, Value]) -> bool:
    def read(expr: Expr) -> int:
        name = getattr(expr, "field", "")
        value = values.get(name)
        if isinstance(value, int):
            return value
        default = next((f.default for f in header.fields if f.name == name), None)
        return default if isinstance(default, int) else 0

    return holds(condition, read, lambda _: True)
