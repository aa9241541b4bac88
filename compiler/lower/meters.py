"""What the meter of a bound rule, or of the entry of a state, says of the packet."""

from __future__ import annotations

from ...lang.contract.base.colours import COLOUR_BITS
from ..ir.expr import ONE, ZERO, Expr, Name, StateCall, TableCall, number
from ..ir.types import U32
from ..model import Metered
from . import trace
from .context import LoweringContext
from .states import held_of
from .values import value


def colour(site: LoweringContext, asked: Metered) -> Expr:
    """Whether it is one of these colours."""
    return (_measured(site, asked) & _bits(*asked.colours)).is_not(0)


def _bits(*colours: str) -> int:
    return sum(bits for colour, bits in COLOUR_BITS.items() if colour in colours)


def _measured(site: LoweringContext, asked: Metered) -> Name:
    before: Expr = ZERO
    if isinstance(asked.given, Metered):
        before = _measured(site, asked.given)
    elif asked.given is not None:
        before = number(_bits(asked.given))
    values = tuple(value(site, each).host() for each in asked.by)
    found = (_of_entry if asked.state else _of_rule)(site, asked, (*values, before))
    trace.meter(site, asked.binding, found)
    return found


def _of_rule(site: LoweringContext, asked: Metered, values: tuple[Expr, ...]) -> Name:
    kind = site.tables[asked.rule].manifest
    length = ONE if kind.packet_meter else site.state("length")
    arguments = (site.cell(asked.binding), length, *values)
    return site.writer.local(U32, "colour", TableCall(kind.prefix, "meter", arguments, U32))


def _of_entry(site: LoweringContext, asked: Metered, values: tuple[Expr, ...]) -> Name:
    """One that is gone lets nothing pass."""
    w, laid = site.writer, site.states[asked.binding]
    length = ONE if laid.packet_meter else site.state("length")
    arguments = held_of(laid.prefix), length, *values
    found = w.local(U32, "colour", StateCall(laid.prefix, "meter", arguments))
    with w.unless(found):
        w.count(site.events("lost", asked.binding))
        w.set(found, COLOUR_BITS["red"])
    return found
