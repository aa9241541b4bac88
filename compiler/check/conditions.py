"""Conditions of stages: what they say, and which packets are left where they hold."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ...lang import tree
from ...lang.text.diagnostics import Diagnostic, error, listed
from ...lang.text.source import Span
from .. import model
from . import errors
from .flow import Narrowed, Scope, State, knowing, split, split_by
from .meters import COLOURS, metered
from .packets import PacketNames, option_of
from .stage_names import StageNames
from .stage_program import Program
from .values import Value

#: What `is` asks, but for roles of ports.
_TESTS = ("local", "multicast", "fragment", "limited")


def narrow(program: Program, expr: tree.Expr, state: State, scope: Scope) -> Narrowed:
    return _narrow(program, expr, state, replace(scope, come=state))


def _narrow(program: Program, expr: tree.Expr, state: State, scope: Scope) -> Narrowed:
    match expr:
        case tree.Unary(operator="not", operand=operand):
            inner = _narrow(program, operand, state, scope)
            negated = model.Not(inner.condition) if inner.condition else None
            return Narrowed(negated, inner.no, inner.yes)
        case tree.Binary(operator="and"):
            left = _narrow(program, expr.left, state, scope)
            right = _narrow(program, expr.right, left.yes, knowing(scope, left, True))
            both = model.And(_operands(left, right)) if left.condition and right.condition else None
            return Narrowed(both, right.yes, left.no | right.no)
        case tree.Binary(operator="or"):
            left = _narrow(program, expr.left, state, scope)
            if (half := _half_said(program, expr, scope)) is not None:
                program.report(half)
                program.unsure = True
                return Narrowed(None, state, state)
            right = _narrow(program, expr.right, left.no, knowing(scope, left, False))
            one = model.Or(_operands(left, right)) if left.condition and right.condition else None
            return Narrowed(one, left.yes | right.yes, right.no)
        case tree.Binary(operator="=" | "!=" | "<" | "<=" | ">" | ">="):
            names = StageNames(program, state, scope)
            return Narrowed(names.expressions.compare(expr), state, state)
        case tree.In():
            names = StageNames(program, state, scope)
            return Narrowed(names.expressions.contains(expr), state, state)
        case tree.Is():
            return _is(program, expr, state, scope)
        case tree.Metered():
            return Narrowed(metered(program, expr, state, scope), state, state)
        case tree.Gives():
            program.report(
                errors.unsupported(
                    expr.span,
                    "`gives` as a part of a condition",
                    "write an `if` of its own: `if PDR gives FAR {…}`",
                )
            )
            return Narrowed(None, state, state)
        case tree.Path(parts=(name,)) if name.text in program.registers:
            return _plain_value(program, expr, state, scope)
        case tree.Path(parts=(name,)) if (
            name.text not in (*scope.names, *scope.values) and name.text not in program.rules.known
        ):
            return _present(program, name, state)
        case tree.Path(parts=(name, _), index=None) if _has_options(program, expr, scope):
            return _has_option(program, expr, state)
        case tree.Path(parts=(name,)) if name.text in program.rules.known:
            return _found(program, name, state, scope)
        case _:
            return _plain_value(program, expr, state, scope)


def _half_said(program: Program, expr: tree.Binary, scope: Scope) -> Diagnostic | None:
    """`meter PDR is green or yellow`, `user.dst is local or multicast`: of the second one nothing
    says what it is asked of."""
    last, right = expr.left, expr.right
    while isinstance(last, tree.Binary) and last.operator in ("or", "and"):
        last = last.right
    if not isinstance(right, tree.Path) or len(right.parts) > 1:
        return None
    name = right.parts[0]
    match last:
        case tree.Metered() if name.text in COLOURS:
            help = f"several colours stand with `|` between: `{last.span.text} | {name.text}`"
        case tree.Is() if name.text in (*_TESTS, *program.roles):
            help = (
                f"say what is asked, too: `{last.span.text} or {last.subject.text} is {name.text}`"
            )
        case _:
            return None
    nodes = {node.name for node in program.checked.graph.nodes}
    if name.text in nodes | scope.names.keys() | scope.values.keys():
        return None
    return errors.unknown("node", name, (), help)


def _operands(left: Narrowed, right: Narrowed) -> tuple[model.Condition, ...]:
    assert left.condition and right.condition
    return left.condition, right.condition


def _present(program: Program, name: tree.Name, state: State) -> Narrowed:
    """`if udp`."""
    if name.text in program.states:
        program.report(errors.is_state(name))
        return Narrowed(None, state, state)
    node = PacketNames(program.checked, program.found).node(name)
    if node is None:
        program.unsure = True
        return Narrowed(None, state, state)
    bit = program.bit(node.name)
    if any(w.pushed & bit for w in state):
        program.report(errors.pushed_read(name.span, node.name, program.pushes[node.name]))
    yes, no = split(state, lambda w: bool(w.present & bit))
    return Narrowed(model.Present(node.name), yes, no)


def _has_options(program: Program, path: tree.Path, scope: Scope) -> bool:
    """Whether a path names an option of a header: `tcp.mss`."""
    name = path.parts[0].text
    nodes = {n.name: n for n in program.checked.graph.nodes}
    other = name in (*scope.names, *scope.values) or name in program.rules.known
    return name in nodes and not other and option_of(nodes[name].header, path) is not None


def _has_option(program: Program, path: tree.Path, state: State) -> Narrowed:
    """`if tcp.mss`: whether the packet has the header, and that the option."""
    node = _present(program, path.parts[0], state)
    if node.condition is None:
        return node
    there = model.HasOption(path.parts[0].text, path.parts[1].text)
    has = model.Compare("=", there, model.Const(1, 1))
    return Narrowed(model.And((node.condition, has)), node.yes, state)


def _found(program: Program, name: tree.Name, state: State, scope: Scope) -> Narrowed:
    """`if PDR`: whether one was found. As a part of `A or PDR` it may be asked only of packets for
    which nobody looked it up: there it is not."""
    known = scope.names.get(name.text)
    if known is not None and known.name != name.text:
        program.report(errors.no_condition(name.span, "an argument is always there"))
        return Narrowed(None, state, state)
    yes, no = split_by(state, name.text)
    anywhere, _ = split_by(scope.come, name.text)
    if state and not anywhere and not program.unsure:  # nobody looked it up
        program.report(errors.not_bound(name.span, name.text, program.missed.get(name.text)))
        program.unsure = True
        return Narrowed(None, state, state)
    return Narrowed(model.Found(name.text), yes, no)


def _plain_value(program: Program, expr: tree.Expr, state: State, scope: Scope) -> Narrowed:
    value = StageNames(program, state, scope).expressions.value(expr)
    if value is not None:
        help = f"compare it: `{expr.span.text} = {1 if value.width == 1 else '…'}`"
        if value.literal:
            help = f"write `A in {{ B, {expr.span.text} }}` for one of several values"
        program.report(errors.no_condition(expr.span, help))
    return Narrowed(None, state, state)


def _is(program: Program, expr: tree.Is, state: State, scope: Scope) -> Narrowed:
    subject, what = expr.subject, expr.what
    if subject.text == "port":
        return _port_is(program, what, state)
    if what.text == "local":
        value = StageNames(program, state, scope).name(subject)
        return Narrowed(_local(program, value, subject.span), state, state)
    if what.text == "multicast":
        value = StageNames(program, state, scope).name(subject)
        return Narrowed(_multicast(program, value, subject.span), state, state)
    if what.text == "fragment":
        return _fragment(program, subject, state, scope)
    if what.text == "limited":
        return Narrowed(_limited(program, expr), state, state)
    nodes = {node.name for node in program.checked.graph.nodes}
    program.report(errors.unknown("test", what, _TESTS, _asked_otherwise(what.text, nodes)))
    return Narrowed(None, state, state)


def _asked_otherwise(what: str, nodes: set[str]) -> str:
    """How to ask what no `is` asks."""
    if what in nodes:
        return f"the name of a node asks whether a packet has it: `if {what} {{…}}`"
    if what == "broadcast":
        return "broadcasts are among those of `ADDRESS is multicast`"
    if what in ("private", "loopback", "public"):
        return "name the prefixes: `user.src in { 10.0.0.0/8, 192.168.0.0/16 }`"
    return (
        "write `ADDRESS is local`, `ADDRESS is multicast`, `NODE is fragment`, `port is ROLE`, "
        "`error is limited`"
    )


def _port_is(program: Program, role: tree.Name, state: State) -> Narrowed:
    if role.text not in program.roles:
        program.report(
            errors.unknown(
                "port role", role, program.roles, f"the roles are {', '.join(program.roles)}"
            )
        )
        program.unsure = True
        return Narrowed(None, state, state)
    yes, no = split(state, lambda w: w.role == role.text)
    return Narrowed(model.PortIs(role.text), yes, no)


def _local(program: Program, value: Value | None, span: Span) -> model.Condition | None:
    if value is None:
        return None
    if not isinstance(value.expr, model.Packet) or value.kind not in ("ip4", "ip6"):
        program.report(_has_no(span, "local", "an IP address of the packet"))
        return None
    return model.IsLocal(value.expr)


def _multicast(program: Program, value: Value | None, span: Span) -> model.Condition | None:
    if value is None:
        return None
    if not isinstance(value.expr, model.Packet) or value.kind not in ("mac", "ip4", "ip6"):
        program.report(_has_no(span, "multicast", "an address of the packet"))
        return None
    return model.IsMulticast(value.expr)


def _limited(program: Program, expr: tree.Is) -> model.Condition | None:
    if expr.subject.text != "error":
        program.report(_has_no(expr.subject.span, "limited", "`error`"))
        return None
    return model.IsLimited(expr.span)


def _fragment(program: Program, subject: tree.Path, state: State, scope: Scope) -> Narrowed:
    nodes = {n.name: n for n in program.checked.graph.nodes}
    node = nodes.get(subject.text)
    fragments = [n.name for n in nodes.values() if n.header.protocol == "ipv4"]
    if len(subject.parts) == 1 and node is None:
        StageNames(program, state, scope).unknown(subject.parts[0])
        return Narrowed(None, state, state)
    if node is None or node.name not in fragments:
        program.report(_has_no(subject.span, "fragment", "an `ipv4` node", fragments))
        return Narrowed(None, state, state)
    StageNames(program, state, scope).present(node.name, subject.span)
    return Narrowed(model.IsFragment(node.name), state, state)


# ---- errors ---------------------------------------------------------------------------------


def _has_no(subject: Span, what: str, expected: str, candidates: Iterable[str] = ()) -> Diagnostic:
    """`x is local` of something that is no address, `x is fragment` of no IPv4 node …"""
    names = list(candidates)
    otherwise = "ask something else of it"
    if what == "fragment":
        otherwise = "a fragment of IPv6 has a header of its own: `if ipv6_fragment {…}`"
    return error(
        "H0268",
        f"only {expected} can be `{what}`",
        (subject, f"this is not {expected}"),
        help=f"choose among {listed(names)}" if names else otherwise,
    )
