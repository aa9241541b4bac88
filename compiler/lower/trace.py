"""What a traced program tells on a packet's way. Everything here adds nothing to one that is not
traced."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from ...lang.contract.trace.schema import FIRST, Field, Group, Node, Point, Slot
from ..model import TAIL, Graph
from ..model import Node as ModelNode
from .fields import Value, field_value
from .headers_out import HeaderOut
from .layout import Table, member_name
from .lowered import Writer
from .site import Site

_AT_ONCE = 4  # words that a call of `trace_step` takes


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


def node(site: Site, found: ModelNode) -> None:
    """The parser found a node at octet `at`."""
    if site.points.on:
        place = site.pipeline.graph.nodes.index(found)
        site.writer.put(f"st->trace->node[{place}] = at + 1;")


def parsed(site: Site) -> None:
    """The parser is done: now it is known whether the packet is one that is asked for."""
    if site.points.on:
        site.writer.put("trace_parsed(ctx);")


def look(site: Site, table: Table, words: str) -> None:
    """`words`: C name of the key."""
    assert table.key is not None
    key = [f"{words}[{i}]" for i in range(table.key.words)]
    _step(site, Point("look", table.rule.name), *key)


def rule(site: Site, kind: str, name: str, cell: str) -> None:
    """A rule is bound under a name; `cell` is C text."""
    if site.points.on:
        prefix = site.tables[kind].manifest.prefix
        index = site.points.index(Point("rule", name, kind))
        site.writer.put(f"{prefix}_traced({index}, {cell}, {site.state('epoch')});")


def slot(site: Site, group: str, text: str) -> None:
    _step(site, Point("slot", group, slots=(Slot("slot", 8),)), text)


def change(site: Site, node: str, field: str, pointer: str, new: Value) -> None:
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
    words: list[str] = []
    for out in headers:
        for field, v in out.given.items():
            f = out.header.field(field)
            slots.append(Slot(f"{out.node}.{field}", f.width, f.kind, bool(v.given)))
            words += _words(v, slots[-1])
        if out.listed is not None:
            array = next(f for f in out.header.fields if out.header.array(f))
            slots.append(Slot(f"{out.node}.{array.name}", 8, "count"))
            words.append(out.listed.count)
    nodes = tuple(out.node for out in headers)
    _step(site, Point(what, beside, slots=tuple(slots), nodes=nodes), *words)


def queue(site: Site) -> None:
    """It was set just now."""
    _step(site, Point("queue", "queue", slots=(Slot("queue", 32),)), f"{site.state('queue')} - 1")


def recall(site: Site, state: str, words: str) -> None:
    count = site.states[state].key_size // 8
    _step(site, Point("recall", state), *(f"{words}[{i}]" for i in range(count)))


def recalled(site: Site, state: str, entry: str) -> None:
    _step(site, Point("recalled", state), *_entry_words(site, state, f"{entry}->"))


def remember(site: Site, state: str, words: str, entry: str) -> None:
    key = [f"{words}[{i}]" for i in range(site.states[state].key_size // 8)]
    _step(site, Point("remember", state), *key, *_entry_words(site, state, f"{entry}."))


def leave(site: Site) -> None:
    """By `hop`, whose link header the frame gets."""
    slots = Slot("port", 32, "port"), Slot("to", 48, "mac"), Slot("own", 48, "mac"), Slot("tag", 16)
    to = "(u64)bpf_ntohl(RAW32(hop->mac, 0)) << 16 | bpf_ntohs(RAW16(hop->mac, 4))"
    own = "(u64)bpf_ntohs(RAW16(hop->mac, 6)) << 32 | bpf_ntohl(RAW32(hop->mac, 8))"
    _step(site, Point("leave", "port", slots=slots), "hop->port", to, own, "hop->vlan")


# ---- words ----------------------------------------------------------------------------------


def _step(site: Site, point: Point, *words: str) -> None:
    if not site.points.on:
        return
    put_words(site.writer, [str(site.points.index(point)), *words])


def put_words(w: Writer, words: list[str]) -> None:
    for at in range(0, len(words), _AT_ONCE):
        some = words[at : at + _AT_ONCE]
        filled = [*some, *["0"] * (_AT_ONCE - len(some))]
        w.put(f"trace_step({len(some)}, {', '.join(filled)});")


def _words(value: Value, slot: Slot) -> list[str]:
    """C text of each word of a value, whether it is given first, if the slot says that."""
    host = value.host()
    words = [f"(u64){host}"] if slot.width <= 64 else [f"(u64){host}", f"(u64)({host} >> 64)"]
    if slot.width > 64 and value.octets < 16:
        words[1] = "0"
    return [value.given, *words] if slot.given else words


def _entry_words(site: Site, state: str, members: str) -> list[str]:
    words = []
    for given in site.states[state].gives:
        member = f"{members}{member_name(given.name)}"
        words.append(f"(u64){member}")
        if given.size > 8:
            words.append(f"(u64)({member} >> 64)")
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
