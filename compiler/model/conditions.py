"""What holds of a packet, or does not."""

from __future__ import annotations

from typing import Literal, cast

from ...lang.contract.base.colours import Colour
from ...lang.text.frozen import Frozen
from ...lang.text.source import NOWHERE, Span
from .values import Attribute, Expr, Packet, Pick, Recalled

Ranges = tuple[tuple[int, int], ...]
Comparison = Literal["=", "!=", "<", "<=", ">", ">="]


class Compare(Frozen):
    operator: Comparison
    left: Expr
    right: Expr


class Among(Frozen):
    """A value lies in one of these ranges, of which each begins behind the one before. Sets of a
    few members are comparisons."""

    subject: Expr
    ranges: Ranges


class Present(Frozen):
    node: str


class Found(Frozen):
    """A rule of this kind is bound: the last `find` or `choose` of it found one."""

    rule: str


class IsLocal(Frozen):
    """One of the host's addresses, or (IPv4) broadcast, or multicast."""

    address: Packet


class IsMulticast(Frozen):
    """A group address: of IEEE 802 (broadcast too), RFC 1112 or RFC 4291 section 2.7."""

    address: Packet


class IsFragment(Frozen):
    """More fragments or a non-zero fragment offset (RFC 791)."""

    node: str


class PortIs(Frozen):
    """The packet came in by a port of this role."""

    role: str


class IsLimited(Frozen):
    """`error is limited`: no further error may be sent now, by the limit of ICMP errors. Where one
    may, asking takes it out of the bucket."""

    span: Span = NOWHERE


class Metered(Frozen):
    """The meter of a bound rule, or of the entry of a state that is bound (`state`; then `binding`
    is its name), gives the packet one of these colours, by the values of the elements or slots
    `by`, in the order of its `meters`. `given`: the colour that the packet has already, or the
    meter that gives it; None: none."""

    binding: str
    rule: str
    by: tuple[Attribute | Recalled, ...]
    colours: tuple[Colour, ...]
    span: Span = NOWHERE
    given: Colour | Metered | None = None
    state: bool = False


class Not(Frozen):
    operand: Condition


class And(Frozen):
    operands: tuple[Condition, ...]


class Or(Frozen):
    operands: tuple[Condition, ...]


Condition = (
    Compare | Among | Present | Found | IsLocal | IsMulticast | IsFragment | PortIs | IsLimited
    | Metered | Not | And | Or
)  # fmt: skip


def asked_by(pick: Pick) -> Condition:
    """What decides between the two values."""
    return cast(Condition, pick.condition)
