"""Rules that entries of states keep."""

from __future__ import annotations

from ..ir.expr import Cast, Expr, TableCall
from ..ir.types import U32, U64, Int
from ..model import Recalled
from .context import LoweringContext
from .lookup import Fill, found_at, whether_found
from .values import value


def find_kept(site: LoweringContext, rule: str, kept_in: Recalled, miss: Fill) -> None:
    """The rule that a slot of an entry says, as it is for this packet's epoch; `miss` where it is
    gone."""
    w, name = site.writer, site.tables[rule].manifest.prefix
    with w.block(f"kept_{name}"):
        read = w.local(Int(128), "kept", value(site, kept_in).host())
        slot = w.local(U32, "slot", _slot_of(site, rule, read))
        found_at(site, rule, slot)
        gone = site.events("gone", rule)
        whether_found(site, gone, rule, TableCall(name, "cell_of", (slot,), U32))
    with w.unless(site.rule_record(rule)):
        miss(site)


def _slot_of(site: LoweringContext, rule: str, slot: Expr) -> Expr:
    """The slot of the record of the rule that this slot of an entry says, if it is there still;
    else 0."""
    sequence, cell = Cast(U64, slot), Cast(U32, Cast(U64, slot >> 64) >> 32)
    arguments = cell, site.state("epoch"), sequence
    return TableCall(site.tables[rule].manifest.prefix, "kept", arguments, U32)
