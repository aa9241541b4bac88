"""Model conditions as C."""

from __future__ import annotations

from dataclasses import replace

from ..model import (
    And,
    Compare,
    Condition,
    Found,
    Header,
    IsFragment,
    IsLimited,
    IsLocal,
    IsMulticast,
    Not,
    Or,
    Packet,
    PortIs,
    Present,
)
from .fields import Value
from .ip import FRAGMENT
from .lowered import Writer
from .site import Site
from .values import value


def condition(site: Site, c: Condition, own: tuple[str, Header] | None = None) -> str | bool:
    """C text of a condition, or True or False where the port role decides it."""
    match c:
        case PortIs(role):
            return role == site.role
        case Found(rule):
            return _found(site, rule)
        case Present(node):
            return f"there({site.pointer(node)})" if site.may_have(node) else False
        case Compare(operator, left, right):
            return _compare(operator, value(site, left, own), value(site, right, own))
        case IsLocal(address):
            family = "6" if address.kind == "ip6" else ""
            return f"is_local{family}({value(site, address).network()})"
        case IsMulticast(Packet(node, name, _, kind) as address):
            field = site.header(node).field(name)
            first = f"RAW8({site.node(node)}, {field.offset // 8})"
            if field.group is not None:  # which starts elsewhere
                read = value(site, address)
                first = f"(u8)({f'{read.host()} >> 40' if kind == 'mac' else read.network()})"
            tests = {"mac": f"{first} & 1", "ip4": f"({first} & 0xf0) == 0xe0"}
            return f"({tests.get(kind, f'{first} == 0xff')}) != 0"
        case IsFragment(node):
            return f"({FRAGMENT['ipv4'].format(site.node(node))}) != 0"
        case IsLimited():
            return "!take_answer()"
        case Not(operand):
            inner = condition(site, operand, own)
            return not inner if isinstance(inner, bool) else f"!({inner})"
        case And(operands):
            return _join(site, operands, own, "&&")
        case Or(operands):
            return _join(site, operands, own, "||")


def _found(site: Site, rule: str) -> str:
    """Whether a look-up of that kind found a rule: by what the host keeps across stages."""
    prefix = site.tables[rule].manifest.prefix
    if site.card:
        return f"there(st->{prefix}_rule)"
    return f"{site.state(f'{prefix}_slot')} != 0"


def _compare(operator: str, left: Value, right: Value) -> str:
    c = {"=": "=="}.get(operator, operator)
    return f"{left.host()} {c} {right.host()}"


def _join(
    site: Site,
    operands: tuple[Condition, ...],
    own: tuple[str, Header] | None,
    operator: str,
) -> str | bool:
    deciding = operator == "||"  # the operand value that settles the whole
    texts: list[str] = []
    for node in sorted(_tested(operands)):  # a later operand may come to be asked in a branch
        if site.may_have(node):
            site.pointer(node)
    site, w = site.branch(), site.writer
    for operand in operands:
        mark, known = len(w.lines), set(site.known)
        inner = condition(site, operand, own)
        if texts and len(w.lines) > mark:  # statements of its own, to be carried out only then
            texts = [_asked(w, mark, f" {operator} ".join(texts), inner, deciding)]
            site.known = known | present_if(operand, not deciding)
            continue
        site.known |= present_if(operand, not deciding)
        if inner is deciding:
            if not texts:
                return deciding
            texts.append("1" if deciding else "0")
            break
        if not isinstance(inner, bool):
            texts.append(f"({inner})")
    return f" {operator} ".join(texts) if texts else not deciding


def _asked(w: Writer, mark: int, before: str, inner: str | bool, deciding: bool) -> str:
    """C name of a variable: whether `before` (if that settles it) or else `inner` holds, whose
    statements are the lines from `mark` on."""
    lines, name = w.lines[mark:], w.fresh("holds")
    del w.lines[mark:]
    w.put(f"u8 {name} = {before};")
    with w.nest(f"if ({'!' if deciding else ''}{name}) {{"):
        w.lines += [replace(line, depth=line.depth + 1) for line in lines]
        w.put(f"{name} = {inner if isinstance(inner, str) else int(inner)};")
    return name


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
