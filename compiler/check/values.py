"""Values: their type, their width and the range that they are in."""

from __future__ import annotations

from ...lang import tree
from ...lang.text.diagnostics import Diagnostics
from ...lang.text.frozen import Frozen
from ...lang.text.literals import shown_address
from ...lang.text.source import Span
from .. import model
from ..model.arithmetic import Interval
from ..model.walk import walk
from . import errors

WIDEST = 64
ADDRESS_BITS = {"ip4": 32, "ip6": 128, "mac": 48}
KINDS = {
    "uint": "a number",
    "mac": "a MAC address",
    "ip4": "an IPv4 address",
    "ip6": "an IPv6 address",
    "bytes": "a run of bytes",
    "name": "a domain name",
    "text": "a domain name",
}


class Value(Frozen):
    """A checked expression; its value lies in `low`..`high`. `what` says it in messages; `at_all`:
    where it lies whatever was tested further up, if that is more."""

    expr: model.Expr
    width: int
    kind: model.Kind
    low: int
    high: int
    span: Span
    what: str = "this"
    declared: Span | None = None
    at_all: Interval | None = None
    seen: int | None = None
    """The greatest that it is of a frame that is seen whole, where it follows from its length."""

    @property
    def range(self) -> Interval:
        """Where the value lies, whatever was tested."""
        return self.at_all or (self.low, self.high)

    @property
    def literal(self) -> bool:
        return isinstance(self.expr, model.Const)


def is_port(expr: model.Expr) -> bool:
    """Whether it is a port's number."""
    return isinstance(expr, model.Arrival) or (isinstance(expr, model.Recalled) and expr.port)


def shown(value: int, kind: model.Kind) -> str:
    """A value as users write it."""
    return str(value) if kind in ("uint", "bytes") else shown_address(kind, value)  # type: ignore[arg-type]


def of_width(
    expr: model.Expr, width: int, kind: model.Kind, span: Span, what: str, declared: Span | None
) -> Value:
    """A value that may be anything of its width."""
    return Value(expr, width, kind, 0, (1 << width) - 1, span, what, declared)


def seen_of(left: Value, right: Value) -> tuple[Interval, Interval] | None:
    """The bounds of two values for frames that are seen whole, if one of them follows from that."""
    if left.seen is None and right.seen is None:
        return None
    bounds = [(v.low, v.high if v.seen is None else v.seen) for v in (left, right)]
    return bounds[0], bounds[1]


def literal(expr: tree.Number | tree.Address) -> Value:
    if isinstance(expr, tree.Number):
        kind: model.Kind = "uint"
        width = max(1, expr.value.bit_length())
    else:
        kind, width = expr.kind, ADDRESS_BITS[expr.kind]
    constant = model.Const(expr.value, width)
    return Value(constant, width, kind, expr.value, expr.value, expr.span, f"`{expr.text}`")


def fits(
    value: Value,
    width: int,
    kind: model.Kind,
    what: str,
    where: Span | None,
    found: Diagnostics,
    kept: str = "",
) -> bool:
    """Whether `value` can be put into a field or element of that type; says why not. `kept`: the
    slot or the array of registers that it is put into."""
    if value.kind != kind:
        found.add(errors.wrong_kind(value.span, KINDS[value.kind], KINDS[kind], where))
        return False
    if value.high >> width:
        found.add(
            errors.does_not_fit(
                value.span,
                value.what,
                what,
                width,
                where,
                _shortened(value, width),
                _in_place(value, kept) if kept else "",
            )
        )
        return False
    return True


def _in_place(value: Value, kept: str) -> str:
    """The change in one step, where a value follows from what is kept there by now."""
    for part in walk((value.expr,)):
        match part:
            case model.Recalled(state=state, slot=slot) if slot == kept:
                return f"{state}.{slot} += …"
            case model.Register(registers=name) if name == kept:
                return f"{name}[…] += …"
    return ""


def _shortened(value: Value, width: int) -> str:
    """The lowest bits of a value, as users write them; "" of a number that is known."""
    text = value.span.text
    known = value.literal and not text.startswith("~")
    if known or value.kind != "uint" or value.width > WIDEST:
        return ""
    whole = f"({text})" if isinstance(value.expr, model.Arithmetic) else text
    return f"{whole} & {(1 << width) - 1:#x}"
