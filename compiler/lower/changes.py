"""Statements that change a packet or send it on: values are computed, what is done to the packet
stays as it is written."""

from __future__ import annotations

from typing import Literal

from ..ir import edits
from ..ir.edits import ArrayValues, FieldValue, NewHeader
from ..ir.expr import Cast, Expr, Member, load
from ..ir.expr_builders import choose
from ..ir.types import BYTES, U32, Struct
from ..model import (
    Append,
    Assign,
    Attribute,
    Bridge,
    Forward,
    Header,
    Item,
    PortOf,
    Push,
    PushElement,
    Reply,
)
from .context import LoweringContext
from .said import port_number
from .values import list_of, value

NEXT_HOP = Struct("next_hop")


def push(site: LoweringContext, statement: Push) -> None:
    headers = tuple(_new_header(site, each) for each in statement.elements)
    site.writer.put(edits.Push(headers, statement.before, statement.behind))


def append(site: LoweringContext, statement: Append) -> None:
    headers = tuple(_new_header(site, each) for each in statement.elements)
    site.writer.put(edits.Append(headers, statement.behind))


def _new_header(site: LoweringContext, element: PushElement) -> NewHeader:
    """Values are taken now: they may change later."""
    array = _array_values(site, site.header(element.node), element)
    given = tuple(
        FieldValue(name, site.captured(value(site, v), f"{element.node}_{name}"))
        for name, v in element.values
    )
    return NewHeader(element.node, given, frozenset(element.computed), array)


def _array_values(
    site: LoweringContext, header: Header, element: PushElement
) -> ArrayValues | None:
    """What the array of a pushed header is to hold."""
    w = site.writer
    if not header.arrays:
        return None
    (array,), ((_, items),) = header.arrays, element.lists  # H0317, H0290
    most, size = items.most - items.skip, array.width // 8
    values = list_of(site, items.source)
    count = w.capture(U32, "count", load(values, size * items.most, 8))
    first = w.capture(BYTES, "list", Cast(BYTES, values) + size * items.skip)
    if items.skip:
        w.set(count, choose(count > items.skip, count - items.skip, 0))
    with w.when(count > most):
        w.set(count, most)
    return ArrayValues(count, first, most, items.backwards)


def assign(site: LoweringContext, statement: Assign) -> None:
    """All values are taken before the first is written."""
    values = [
        site.captured(value(site, v), f"{target.node}_{target.field}")
        for target, v in statement.fields
    ]
    for (target, _), v in zip(statement.fields, values, strict=True):
        index = value(site, target.index).host() if isinstance(target, Item) else None
        site.writer.put(edits.SetField(target.node, target.field, v, index))


# ---- the way out ----------------------------------------------------------------------------


def forward(site: LoweringContext, statement: Forward) -> None:
    via = statement.via
    family: Literal["ipv4", "ipv6"] = "ipv6" if via.kind == "ip6" else "ipv4"
    fronts = tuple(node for role, node in statement.fronts if role == site.role)
    port, address = port_number(site, statement.port), value(site, via).network()
    resolved = _resolved(site, statement.port, via)
    site.writer.put(edits.Forward(port, address, family, resolved, fronts))


def _resolved(site: LoweringContext, to: PortOf, via: object) -> Expr | None:
    """The next hop in the record of the rule that gives both; None where there is none."""
    port = to.source
    if to.matched or not isinstance(via, Attribute) or not isinstance(port, Attribute):
        return None
    if via.binding != port.binding:
        return None
    way = f"{port.element} via {via.element}"
    members = site.tables[via.rule].manifest.record
    name = next(m.name for m in members if m.kind == "next_hop" and m.element == way)
    return Member(site.record(via.binding), name, NEXT_HOP)


def bridge(site: LoweringContext, statement: Bridge) -> None:
    site.writer.put(edits.Bridge(port_number(site, statement.port)))


def reply(site: LoweringContext, statement: Reply) -> None:
    fronts = tuple(node for role, node in statement.fronts if role == site.role)
    site.writer.put(edits.Reply(statement.error, fronts))


def finish(site: LoweringContext, verdict: str) -> None:
    if verdict == "drop":
        with site.writer.block():
            site.end("drop")
    else:
        site.writer.put(edits.Finish(verdict))
