"""Events that packets raise: a statement makes a record of its fields."""

from __future__ import annotations

from ...lang.contract.manifest.manifest import EventField, EventKind
from ..headers.stores import placed
from ..ir.expr import Cast, Name, element
from ..ir.nodes import Emit
from ..ir.types import U64, Array
from ..model import Emit as Statement
from ..model import Identity
from .context import LoweringContext
from .rule_facts import id_of, sequence_of
from .said import said


def emit(site: LoweringContext, statement: Statement) -> None:
    """Values are taken now, in the order declared."""
    w, kind = site.writer, site.emits[statement.event]
    record = w.array(Array(U64, kind.size // 8), "record")
    for field, given in zip(kind.fields, statement.values, strict=True):
        if isinstance(given, Identity):
            _identity(site, record, field, given)
            continue
        for store in placed(said(site, given), field.offset, field.size, 0):
            store.into(w, record)
    w.put(Emit(kind.name, record))


def _identity(site: LoweringContext, record: Name, field: EventField, rule: Identity) -> None:
    w, at = site.writer, field.offset // 8
    w.set(element(record, at), sequence_of(site, rule.binding))
    w.set(element(record, at + 1), Cast(U64, id_of(site, rule.binding)))


def laid_out(kinds: tuple[EventKind, ...]) -> dict[str, EventKind]:
    return {kind.name: kind for kind in kinds}
