"""What is known of a bound rule beside its elements: which one it is, and what it counted."""

from __future__ import annotations

from typing import Literal

from ..ir.expr import Expr, Name, TableCall
from ..ir.types import U32, U64
from .context import LoweringContext


def sequence_of(site: LoweringContext, binding: str) -> Expr:
    """A number that no other rule ever has."""
    arguments = site.cell(binding), site.state("epoch")
    return TableCall(_table(site, binding), "sequence_of", arguments, U64)


def id_of(site: LoweringContext, binding: str) -> Expr:
    """The id that requests name it by."""
    arguments = site.cell(binding), site.state("epoch")
    return TableCall(_table(site, binding), "id_of", arguments, U32)


def counted(site: LoweringContext, binding: str, what: Literal["packets", "bytes"]) -> Name:
    """Packets or bytes so far. In a variable: it may be another number when it is read again."""
    read = TableCall(_table(site, binding), what, (site.cell(binding),), U64)
    return site.writer.local(U64, what, read)


def _table(site: LoweringContext, binding: str) -> str:
    return site.tables[site.bindings[binding].rule].manifest.prefix
