"""Expressions: types, widths and the range of their values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ...lang import tree
from ...lang.text.diagnostics import Diagnostic, Diagnostics, error
from ...lang.text.frozen import Frozen
from ...lang.text.source import Span
from .. import model
from . import errors
from .ranges import Facts, surely_above

WIDEST = 64
KINDS = {
    "uint": "a number",
    "mac": "a MAC address",
    "ip4": "an IPv4 address",
    "ip6": "an IPv6 address",
    "bytes": "a run of bytes",
}


class Value(Frozen):
    """A checked expression; its value lies in `low`..`high`. `what` says it in messages."""

    expr: model.Expr
    width: int
    kind: model.Kind
    low: int
    high: int
    span: Span
    what: str = "this"
    declared: Span | None = None

    @property
    def literal(self) -> bool:
        return isinstance(self.expr, model.Const)


def of_width(
    expr: model.Expr, width: int, kind: model.Kind, span: Span, what: str, declared: Span | None
) -> Value:
    """A value that may be anything of its width."""
    return Value(expr, width, kind, 0, (1 << width) - 1, span, what, declared)


def literal(expr: tree.Number | tree.Address) -> Value:
    if isinstance(expr, tree.Number):
        kind: model.Kind = "uint"
        width = max(1, expr.value.bit_length())
    else:
        kind, width = expr.kind, {"ip4": 32, "ip6": 128, "mac": 48}[expr.kind]
    constant = model.Const(expr.value, width)
    return Value(constant, width, kind, expr.value, expr.value, expr.span, f"`{expr.text}`")


def fits(
    value: Value, width: int, kind: model.Kind, what: str, where: Span | None, found: Diagnostics
) -> bool:
    """Whether `value` can be put into a field or element of that type; says why not."""
    if value.kind != kind:
        found.add(errors.wrong_kind(value.span, KINDS[value.kind], KINDS[kind], where))
        return False
    if value.high >> width:
        found.add(
            errors.does_not_fit(
                value.span, value.what, what, width, where, _shortened(value, width)
            )
        )
        return False
    return True


def _shortened(value: Value, width: int) -> str:
    """The lowest bits of a value, as users write them; "" of a number that is known."""
    if value.literal or value.kind != "uint" or value.width > WIDEST:
        return ""
    text = value.span.text
    whole = f"({text})" if isinstance(value.expr, model.Arithmetic) else text
    return f"{whole} & {(1 << width) - 1:#x}"


Lookup = Callable[[tree.Path], Value | None]
CallLookup = Callable[[tree.Call], Value | None]


_NOTHING = Facts()
_TURNED = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}


class Expressions(Frozen):
    """Checks expressions; `name` and `call` say what paths and calls mean here. Every method gives
    None where it has reported an error. `tested`: comparisons that hold here."""

    name: Lookup
    call: CallLookup
    found: Diagnostics
    tested: Facts = _NOTHING

    def value(self, expr: tree.Expr) -> Value | None:
        match expr:
            case tree.Number() | tree.Address():
                return literal(expr)
            case tree.Path():
                return self.name(expr)
            case tree.Call():
                return self.call(expr)
            case tree.Binary(operator=op) if op in ("+", "-", "*", "&", "<<", ">>"):
                left, right = self.value(expr.left), self.value(expr.right)
                return self._arithmetic(expr, left, right) if left and right else None
            case _:
                self.found.add(_no_value(expr.span))
                return None

    def _arithmetic(self, expr: tree.Binary, left: Value, right: Value) -> Value | None:
        for side in (left, right):
            if side.kind != "uint":
                self.found.add(
                    errors.wrong_kind(
                        side.span, KINDS[side.kind], "a number", help="reckon with numbers only"
                    )
                )
                return None
            if side.width > WIDEST:
                self.found.add(errors.unsupported(side.span, "reckoning with more than 64 bits"))
                return None
        bounds = self._bounds(expr, left, right)
        if bounds is None:
            return None
        low, high = bounds
        operator: model.Expr = model.Arithmetic(expr.operator, left.expr, right.expr)  # type: ignore[arg-type]
        return Value(
            operator, max(1, high.bit_length()), "uint", low, high, expr.span, f"`{expr.span.text}`"
        )

    def _bounds(self, expr: tree.Binary, a: Value, b: Value) -> tuple[int, int] | None:
        if expr.operator in ("<<", ">>") and not (b.literal and b.high < WIDEST):
            self.found.add(
                errors.unsupported(
                    b.span, "shifting by what is not a number below 64", "shift by a number"
                )
            )
            return None
        match expr.operator:
            case "+":
                low, high = a.low + b.low, a.high + b.high
            case "-":
                low, high = a.low - b.high, a.high - b.low
                above = surely_above(self.tested, a.expr, b.expr)
                low = low if above is None else max(low, above)
            case "*":
                low, high = a.low * b.low, a.high * b.high
            case "&":
                low, high = 0, min(a.high, b.high)
            case "<<":
                low, high = a.low << b.low, a.high << b.high
            case _:
                low, high = a.low >> b.high, a.high >> b.low
        if low < 0:
            self.found.add(
                errors.overflow(
                    expr.span,
                    "this may become negative",
                    f"as low as {low}",
                    "compare the other way round, add to the other side, or test it further up: "
                    "`if A >= B {…}`",
                )
            )
            return None
        if high >> WIDEST:
            self.found.add(
                errors.overflow(
                    expr.span,
                    "this may overflow 64 bits",
                    f"as high as {high}",
                    "reckon with narrower fields",
                )
            )
            return None
        return low, high

    def compare(self, expr: tree.Binary) -> model.Compare | None:
        """`a = b` and the like; both sides of one kind, and the outcome not known beforehand."""
        left, right = self.value(expr.left), self.value(expr.right)
        if left is None or right is None:
            return None
        if left.kind != right.kind:
            first, second = (left, right) if left.literal else (right, left)
            self.found.add(
                errors.wrong_kind(first.span, KINDS[first.kind], KINDS[second.kind], second.span)
            )
            return None
        if "bytes" in (left.kind, right.kind):
            self.found.add(errors.unsupported(expr.span, "comparing runs of bytes"))
            return None
        known, other = (left, right) if left.literal else (right, left)
        if known.literal and not (other.low <= known.low <= other.high):
            self.found.add(
                _never_differs(known.span, known.what, other.what, other.low, other.high)
            )
            return None
        turned = expr.operator if known is right else _TURNED.get(expr.operator, expr.operator)
        bound = {">": other.high, "<=": other.high, "<": other.low, ">=": other.low}.get(turned)
        if known.literal and known.low == bound:  # sound, if of no use
            never = _never_differs(known.span, known.what, other.what, other.low, other.high)
            self.found.add(replace(never, severity="warning"))
        return model.Compare(expr.operator, left.expr, right.expr)  # type: ignore[arg-type]


# ---- errors ---------------------------------------------------------------------------------


def _no_value(span: Span) -> Diagnostic:
    return error(
        "H0241",
        "this is a condition, not a value",
        (span, "true or false"),
        help="use it in `if`, `accept` or `require`",
    )


def _never_differs(span: Span, value: str, what: str, low: int, high: int) -> Diagnostic:
    """A comparison whose outcome is known."""
    return error(
        "H0243",
        f"this comparison with {value} is always the same",
        (span, f"{what} is always {low} to {high}"),
        help="compare with a value in that range, or leave the comparison out",
    )
