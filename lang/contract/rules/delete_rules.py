"""Deletes and replaces rules in the staged tables."""

from __future__ import annotations

from itertools import chain, islice

from .draft import Draft
from .find_rules import at_node, decoded, locate, shared_id
from .ie_values import Fault
from .references import describe
from .rule_node import Node
from .rule_text import rest_of
from .rule_warnings import duplicate, members_fit
from .rulekinds import Kind
from .rules import Reference, Rule

_POINTERS_NAMED = 3


def remove(draft: Draft, rule: Rule) -> None:
    """Stage the removal of a rule and of what it owns. What points at it then is looked at when
    all of the request is planned."""
    kind = draft.book.kinds[rule.kind]
    staged = draft.staged(rule.kind)
    staged.remove(rule)
    draft.results.pop(rule.sequence, None)
    if staged.points(rule.id) and not staged.exists(rule.id):
        draft.dangling.append((rule, draft.node))
    count_references(draft, rule, -1)
    _remove_owned(draft, kind, rule)


def _remove_owned(draft: Draft, kind: Kind, rule: Rule) -> None:
    for reference in kind.owned_by(rule):
        for owned in draft.staged(reference.kind).known(reference.id):
            if owned.owner == rule.sequence:
                remove(draft, owned)


def replace_rule(draft: Draft, old: Rule, new: Rule) -> None:
    """Stage `new` for `old`: same id, same match."""
    kind = draft.book.kinds[old.kind]
    into = draft.staged(old.kind)
    if new.priority != old.priority and kind.keyed:
        other = into.with_key(kind.key_of(new))
        if other is not None:
            raise duplicate(draft, other)
    into.change(old, new)
    if (new.references, new.target, new.members) != (old.references, old.target, old.members):
        count_references(draft, new, 1)
        count_references(draft, old, -1)


def count_references(draft: Draft, rule: Rule, by: int) -> None:
    """Count the references that a rule makes (or, with -1, made)."""
    for _, reference in rule.references:
        if reference.kind != "port":
            draft.staged(reference.kind).point(reference.id, by)
    if rule.target is not None:
        draft.staged(rule.target.kind).point(rule.target.id, by)
    if rule.members:
        spread = draft.book.kinds[rule.kind].spread
        assert spread is not None
        into = draft.staged(spread.kind)
        for member in rule.members:
            into.point(member.id, by)


def pointed_at(draft: Draft, rule: Rule) -> Fault:
    reference, names, holder = Reference(rule.kind, rule.id), list[str](), ""
    more = draft.staged(rule.kind).points(rule.id)
    referring = chain.from_iterable(
        draft.staged(kind).referring(reference) for kind in draft.book.kinds
    )
    for other in islice(referring, _POINTERS_NAMED):
        names.append(f"{other.kind} {other.id}")
        if rule.owner == other.sequence:
            holder = names[-1]
        more -= sum(each == reference for each in draft.book.kinds[other.kind].owned_by(other))
    who = ", ".join(names) + (f" and {more} more" if more else "")
    title = f"{rule.kind} {rule.id} is still pointed at by {who}"
    help_ = f"delete {names[0]} too, in the same request if need be" if names else ""
    if holder:  # deleted in the same request, it takes the rule along
        help_ = f"{holder} holds it: delete that, or `update {rule.kind} {rule.id} […]`"
    return Fault("H0455", title, "id", "still in use", help_)


def delete(draft: Draft, node: Node) -> None:
    """Stage the removal of the rules that are meant, or of the members that are named."""
    parts = decoded(draft, node)
    found = locate(draft, node, parts)
    draft.warnings += parts.ignored
    for child in node.children:
        draft.warnings += decoded(draft, child).ignored
    named = _named(draft, node)
    for rule in found:
        node.id = rule.id
        if node.kind.spread is None:
            _gives_that(draft, rule, named)
            remove(draft, rule)
        elif named and (node.item.id is not None or node.item.name is not None):
            _drop_members(draft, node, rule, named)
        else:
            remove(draft, rule)


def _named(draft: Draft, node: Node) -> dict[int, Node]:
    """The rules within this one that are named, or have their ids said."""
    found = {}
    for child in node.children:
        said = child.item.id is not None or child.item.name is not None
        if said and child.kind.name in node.kind.children:
            id_ = child.item.id
            found[shared_id(draft, child) if id_ is None else id_] = child
    return found


def _drop_members(draft: Draft, node: Node, rule: Rule, named: dict[int, Node]) -> None:
    ids = {member.id for member in rule.members}
    for id_, child in named.items():
        if id_ not in ids:
            title = f"{child.kind.name} {id_} is no member of {rule.kind} {rule.id}"
            raise at_node(child, Fault("H0450", title, "id", "no such member"))
    left = tuple([member for member in rule.members if member.id not in named])
    if not left:
        remove(draft, rule)
        return
    members_fit(node.kind, len(left))
    replace_rule(draft, rule, rule._replace(members=left))
    for id_, child in named.items():
        for member in draft.staged(child.kind.name).with_id(id_):
            if member.owner == rule.sequence:
                remove(draft, member)


def _gives_that(draft: Draft, rule: Rule, named: dict[int, Node]) -> None:
    given = {rule.target}
    if rule.target is not None and (spread := draft.book.kinds[rule.target.kind].spread):
        rest = rest_of(draft.staged(rule.target.kind).known(rule.target.id))
        given |= {Reference(spread.kind, m.id) for m in rest.members} if rest else set()
    for id_, child in named.items():
        if Reference(child.kind.name, id_) not in given:
            gives = describe(draft, rule.target) if rule.target else "nothing"
            title = f"{rule.kind} {rule.id} gives {gives}, not {child.kind.name} {id_}"
            raise at_node(child, Fault("H0462", title, "id", "not what it gives"))
