"""Expressions, comparisons and tests for membership of a set."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ...lang import tree
from ...lang.text.diagnostics import Diagnostic, Diagnostics, error
from ...lang.text.frozen import Frozen
from ...lang.text.source import Span
from ...lang.tree.operators import PRECEDENCE
from .. import model
from ..model.guards import joined
from . import errors
from .computed import complement, computed
from .ranges import Facts, narrowed
from .sets import prefix
from .values import KINDS, Value, is_port, literal, shown

Lookup = Callable[[tree.Path], Value | None]
CallLookup = Callable[[tree.Call], Value | None]

#: Of a set, those of constants counted one by one: each is a comparison.
MOST_MEMBERS = 512
#: Of a set, or arms of a `match`, that are compared one after the other.
FEW = 8

_NOTHING = Facts()
_MATCHED = "a rule matches them: `ie e = 1, bytes[4]`, and `match e exact h.a` in its kind"
_TURNED = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}


class Expressions(Frozen):
    """Checks expressions; `name` and `call` say what paths and calls mean here. Every method gives
    None where it has reported an error. `tested`: comparisons that hold here."""

    name: Lookup
    call: CallLookup
    found: Diagnostics
    tested: Facts = _NOTHING

    def value(self, expr: tree.Expr) -> Value | None:
        """What an expression is, within what was tested further up."""
        value = self._value(expr)
        if value is None or value.kind != "uint" or not self.tested:
            return value
        low, high = narrowed(self.tested, value.expr, value.low, value.high)
        if (low, high) == (value.low, value.high):
            return value
        return replace(value, low=low, high=high, at_all=value.range)

    def _value(self, expr: tree.Expr) -> Value | None:
        match expr:
            case tree.Number() | tree.Address():
                return literal(expr)
            case tree.Path():
                return self.name(expr)
            case tree.Call():
                return self.call(expr)
            case tree.Binary(operator="/", left=tree.Address()):
                self.found.add(_prefix_computed(expr.span))
                return None
            case tree.Binary(operator=op) if op in PRECEDENCE:
                left, right = self._value(expr.left), self._value(expr.right)
                return computed(expr, left, right, self.tested, self.found)
            case tree.Unary(operator="~"):
                operand = self._value(expr.operand)
                return complement(expr, operand, self.found)
            case _:
                self.found.add(_no_value(expr.span))
                return None

    def compare(self, expr: tree.Binary) -> model.Compare | None:
        """`a = b` and the like; both sides of one kind, and the outcome not known beforehand."""
        left = self._value(expr.left)
        match expr.right:
            case tree.Binary(operator="/", left=tree.Address()):
                self.found.add(_prefix_compared(expr))
                return None
        right = self._value(expr.right)
        self._warn_of_alternatives(expr.right, expr.left.span)
        return self.compared(expr.operator, left, right, expr.span) if left and right else None

    def _warn_of_alternatives(self, expr: tree.Expr, left: Span) -> None:
        """`a = 6 | 17` compares with 23."""
        match expr:
            case tree.Binary(
                _, "|" | "&", tree.Number() | tree.Address(), tree.Number() | tree.Address()
            ) if value := self._value(expr):
                number = shown(value.low, value.kind)
                self.found.add(_no_alternatives(expr, left.text, number))

    def compared(
        self, operator: str, left: Value, right: Value, span: Span
    ) -> model.Compare | None:
        if left.kind != right.kind:
            first, second = (left, right) if left.literal else (right, left)
            self.found.add(
                errors.wrong_kind(first.span, KINDS[first.kind], KINDS[second.kind], second.span)
            )
            return None
        if "bytes" in (left.kind, right.kind):
            self.found.add(errors.unsupported(span, "comparing runs of bytes", _MATCHED))
            return None
        known, other = (left, right) if left.literal else (right, left)
        if known.literal and is_port(other.expr):
            self.found.add(_number_of_port(known.span, other))
            return None
        if known.literal and other.seen is not None and known.low > other.seen:
            self.found.add(errors.longer_than_frames(known.span, f"compares with {known.low:,}"))
            return None
        least, most = other.range
        if known.literal and not least <= known.low <= most:
            self.found.add(_never_differs(known.span, known.what, other))
            return None
        turned = operator if known is right else _TURNED.get(operator, operator)
        bound = {">": most, "<=": most, "<": least, ">=": least}.get(turned)
        if known.literal and known.low == bound:  # sound, if of no use
            never = _never_differs(known.span, known.what, other)
            self.found.add(replace(never, severity="warning"))
        return model.Compare(operator, left.expr, right.expr)  # type: ignore[arg-type]

    def contains(self, expr: tree.In) -> model.Condition | None:
        """`a in {6, 17, 40..50}`, `a in 10.0.0.0/8`: a comparison with each member."""
        subject = self._value(expr.subject)
        if subject is None:
            return None
        return self.among(subject, expr.members)

    def among(self, subject: Value, members: tuple[tree.Range, ...]) -> model.Condition | None:
        if len(members) > MOST_MEMBERS:
            self.found.add(_too_many_members(members[0].span, len(members)))
            return None
        for member in members:
            if member.high is None:
                self._warn_of_alternatives(member.low, subject.span)
        ways = dict.fromkeys(self._member(subject, member) for member in members)
        known = tuple(way for way in ways if way is not None)
        if len(known) < len(ways):
            return None
        if len(known) > FEW and (ranges := self._ranges(subject, members)):
            return model.Among(subject.expr, ranges)
        return known[0] if len(known) == 1 else model.Or(known)

    def _ranges(self, subject: Value, members: tuple[tree.Range, ...]) -> model.Ranges:
        """The members as ranges of numbers; none where one is known only of the packet."""
        ends = [self.ends(member) for member in members]
        known = [(e[0].low, e[1].high) for e in ends if e and e[0].literal and e[1].literal]
        return joined(known) if len(known) == len(ends) else ()

    def _member(self, subject: Value, member: tree.Range) -> model.Condition | None:
        ends = self.ends(member)
        if ends is None:
            return None
        low, high = ends
        if low is high:
            return self.compared("=", subject, low, member.span)
        above = self._bound(">=", subject, low, member.span)
        below = self._bound("<=", subject, high, member.span)
        if above is None or below is None:
            return None
        both = tuple(side for side in (above, below) if isinstance(side, model.Compare))
        if not both:
            what = f"`{member.span.text}`"
            self.found.add(_never_differs(member.span, what, subject))
            return None
        return both[0] if len(both) == 1 else model.And(both)

    def ends(self, member: tree.Range) -> tuple[Value, Value] | None:
        """The least and the greatest value, of one kind; the same where it is one."""
        match member.low:
            case tree.Binary(operator="/", left=tree.Address()) if member.high is None:
                return prefix(member.low, self.found)
        low = self._value(member.low)
        high = low if member.high is None else self._value(member.high)
        if low is None or high is None:
            return None
        if low.kind != high.kind:
            self.found.add(
                errors.wrong_kind(high.span, KINDS[high.kind], KINDS[low.kind], low.span)
            )
            return None
        if low.literal and high.literal and low.low > high.low:
            self.found.add(_empty_range(member.span, low, high))
            return None
        return low, high

    def _bound(
        self, operator: str, subject: Value, end: Value, span: Span
    ) -> model.Compare | bool | None:
        """One side of a range; True where all values of the subject are on that side."""
        extreme = subject.range[operator == "<="]
        if end.literal and end.kind == subject.kind and end.low == extreme:
            return True
        return self.compared(operator, subject, end, span)


# ---- errors ---------------------------------------------------------------------------------


def _no_value(span: Span) -> Diagnostic:
    return error(
        "H0241",
        "this is a condition, not a value",
        (span, "true or false"),
        help="use it in `if`, `accept` or `require`",
    )


def _never_differs(span: Span, value: str, other: Value) -> Diagnostic:
    """A comparison whose outcome is known."""
    least, most = (shown(end, other.kind) for end in other.range)
    return error(
        "H0243",
        f"this comparison with {value} is always the same",
        (span, f"{other.what} is always {least if least == most else f'{least} to {most}'}"),
        help="compare with a value in that range, or leave the comparison out",
    )


def _number_of_port(span: Span, port: Value) -> Diagnostic:
    return error(
        "H0509",
        "a port has no number that a pipeline knows",
        (span, "a number"),
        (port.span, "a port"),
        help="ask for its role, `port is lan`, or compare it with a port that was kept: "
        "`port = S.out`; a rule tells ports of a role apart: `match in exact port`",
    )


def _prefix_computed(span: Span) -> Diagnostic:
    return error(
        "H0239",
        "a prefix stands where an address is wanted",
        (span, "this is a set of addresses"),
        help=f"ask whether an address is in it: `a in {span.text}`",
    )


def _no_alternatives(expr: tree.Binary, left: str, value: str) -> Diagnostic:
    first, second = expr.left.span.text, expr.right.span.text
    help_ = f"write `{left} in {{ {first}, {second} }}` for one of the two"
    if expr.operator == "&":
        help_ = f"write `{left} & {second} = {first}` to compare under a mask"
    return error(
        "H0366",
        f"`{expr.span.text}` is the one value {value}",
        (expr.span, "computed before it is compared"),
        help=f"{help_}; or write the value itself",
        severity="warning",
    )


def _too_many_members(span: Span, count: int) -> Diagnostic:
    return error(
        "H0367",
        f"this set has {count} members",
        (span, f"at most {MOST_MEMBERS}"),
        help="let a rule match them, by `exact` or `lpm`: a table takes any number, and may change",
    )


def _empty_range(span: Span, low: Value, high: Value) -> Diagnostic:
    return error(
        "H0243",
        "this range is empty",
        (span, f"{low.what} is more than {high.what}"),
        help=f"write the smaller one first: `{high.span.text}..{low.span.text}`",
    )


def _prefix_compared(expr: tree.Binary) -> Diagnostic:
    return error(
        "H0239",
        "a prefix stands where an address is wanted",
        (expr.right.span, "this is a set of addresses"),
        help=f"write `{expr.left.span.text} in {expr.right.span.text}`",
    )
