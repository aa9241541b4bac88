"""What a bound rule's meter says of the packet."""

from __future__ import annotations

from ..ir.expr import COLOUR_BITS, Expr, TableCall
from ..ir.types import U32
from ..model import Metered
from .context import LoweringContext
from .values import value


def colour(site: LoweringContext, asked: Metered) -> Expr:
    """Whether it is one of these colours."""
    values = tuple(value(site, each).host() for each in asked.by)
    table = site.tables[asked.rule].manifest.prefix
    arguments = (site.cell(asked.binding), site.state("length"), *values)
    found = TableCall(table, "meter", arguments, U32)
    return (found & sum(COLOUR_BITS[each] for each in asked.colours)).is_not(0)
