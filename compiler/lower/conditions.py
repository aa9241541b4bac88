"""Model conditions as expressions."""

from __future__ import annotations

from collections.abc import Iterable

from ...lang.contract.base.lists import bytes_of
from ..headers.fragments import FRAGMENT
from ..ir.builder import Builder
from ..ir.expr import Call, Cast, Expr, NotNull, Which, binary, load, not_, number
from ..ir.expr_builders import both, either
from ..ir.nodes import MakePointer, Opaque
from ..ir.promotion import may_be_negative
from ..ir.types import U8, U32, Int, Operator
from ..ir.values import Value
from ..model import (
    Among,
    And,
    Compare,
    Condition,
    Found,
    Header,
    IsFragment,
    IsLimited,
    IsLocal,
    IsMulticast,
    Metered,
    Not,
    Or,
    Packet,
    Pick,
    PortIs,
    Present,
    asked_by,
)
from .context import LoweringContext
from .meters import colour
from .values import value


def condition(
    site: LoweringContext, c: Condition, own: tuple[Expr, Header] | None = None
) -> Expr | bool:
    """The condition, or True or False where the port role decides it."""
    match c:
        case PortIs(role):
            return role == site.role
        case Found(rule):
            return _found(site, rule)
        case Present(node):
            return NotNull(site.pointer(node)) if site.may_have(node) else False
        case Compare(operator, left, right):
            return _compare(operator, value(site, left, own), value(site, right, own))
        case Among(subject, ranges):
            return which(value(site, subject, own), ((low, high, 1) for low, high in ranges))
        case IsLocal(address):
            family = "6" if address.kind == "ip6" else ""
            return Call(f"is_local{family}", (value(site, address).network(),))
        case IsMulticast(address):
            return _is_multicast(site, address)
        case IsFragment(node):
            return FRAGMENT["ipv4"](site.node(node)).is_not(0)
        case IsLimited():
            return not_(Call("take_answer", ()))
        case Metered():
            return colour(site, c)
        case Not(operand):
            inner = condition(site, operand, own)
            return not inner if isinstance(inner, bool) else not_(inner)
        case And(operands):
            return _join(site, operands, own, all_of=True)
        case Or(operands):
            return _join(site, operands, own, all_of=False)


def which(value: Value, ranges: Iterable[tuple[int, int, int]]) -> Which:
    """The number of the range that a value lies in."""
    host = value.host()
    return Which(Cast(U32, host) if may_be_negative(host) else host, tuple(ranges))


def _is_multicast(site: LoweringContext, address: Packet) -> Expr:
    """By the first byte of the address."""
    field = site.header(address.node).field(address.field)
    first: Expr = load(site.node(address.node), field.offset // 8, 8)
    if field.group is not None:  # which starts elsewhere
        read = value(site, address)
        first = Cast(U8, read.host() >> 40 if address.kind == "mac" else read.network())
    if address.kind == "mac":
        return (first & 1).is_not(0)
    return (first & 0xF0).is_(0xE0) if address.kind == "ip4" else first.is_(0xFF)


def _found(site: LoweringContext, rule: str) -> Expr:
    """Whether a look-up of that kind found a rule: by what the host keeps across stages."""
    if site.card:
        return NotNull(site.rule_record(rule))
    return site.state(f"{site.tables[rule].manifest.prefix}_slot").is_not(0)


def _compare(operator: str, left: Value, right: Value) -> Expr:
    known: dict[str, Operator] = {"=": "==", "!=": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
    return binary(known[operator], left.host(), right.host())


def _join(
    site: LoweringContext,
    operands: tuple[Condition, ...],
    own: tuple[Expr, Header] | None,
    all_of: bool,
) -> Expr | bool:
    deciding = not all_of  # the operand value that settles the whole
    joined = both if all_of else either
    found: list[Expr] = []
    for node in sorted(_tested(operands)):  # a later operand may come to be asked in a branch
        if site.may_have(node):
            site.writer.put(MakePointer(site.pointer(node)))
    site, w = site.branch(), site.writer
    for operand in operands:
        mark, known = len(w.statements), set(site.known)
        inner = condition(site, operand, own)
        if found and len(w.statements) > mark:  # to be carried out only then
            found = [_asked(w, mark, joined(found), inner, deciding)]
            site.known = known
            _found_by(site, operand, not deciding)
            continue
        _found_by(site, operand, not deciding)
        if inner is deciding:
            if not found:
                return deciding
            found.append(number(deciding))
            break
        if not isinstance(inner, bool):
            found.append(inner)
    return joined(found) if found else not deciding


def _found_by(site: LoweringContext, operand: Condition, truth: bool) -> None:
    """Behind an operand that came out so the condition knows some nodes."""
    found = present_if(operand, truth)
    site.known |= found
    site.tested |= found


def _asked(w: Builder, mark: int, before: Expr, inner: Expr | bool, deciding: bool) -> Expr:
    """A variable: whether `before` (if that settles it) or else `inner` holds, whose statements are
    those from `mark` on."""
    statements = w.statements[mark:]
    del w.statements[mark:]
    holds = w.local(U8, "holds", before)
    with w.when(not_(holds) if deciding else holds):
        w.statements += statements
        w.set(holds, int(inner) if isinstance(inner, bool) else inner)
    return holds


def _tested(conditions: tuple[Condition, ...]) -> set[str]:
    """Nodes that are asked for."""
    found: set[str] = set()
    for c in conditions:
        match c:
            case Present(node):
                found.add(node)
            case Not(operand):
                found |= _tested((operand,))
            case And(operands) | Or(operands):
                found |= _tested(operands)
    return found


def present_if(c: Condition, truth: bool) -> frozenset[str]:
    """Nodes that are surely present where the condition came out as `truth`."""
    match c:
        case Present(node):
            return frozenset({node}) if truth else frozenset()
        case Not(operand):
            return present_if(operand, not truth)
        case And(operands) if truth:
            return frozenset().union(*(present_if(o, True) for o in operands))
        case Or(operands) if not truth:
            return frozenset().union(*(present_if(o, False) for o in operands))
    return frozenset()


def pick(site: LoweringContext, expr: Pick) -> Value:
    """What each side reads is read in a branch of its own."""
    w, bits = site.writer, bytes_of(expr.width) * 8
    asked = asked_by(expr)
    test = condition(site, asked)
    if isinstance(test, bool):  # the port role decides
        return value(site, expr.then if test else expr.otherwise)
    picked = w.local(Int(bits), "picked")
    with w.when(test):
        w.set(picked, value(site.branch(present_if(asked, True)), expr.then).host())
        w.put(Opaque(picked, "two loads, or clang makes one of an address that it chooses"))
    with w.otherwise():
        w.set(picked, value(site.branch(present_if(asked, False)), expr.otherwise).host())
    return Value(picked, bits)
