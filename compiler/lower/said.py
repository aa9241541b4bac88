"""What statements say of slots and fields beside values: ports, and which rule is bound."""

from __future__ import annotations

from ..ir.expr import Cast, Expr, Member
from ..ir.types import U64, U128
from ..ir.values import Value
from ..model import Attribute, Identity, PortOf, Recalled
from ..model import Expr as Expr_
from ..tables.layout import member_name
from .context import LoweringContext
from .rule_facts import id_of, sequence_of
from .values import value


def said(site: LoweringContext, given: Expr_ | PortOf) -> Value:
    """A value, or a port's number."""
    if isinstance(given, PortOf):
        return Value(port_number(site, given), 32)
    return value(site, given)


def port_number(site: LoweringContext, port: PortOf) -> Expr:
    """The number of a port that a rule refers to, or that an entry holds."""
    match port.source:
        case str(name):
            return site.ports[name]
        case Recalled() as recalled:
            return value(site, recalled).expr
        case Attribute() as matched if port.matched:
            return value(site, matched).host()
        case Attribute(binding, _, element):
            return Member(site.record(binding), member_name(element))


def identity_of(site: LoweringContext, rule: Identity) -> Expr:
    """Which rule it is, as a slot of a state keeps it: see `manifest.Slot`."""
    number = Cast(U64, site.cell(rule.binding)) << 32 | Cast(U64, id_of(site, rule.binding))
    return Cast(U128, number) << 64 | Cast(U128, sequence_of(site, rule.binding))
