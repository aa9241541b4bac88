"""What a traced program records on a packet's way. Everything here adds nothing to one that is not
traced."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ...lang.contract.manifest import manifest as m
from ...lang.contract.trace.schema import FIRST, Field, Group, Node, Point, Slot
from ...lang.text.frozen import kept
from ..headers.steps import step
from ..ir.expr import Cast, Expr, Member, element
from ..ir.nodes import TraceNode, TraceParsed, TraceRule
from ..ir.types import U64, Int
from ..ir.unit import Traced, Unit
from ..model import TAIL, Graph, Recalled, Register
from ..model import Node as ModelNode
from ..tables.layout import Table, member_name
from .context import LoweringContext
from .values import got_of, value

# ---- steps ----------------------------------------------------------------------------------


def stage(site: LoweringContext) -> None:
    step(site, Point("stage", site.stage))


def node(site: LoweringContext, found: ModelNode, at: Expr) -> None:
    """The parser found a node at byte `at`."""
    site.writer.put(TraceNode(site.graph.nodes.index(found), at))


def parsed(site: LoweringContext) -> None:
    """The parser is done: now it is known whether the packet is one that is asked for."""
    site.writer.put(TraceParsed())


def look(site: LoweringContext, table: Table, words: Expr) -> None:
    """`words`: the key."""
    assert table.key is not None
    step(site, Point("look", table.rule.name), *_all_of(words, table.key.words))


def rule(site: LoweringContext, kind: str, name: str, cell: Expr) -> None:
    """The rule of a cell is bound under a name."""
    prefix = site.tables[kind].manifest.prefix
    site.writer.put(TraceRule(prefix, Point("rule", name, kind), cell, site.state("epoch")))


def slot(site: LoweringContext, group: str, number: Expr) -> None:
    step(site, Point("slot", group, slots=(Slot("slot", 8),)), number)


def queue(site: LoweringContext) -> None:
    """It was set just now."""
    point = Point("queue", "queue", slots=(Slot("queue", 32),))
    step(site, point, site.state("queue") - 1)


def meter(site: LoweringContext, name: str, colour: Expr) -> None:
    step(site, Point("meter", name, slots=(Slot("colour", 8, "colour"),)), colour)


def recall(site: LoweringContext, state: str, words: Expr) -> None:
    step(site, Point("recall", state), *_all_of(words, site.states[state].key_size // 8))


def recalled(site: LoweringContext, state: str) -> None:
    step(
        site, Point("recalled", state), *_entry_words(site.states[state].gives, got_of(site, state))
    )


def forget(site: LoweringContext, state: str, words: Expr) -> None:
    step(site, Point("forget", state), *_all_of(words, site.states[state].key_size // 8))


def update(site: LoweringContext, slot: Recalled) -> None:
    """A slot of an entry was changed: what it holds now."""
    point = Point("update", slot.state, slots=(Slot(slot.slot, slot.width, slot.kind),))
    step(site, point, value(site, slot).host())


def set_register(
    site: LoweringContext, register: Register, what: str, cell: Expr, by: Expr
) -> None:
    """A register was changed: which of all, and by how much, or to what."""
    point = Point("update", register.registers, slots=(Slot("cell", 32), Slot(what, 64)))
    step(site, point, cell, by)


def remember(site: LoweringContext, state: str, words: Expr, entry: Expr) -> None:
    key = _all_of(words, site.states[state].key_size // 8)
    given = site.states[state].given
    step(site, Point("remember", state), *key, *_entry_words(given, entry))


# ---- words ----------------------------------------------------------------------------------


def _all_of(words: Expr, count: int) -> list[Expr]:
    return [element(words, i) for i in range(count)]


def _entry_words(slots: Iterable[m.Slot], entry: Expr) -> list[Expr]:
    words: list[Expr] = []
    for given in slots:
        member = Member(entry, member_name(given.name), Int(given.size * 8))
        words.append(Cast(U64, member))
        if given.size > 8:
            words.append(Cast(U64, member >> 64))
    return words


@kept
def to_be_traced(unit: Unit) -> Unit:
    """The unit as programs that record what happens to each packet that is asked for."""
    return replace(unit, traced=Traced(schema_nodes(unit.graph), FIRST))


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
