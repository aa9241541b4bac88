"""What a traced program records on a packet's way. Everything here adds nothing to one that is not
traced."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from ...lang.contract.trace.schema import FIRST, Field, Group, Node, Point, Slot
from ..ir.expr import CTX, ZERO, Cast, Expr, Member, Name, State, element
from ..ir.nodes import Trace, TraceRule
from ..ir.types import BYTES, U16, U64, Array, Int, Pointer
from ..model import TAIL, Graph
from ..model import Node as ModelNode
from ..tables.layout import Table, member_name
from .fields import Value, container, field_value
from .headers_out import HeaderOut
from .site import Site


class Points:
    """The points of a traced program, by index; of another one (`on` is false) none."""

    def __init__(self, on: bool) -> None:
        self.on = on
        self._found = {point: i for i, point in enumerate(FIRST)} if on else {}

    def index(self, point: Point) -> int:
        """Equal points are one."""
        return self._found.setdefault(point, len(self._found))

    @property
    def all(self) -> tuple[Point, ...]:
        return tuple(self._found)


# ---- steps ----------------------------------------------------------------------------------


def stage(site: Site) -> None:
    _step(site, Point("stage", site.stage))


def node(site: Site, found: ModelNode, at: Expr) -> None:
    """The parser found a node at octet `at`."""
    if site.points.on:
        place = site.pipeline.graph.nodes.index(found)
        nodes = Member(State("trace", Pointer("struct trace")), "node", Array(U16, 0))
        site.writer.set(element(nodes, place), at + 1)


def parsed(site: Site) -> None:
    """The parser is done: now it is known whether the packet is one that is asked for."""
    if site.points.on:
        site.writer.do("trace_parsed", CTX)


def look(site: Site, table: Table, words: Expr) -> None:
    """`words`: the key."""
    assert table.key is not None
    _step(site, Point("look", table.rule.name), *_all_of(words, table.key.words))


def rule(site: Site, kind: str, name: str, cell: Expr) -> None:
    """The rule of a cell is bound under a name."""
    if site.points.on:
        index = site.points.index(Point("rule", name, kind))
        prefix = site.tables[kind].manifest.prefix
        site.writer.put(TraceRule(prefix, index, cell, site.state("epoch")))


def slot(site: Site, group: str, number: Expr) -> None:
    _step(site, Point("slot", group, slots=(Slot("slot", 8),)), number)


def change(site: Site, node: str, field: str, pointer: Expr, new: Value) -> None:
    """A field of the header at `pointer` is about to be changed."""
    f = site.header(node).field(field)
    slots = Slot("before", f.width, f.kind), Slot("after", f.width, f.kind)
    words = [*_words(field_value(pointer, f), slots[0]), *_words(new, slots[1])]
    _step(site, Point("set", f"{node}.{field}", slots=slots), *words)


def pop(site: Site, to: str) -> None:
    _step(site, Point("pop", to))


def pop_link(site: Site, node: str) -> None:
    _step(site, Point("pop", "", nodes=(node,)))


def push(
    site: Site, what: Literal["push", "append"], headers: Sequence[HeaderOut], beside: str
) -> None:
    """Of each header the values that it is given, and how many elements its array gets."""
    slots: list[Slot] = []
    words: list[Expr] = []
    for out in headers:
        for field, v in out.given.items():
            f = out.header.field(field)
            slots.append(Slot(f"{out.node}.{field}", f.width, f.kind, v.given is not None))
            words += _words(v, slots[-1])
        if out.listed is not None:
            array = next(f for f in out.header.fields if out.header.array(f))
            slots.append(Slot(f"{out.node}.{array.name}", 8, "count"))
            words.append(out.listed.count)
    nodes = tuple(out.node for out in headers)
    _step(site, Point(what, beside, slots=tuple(slots), nodes=nodes), *words)


def queue(site: Site) -> None:
    """It was set just now."""
    point = Point("queue", "queue", slots=(Slot("queue", 32),))
    _step(site, point, site.state("queue") - 1)


def recall(site: Site, state: str, words: Expr) -> None:
    _step(site, Point("recall", state), *_all_of(words, site.states[state].key_size // 8))


def recalled(site: Site, state: str, entry: Expr) -> None:
    _step(site, Point("recalled", state), *_entry_words(site, state, entry))


def remember(site: Site, state: str, words: Expr, entry: Expr) -> None:
    key = _all_of(words, site.states[state].key_size // 8)
    _step(site, Point("remember", state), *key, *_entry_words(site, state, entry))


def leave(site: Site) -> None:
    """By `hop`, whose link header the frame gets."""
    slots = Slot("port", 32, "port"), Slot("to", 48, "mac"), Slot("own", 48, "mac"), Slot("tag", 16)
    hop = Name("hop", Pointer("struct next_hop"))
    mac = Member(hop, "mac", BYTES)
    to, own, tag = container(mac, 0, 6), container(mac, 6, 6), Member(hop, "vlan", U16)
    _step(site, Point("leave", "port", slots=slots), Member(hop, "port"), to, own, tag)


# ---- words ----------------------------------------------------------------------------------


def _step(site: Site, point: Point, *words: Expr) -> None:
    if site.points.on:
        site.writer.put(Trace(site.points.index(point), words))


def _all_of(words: Expr, count: int) -> list[Expr]:
    return [element(words, i) for i in range(count)]


def _words(value: Value, slot: Slot) -> list[Expr]:
    """Each word of a value, whether it is given first, if the slot says that."""
    host = value.host()
    words: list[Expr] = [Cast(U64, host)]
    if slot.width > 64:
        words.append(Cast(U64, host >> 64) if value.octets == 16 else ZERO)
    if slot.given:
        assert value.given is not None
        return [value.given, *words]
    return words


def _entry_words(site: Site, state: str, entry: Expr) -> list[Expr]:
    words: list[Expr] = []
    for given in site.states[state].gives:
        member = Member(entry, member_name(given.name), Int(given.size * 8))
        words.append(Cast(U64, member))
        if given.size > 8:
            words.append(Cast(U64, member >> 64))
    return words


# ---- the schema's nodes ---------------------------------------------------------------------


def schema_nodes(graph: Graph) -> tuple[Node, ...]:
    """Every node, with the fields whose place follows from flags alone."""
    return tuple(_schema_node(node) for node in graph.nodes)


def _schema_node(found: ModelNode) -> Node:
    header = found.header
    groups: list[Group] = []
    for group in header.groups:
        if group.count is not None or group.name == TAIL:
            break
        groups.append(Group(group.name, group.flags, group.width))
    known = {"", *(g.name for g in groups)}
    fields = tuple(
        Field(f.name, f.offset, f.width, f.kind, f.group or "")
        for f in header.fields
        if f.width and (f.group or "") in known and not f.name.startswith("_")
    )
    return Node(found.name, header.link, header.fixed, fields, tuple(groups))
