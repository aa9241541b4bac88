"""Errors and warnings of a single rule, compared with the staged tables."""

from __future__ import annotations

from collections.abc import Sequence

from ..request.request import is_name
from .ambiguous_rule import shown_rule
from .draft import Draft
from .ie_values import Fault, fold
from .kind_fields import Pairs
from .never_match import asks, no_such_packet
from .rule_node import Node
from .rulekinds import Kind, Parts, purpose
from .rules import Rule
from .rules_in_force import RulesInForce

_NAME_BYTES = 63


def warn_of_no_match(draft: Draft, rule: Rule, node: Node, parts: Parts) -> None:
    """Warn where no packet has all that it matches, where another rule takes all of its packets
    by other elements, or it takes that one's."""
    kind, staged = node.kind, draft.staged(rule.kind)
    for i, j, nodes in kind.exclusive_pairs:
        a, b = parts.pairs[i], parts.pairs[j]
        if a and b and asks(a[1]) and asks(b[1]):
            fault = no_such_packet(f"{kind.name} {rule.id} never matches", a[0], b[0], nodes)
            draft.warnings.append((fault, node.place))
    if kind.arriving and (strange := another_role(draft.book, kind, parts.pairs)):
        draft.warnings.append((strange, node.place))
    for bits in kind.respelled(parts.bits, parts.pairs):
        key = kind.key(bits, rule.id, rule.priority)
        other = staged.with_key(key)
        if other is not None:
            older, younger = sorted((rule, other), key=lambda each: each.sequence)
            one, two = f"{kind.name} {younger.id}", f"{kind.name} {older.id}"
            title = f"{one} never matches: {two}, which is older, takes the same packets"
            help_ = f"delete one of them; the other one is {shown_rule(draft, other)}"
            draft.warnings.append(
                (Fault("H0463", title, "rule", "the same packets", help_), node.place)
            )


def another_role(book: RulesInForce, kind: Kind, pairs: Pairs) -> Fault | None:
    """A warning where a rule matches the port of arrival, and is looked up only for packets that
    come by ports of other roles. `pairs`: what it matches."""
    for place in kind.arriving:
        said = pairs[place]
        if not said or said[1].form != "value":
            continue
        role, roles = book.roles.get(said[1].value), kind.rule.match[place].roles
        if role and role not in roles:
            return wrong_port(book, kind.name, said[1].value, roles)
    return None


def wrong_port(book: RulesInForce, kind: str, port: int, roles: Sequence[str]) -> Fault:
    what = f"`{book.port_names[port]}` is a port of role {book.roles[port]}"
    only = " or ".join(roles)
    title = f"no packet finds this {kind}: {what}, and {kind} is for packets of role {only}"
    names = sorted(name for name, number in book.ports.items() if book.roles.get(number) in roles)
    help_ = f"ports of role {only}: {', '.join(names)}" if names else ""
    return Fault("H0466", title, "rule", f"a port of role {book.roles[port]}", help_)


def note_repeated(draft: Draft, rule: Rule, node: Node) -> None:
    """Warn where only the ids tell two rules apart, and the request says none."""
    other = draft.staged(rule.kind).like(rule)
    if other is not None:
        one, two = f"{rule.kind} {rule.id}", f"{rule.kind} {other.id}"
        title = f"{one} says the same as {two}: by content a request cannot mean either"
        help_ = f"leave it out and use {two}, or update and delete them by their ids"
        fault = Fault("H0464", title, "rule", "said before", help_)
        draft.repeated.append((other, fault, node.place))


def warn_of_repeated(draft: Draft) -> None:
    """Of what is the same as rules that are still there: a replace removes at last."""
    for other, fault, item in draft.repeated:
        draft.pause()
        if other in draft.staged(other.kind).known(other.id):
            draft.warnings.append((fault, item))


def name_free(draft: Draft, node: Node) -> None:
    kind, name = node.kind, node.item.name or ""
    if not kind.rule.named:
        title = f"{kind.name} rules have no names"
        help_ = f"write the id, a number, or {kind.name}: {name} for a rule within it"
        raise Fault("H0459", title, "name", "only `named` kinds have", help_)
    if len(name.encode()) > _NAME_BYTES or not name.strip() or not is_name(name):
        title = "a name has 1 to 63 bytes that can be printed, and no quotation mark"
        raise Fault("H0459", title, "name", "not such a name")
    taken = draft.staged(kind.name).named(name)
    if taken is not None:
        title = f"{kind.name} {taken} has the name `{name}`"
        raise Fault("H0453", title, "name", "this name is in use", "names ignore case, - and _")
    if kind.beside_ports and (ports := draft.book.folded_ports.get(fold(name))):
        title = f"the port {draft.book.port_names[ports[0]]} has the name `{name}`"
        help_ = "a rule that names an interface would mean either: choose another name"
        raise Fault("H0453", title, "name", "this name is a port's", help_)


def members_fit(kind: Kind, count: int) -> None:
    spread = kind.spread
    assert spread is not None
    if spread.least <= count <= spread.most:
        return
    verb = "lists" if spread.listed else "spreads over"
    title = f"{kind.name} {verb} {spread.least} to {spread.most} {spread.kind}s, not {count}"
    few = count < spread.least
    help_ = f"name a {spread.kind} in it: {spread.kind} 1" if few else "leave some out"
    raise Fault("H0435", title, "rule", "too few" if few else "too many", help_)


def duplicate(draft: Draft, other: Rule) -> Fault:
    title = f"{other.kind} {other.id} matches the same already"
    help_ = f"update {other.kind} {other.id}, or make the match differ"
    if says := purpose(draft.book.manifest.rule(other.kind)):
        help_ += f". {other.kind}: {says}"
    return Fault("H0452", title, "rule", "a duplicate", help_)


def match_fixed(rule: Rule) -> Fault:
    title = f"{rule.kind} {rule.id} matches something else, and an update cannot change that"
    help_ = "leave the match out, or delete the rule and create it anew"
    return Fault("H0456", title, "rule", "not its match", help_)


def full(kind: Kind, count: int) -> Fault:
    """So many rules do not fit its table."""
    capacity = kind.rule.capacity
    title = f"{kind.name} is full: it holds {capacity} rules"
    help_ = f"delete {count - capacity} first, or raise rule {kind.name} [{capacity}]"
    return Fault("H0454", title, "kind", f"{count} rules", help_)
