"""What a traced program records of changes to a packet, and of the way it leaves by."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from ...lang.contract.trace.schema import Point, Slot
from ..headers.fields import container, field_value
from ..headers.steps import step, words_of
from ..ir.expr import Expr, Member, Name
from ..ir.types import BYTES, U16, Pointer
from ..ir.values import Value
from .context import EditContext
from .header_out import HeaderOut


def change(site: EditContext, node: str, field: str, pointer: Expr, new: Value) -> None:
    """A field of the header at `pointer` is about to be changed."""
    f = site.header(node).field(field)
    slots = Slot("before", f.width, f.kind), Slot("after", f.width, f.kind)
    words = [*words_of(field_value(pointer, f), slots[0]), *words_of(new, slots[1])]
    step(site, Point("set", f"{node}.{field}", slots=slots), *words)


def pop(site: EditContext, to: str) -> None:
    step(site, Point("pop", to))


def pop_link(site: EditContext, node: str) -> None:
    step(site, Point("pop", "", nodes=(node,)))


def push(
    site: EditContext, what: Literal["push", "append"], headers: Sequence[HeaderOut], beside: str
) -> None:
    """Of each header the values that it is given, and how many elements its array gets."""
    slots: list[Slot] = []
    words: list[Expr] = []
    for out in headers:
        for field, v in out.given.items():
            f = out.header.field(field)
            slots.append(Slot(f"{out.node}.{field}", f.width, f.kind, v.given is not None))
            words += words_of(v, slots[-1])
        if out.array is not None:
            array = next(f for f in out.header.fields if out.header.array(f))
            slots.append(Slot(f"{out.node}.{array.name}", 8, "count"))
            words.append(out.array.count)
    nodes = tuple(out.node for out in headers)
    step(site, Point(what, beside, slots=tuple(slots), nodes=nodes), *words)


def leave(site: EditContext) -> None:
    """By `hop`, whose link header the frame gets."""
    slots = Slot("port", 32, "port"), Slot("to", 48, "mac"), Slot("own", 48, "mac"), Slot("tag", 16)
    hop = Name("hop", Pointer("struct next_hop"))
    mac = Member(hop, "mac", BYTES)
    to, own, tag = container(mac, 0, 6), container(mac, 6, 6), Member(hop, "vlan", U16)
    step(site, Point("leave", "port", slots=slots), Member(hop, "port"), to, own, tag)
