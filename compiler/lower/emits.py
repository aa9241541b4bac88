"""Events that packets raise: a statement makes a record of its fields."""

from __future__ import annotations

from ...lang.contract.manifest.manifest import EventField, EventKind
from ..headers.stores import placed
from ..ir.expr import Cast, Expr, Name, State, TableCall, element
from ..ir.nodes import Emit
from ..ir.types import U32, U64, Array
from ..model import Emit as Statement
from ..model import Identity
from .context import LoweringContext
from .values import value


def emit(site: LoweringContext, statement: Statement) -> None:
    """Values are taken now, in the order declared."""
    w, kind = site.writer, site.emits[statement.event]
    record = w.array(Array(U64, kind.size // 8), "record")
    for field, given in zip(kind.fields, statement.values, strict=True):
        if isinstance(given, Identity):
            _identity(site, record, field, given)
            continue
        for store in placed(value(site, given), field.offset, field.size, 0):
            store.into(w, record)
    w.put(Emit(kind.name, record))


def _identity(site: LoweringContext, record: Name, field: EventField, rule: Identity) -> None:
    w, bound = site.writer, site.bindings[rule.binding]
    prefix, epoch = site.tables[rule.rule].manifest.prefix, site.state("epoch")
    slot: Expr
    if isinstance(bound.record, State):
        slot = site.state(f"{prefix}_slot")
    else:
        slot = w.local(U32, "slot", TableCall(prefix, "slot_of", (bound.cell, epoch), U32))
    at = field.offset // 8
    w.set(element(record, at), TableCall(prefix, "sequence_of", (slot, epoch), U64))
    w.set(element(record, at + 1), Cast(U64, TableCall(prefix, "id_of", (slot, epoch), U32)))


def laid_out(kinds: tuple[EventKind, ...]) -> dict[str, EventKind]:
    return {kind.name: kind for kind in kinds}
