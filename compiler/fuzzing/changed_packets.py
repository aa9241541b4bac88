"""Packets made of others: with one thing changed, or with what is wanted of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hypothesis import strategies as st

from ..interpret.build_packet import Heading
from ..interpret.header_view import HeaderView, Value, put
from ..interpret.walk_options import BadOptions
from ..model import Announced, Arrival, Edge, Field, Group, Layer4, Packet, Pipeline
from ..model.checksums import LAYER4
from .headers import option_with
from .options import filled, says_size
from .packets import Drawn, Given, headers_from, in_front, payloads, variations, with_value
from .wanted import Arriving, Header, Leaf, Option, Wanted
from .world import World

_ROOM = 40  # bytes of options, as TCP and IPv4 have it


@st.composite
def changed(
    draw: st.DrawFn,
    base: Drawn,
    pipeline: Pipeline,
    world: World,
    fields: Sequence[tuple[str, str]],
    wishes: Sequence[Wanted] = (),
) -> Drawn:
    """The packet with one thing changed: most often one to three of the `wishes`, or one of these
    fields (of node and name), if it has any; any other; the port; the payload; the headers from one
    of them on."""
    if not base.headers:
        return base
    if wishes and draw(st.integers(0, 2)) > 0:
        some: st.SearchStrategy[list[Wanted]] = st.lists(
            st.sampled_from(wishes), min_size=1, max_size=3, unique=True
        )
        for wish in draw(some):
            base = draw(with_wish(base, pipeline, world, wish))
        return base
    here = [
        (i, field)
        for i, given in enumerate(base.headers)
        for field in given.node.header.fields
        if (given.node.name, field.name) in fields
    ]
    ways = ["field"] * 6 * bool(here) + ["other", "other", "port", "payload", "headers", "headers"]
    match draw(st.sampled_from(ways)):
        case "field":
            at, field = draw(st.sampled_from(here))
            return draw(with_value(base, at, field, world))
        case "port":
            port = draw(st.sampled_from(world.environment.ports))
            return replace(base, port=port.number)
        case "payload":
            return replace(base, payload=draw(payloads()))
        case "headers":
            port = next(p for p in world.environment.ports if p.number == base.port)
            kept = base.headers[: draw(st.integers(1, len(base.headers)))]
            headers = draw(headers_from(pipeline, world, port.role, kept))
            return Drawn(base.port, headers, base.payload)
    return draw(variations(base, world))


def with_same(packet: Drawn, other: Drawn, fields: Sequence[tuple[Packet, Packet]]) -> Drawn:
    """The packet with values of the other: of each first field, for the second."""
    said = {given.node.name: given.values for given in other.headers}
    new: dict[str, dict[str, Value]] = {}
    for source, target in fields:
        if source.field in (values := said.get(source.node, {})):
            new.setdefault(target.node, {})[target.field] = values[source.field]
    headers = (
        Given(given.node, {**given.values, **new.get(given.node.name, {})})
        for given in packet.headers
    )
    return replace(packet, headers=tuple(headers))


@st.composite
def with_wish(
    draw: st.DrawFn, base: Drawn, pipeline: Pipeline, world: World, wish: Wanted
) -> Drawn:
    """The packet as it is wanted, if it can be so."""
    if isinstance(wish, Header):
        return draw(_with_header(base, pipeline, world, wish.node))
    if isinstance(wish, Arriving):
        return draw(_arriving(base, pipeline, world, wish.role))
    if isinstance(wish, Option):
        at = _place(base, wish.node)
        group = base.headers[at].node.header.option(wish.option) if at is not None else None
        return base if at is None or group is None else draw(_with_option(base, at, world, group))
    if isinstance(wish.of, Arrival):
        return _by_port(base, world, wish.value)
    at, name = _place_of(base, pipeline, wish)
    if at is None:
        return base
    header = base.headers[at].node.header
    field = header.field(name)
    option = header.option(field.group)
    if option is not None:
        kept = _in_option(base.headers[at], field, wish.value)
        if kept is not None:
            return _with(base, at, kept[0], kept[1])
        return draw(_with_option(base, at, world, option, (name, wish.value)))
    if field.kind == "bytes" or header.array(field) is not None or not field.width:
        return base
    return _with(base, at, name, wish.value)


def _by_port(base: Drawn, world: World, number: int) -> Drawn:
    """By that port of the same role, or where there is none, by another one."""
    ports = world.environment.ports
    role = next(p.role for p in ports if p.number == base.port)
    others = [p.number for p in ports if p.role == role and p.number != base.port]
    return replace(base, port=number if number in others else others[0])


def _place(base: Drawn, node: str) -> int | None:
    return next((i for i, given in enumerate(base.headers) if given.node.name == node), None)


def _place_of(base: Drawn, pipeline: Pipeline, wish: Leaf) -> tuple[int | None, str]:
    """Which of its headers a packet is read in, and the field."""
    headers = [given.node for given in base.headers]
    match wish.of:
        case Packet(node, field):
            return _place(base, node), field
        case Layer4(which):
            places = [i for i, node in enumerate(headers) if node.header.protocol in LAYER4]
            return (places[-1] if places else None), which
        case Announced(name, by):
            chain = next(c for c in pipeline.graph.chains if c.name == name)
            known = (*chain.fronts, *chain.members)
            places = [i for i, node in enumerate(headers) if node.name in known]
            return (places[-1] if places else None), by
    return None, ""


def _with(base: Drawn, at: int, field: str, value: Value) -> Drawn:
    """Of the whole packet, with that value in one of its headers."""
    headers = list(base.headers)
    headers[at] = Given(headers[at].node, {**headers[at].values, field: value})
    return Drawn(base.port, tuple(headers), base.payload)


def _in_option(given: Given, field: Field, value: int) -> tuple[str, bytes] | None:
    """Where the header has the option: the name and the bytes of all its options, with the value in
    the field."""
    header = given.node.header
    assert header.options is not None
    name = header.options.field
    before = given.values.get(name)
    if says_size(header.options, field.name):  # then it would end elsewhere
        return None
    view = HeaderView(header, Heading(given.node.name, header, given.values).plain)
    try:
        at, start = view.offset(field), view.offset(header.field(name))
    except BadOptions:
        return None
    if at is None or start is None or not isinstance(before, bytes):
        return None
    if at + field.width > start + len(before) * 8:
        return None
    return name, put(before, at - start, field.width, value)


@st.composite
def _with_option(
    draw: st.DrawFn,
    base: Drawn,
    at: int,
    world: World,
    group: Group,
    said: tuple[str, int] | None = None,
) -> Drawn:
    """With such an option in front of those that the header has, as far as there is room."""
    options = base.headers[at].node.header.options
    assert options is not None
    made = draw(option_with(options, world, group, said))
    before = base.headers[at].values.get(options.field, b"")
    kept = before if isinstance(before, bytes) and len(made + before) <= _ROOM else b""
    return _with(base, at, options.field, filled(options, made + kept))


@st.composite
def _with_header(
    draw: st.DrawFn, base: Drawn, pipeline: Pipeline, world: World, node: str
) -> Drawn:
    """With the node, behind as many of its headers as may stay; without it, if it was there."""
    at = _place(base, node)
    if at is not None:
        return Drawn(base.port, base.headers[: max(at, 1)], base.payload)
    role = next(p.role for p in world.environment.ports if p.number == base.port)
    graph = pipeline.graph
    entering = [e for e in (*graph.edges, *graph.again) if e.target == node and role in e.roles]
    ways = [(edge, size) for edge in entering if (size := _common(base, pipeline, role, edge))]
    if not ways:
        return base
    edge, size = draw(st.sampled_from(ways))
    headers = draw(headers_from(pipeline, world, role, base.headers[:size], edge))
    return Drawn(base.port, headers, base.payload)


@st.composite
def _arriving(draw: st.DrawFn, base: Drawn, pipeline: Pipeline, world: World, role: str) -> Drawn:
    """By a port of the role, or if it came by one, of another: with the innermost of its headers
    that packets have there, and all values of the headers that both have."""
    ports = world.environment.ports
    came = next(p.role == role for p in ports if p.number == base.port)
    port = draw(st.sampled_from([p for p in ports if (p.role == role) != came] or ports))
    graph, nodes = pipeline.graph, [given.node.name for given in base.headers]
    entering = [e for e in (*graph.edges, *graph.again) if port.role in e.roles]
    goal = next((e for n in reversed(nodes) for e in entering if e.target == n), None)
    drawn = draw(headers_from(pipeline, world, port.role, (), goal))
    known = {given.node.name: given.values for given in base.headers}
    headers = (Given(g.node, {**g.values, **known.get(g.node.name, {})}) for g in drawn)
    return Drawn(port.number, tuple(headers), base.payload)


def _common(base: Drawn, pipeline: Pipeline, role: str, edge: Edge) -> int:
    """Behind how many of its headers a way leads to the edge."""
    before = in_front(pipeline, role, edge)
    sizes = range(len(base.headers), 0, -1)
    return next((n for n in sizes if base.headers[n - 1].node.name in before), 0)
