"""Finds the rules that a request means: by id, by name or by what they match, among the staged."""

from __future__ import annotations

from collections.abc import Mapping

from ...text.diagnostics import did_you_mean
from .ambiguous_rule import held_by_others, ids_of, listed_rules, nearest, no_match, several_meant
from .draft import Draft
from .fault_places import decode
from .ie_values import Fault
from .references import forward, not_owned, resolve_given
from .rule_node import Node
from .rule_warnings import match_fixed
from .rulekinds import Kind, Parts
from .rules import Reference, Rule
from .staged import Staged

#: Different priorities for each of which a rule is looked up.
_LEVELS = 256


def decoded(draft: Draft, node: Node) -> Parts:
    try:
        return decode(node)
    except Fault as fault:
        fault.node = node
        raise


def at_node(node: Node, fault: Fault) -> Fault:
    fault.node = node
    return fault


def shared_id(draft: Draft, node: Node) -> int:
    """The id of the rule that a bare `FAR 17` within another rule refers to."""
    item, kind = node.item, node.kind
    staged = draft.staged(kind.name)
    id_ = item.id if item.id is not None else staged.named(item.name or "")
    found = staged.known(id_) if id_ is not None else []
    if not found:
        said = item.id if item.id is not None else f"`{item.name}`"
        title = f"there is no {kind.name} {said}"
        help_ = f"create it first, or describe it here: {kind.name} {said} [(element, value)]"
        code = "H0441" if item.id is not None else "H0440"
        fault = at_node(node, Fault(code, title, "id", "no such rule", help_))
        return forward(draft, kind.name, item.id, item.name or "", fault).id
    try:
        not_owned(draft, Reference(kind.name, found[0].id), "id")
    except Fault as fault:
        raise at_node(node, fault) from None
    return found[0].id


def locate(draft: Draft, node: Node, parts: Parts) -> list[Rule]:
    """The rules that an update or delete means: by id, by name or by match. Never none."""
    kind, item = node.kind, node.item
    if item.id is None and item.name is None:
        return _by_match(draft, node, parts)
    staged = draft.staged(kind.name)
    id_ = item.id
    if id_ is None:
        id_ = staged.named(item.name or "")
    elif item.name is not None and staged.named(item.name) != id_:
        title = f"{kind.name} {id_} does not have the name `{item.name}`"
        raise Fault("H0450", title, "id", "", "write the id or the name alone")
    found = staged.with_id(id_) if id_ is not None else []
    if not found:
        said = item.id if item.id is not None else f"`{item.name}`"
        title = f"there is no {kind.name} {said}"
        names = [r.name for r in staged.table if r.name] if kind.rule.named else []
        help_ = did_you_mean(item.name or "", names)
        if item.name in ("all", "any"):
            help_ = f"all rules of a kind go by `replace {kind.name}`"
        raise Fault("H0450", title, "id", "no such rule", help_)
    if parts.named:
        same = [rule for rule in found if rule.match == parts.match]
        if not same:
            if not kind.grouped:
                raise match_fixed(found[0])
            raise no_match(draft, node, parts, found)
        found = same
    return found


def _by_match(draft: Draft, node: Node, parts: Parts) -> list[Rule]:
    kind = node.kind
    staged = draft.staged(kind.name)
    written = _deletes_spread(node)
    if not kind.keyed or not (parts.named or not kind.match or node.item.block or written):
        return [_only(draft, node, parts)]
    if kind.grouped or kind.has_priority:
        return _search(draft, node, parts, staged)
    found = staged.with_key(kind.key(parts.bits, 0, 0))
    if found is None:
        raise no_match(draft, node, parts)
    return [found]


def _only(draft: Draft, node: Node, parts: Parts) -> Rule:
    """Schema 1 has no ids: the only rule of the kind, or, of a kind that matches nothing, the
    only one to delete with these values. Rules that others own are theirs to speak of."""
    kind = node.kind
    every = live = sorted(_live(draft, kind), key=lambda rule: rule.id)
    which = node.operation == "delete" and not kind.match and bool(node.ies)
    which = which and not kind.grouped
    said = _elements_said(draft, kind, parts) if which else {}
    if which:
        live = [rule for rule in live if _has(rule, said)]
    held = [rule for rule in live if rule.owner]
    live = [rule for rule in live if not rule.owner]
    # A request to delete that says nothing is more likely unfinished than meant.
    if len(live) == 1 and (node.operation != "delete" or which):
        return live[0]
    if held and not live:
        raise held_by_others(draft, held)
    by = "its id" + (" or name" if kind.rule.named else "") + (
        ", or what it matches" if kind.match else "")  # fmt: skip
    rules = f"; it may be {listed_rules(draft, live)}" if live else ""
    title = f"which {kind.name}?"
    if not live:
        why = "none has these values" if which else "there is none"
        free = [rule for rule in every if not rule.owner]
        if near := nearest(draft, kind, set(said.items()), free):
            rules = f"; the nearest: {listed_rules(draft, near)}"
    elif len(live) == 1:
        why = "nothing says which"
    else:
        why = f"{len(live)} have these values" if which else f"there are {len(live)}"
        why += f": {ids_of(live)}"
    raise Fault("H0460", title, "kind", why, f"write {by}{rules}")


def _elements_said(draft: Draft, kind: Kind, parts: Parts) -> dict[str, int | Reference]:
    """The values and references that the IEs say, by element."""
    values, references = resolve_given(draft, kind, parts, {}, {})
    if kind.ifindex is not None and kind.ifindex[1] in references:
        values.pop(kind.ifindex[0], None)  # a second name of the interface, which agrees
    return {**values, **references}


def _live(draft: Draft, kind: Kind) -> list[Rule]:
    staged = draft.staged(kind.name)
    staged.scanned = True
    handles = dict.fromkeys([*staged.table.rules, *staged.rules])
    return [rule for h in handles if (rule := staged.get(h)) is not None]


def _search(draft: Draft, node: Node, parts: Parts, staged: Staged) -> list[Rule]:
    """Rules by match alone where the image holds more: the id of a group, which makes it look
    at every rule of the kind, or a priority."""
    kind = node.kind
    if parts.priority is not None and not kind.grouped:
        exact = staged.with_key(kind.key(parts.bits, 0, parts.priority))
        if exact is not None:
            return [exact]
    match = parts.match
    levels = () if kind.grouped else staged.table.priorities() | staged.levels
    if kind.grouped or len(levels) > _LEVELS:
        found = [rule for rule in _live(draft, kind) if rule.match == match]
    else:
        staged.scanned = True  # a rule at another priority would be meant too
        keys = (kind.key(parts.bits, 0, level) for level in levels)
        found = [rule for key in keys if (rule := staged.with_key(key)) is not None]
        found.sort(key=lambda rule: rule.sequence)
    if not found:
        raise no_match(draft, node, parts)
    if kind.grouped:  # what others hold is theirs to speak of
        found = [rule for rule in found if not rule.owner] or found
    if _deletes_spread(node):
        written = [rule for rule in found if _has_members(draft, node, rule)]
        if not written:
            title = f"no {kind.name} has exactly that match and these members"
            raise no_match(draft, node, parts, found, title)
        found = written
    if len(found) > 1:
        raise several_meant(draft, node, found)
    return found


def _has_members(draft: Draft, node: Node, rule: Rule) -> bool:
    """Whether the members of a spread are those that are written, with these weights."""
    left = {member.id: member.weight for member in rule.members}
    for child in node.children:
        parts = decoded(draft, child)
        id_ = _member_of(draft, child, parts, rule, left)
        if id_ is None or left.pop(id_) != (1 if parts.weight is None else parts.weight):
            return False
    return not left


def _member_of(
    draft: Draft, child: Node, parts: Parts, rule: Rule, left: Mapping[int, int]
) -> int | None:
    """Which of these members is written: by id, by name, or one that the rule owns by what it
    says."""
    item, staged = child.item, draft.staged(child.kind.name)
    if child.same is not None or item.id is not None or item.name is not None:
        id_ = child.same.id if child.same is not None else item.id
        id_ = staged.named(item.name or "") if id_ is None else id_
        return id_ if id_ is not None and id_ in left else None
    said = _elements_said(draft, child.kind, parts)
    own = (each for id_ in left for each in staged.with_id(id_) if each.owner == rule.sequence)
    return next((each.id for each in own if _has(each, said)), None)


def _deletes_spread(node: Node) -> bool:
    """Without an id: the members that it writes are all of those of the rule that is meant."""
    return node.operation == "delete" and node.kind.spread is not None and bool(node.children)


def _has(rule: Rule, said: Mapping[str, int | Reference]) -> bool:
    return said.items() <= dict((*rule.values, *rule.references)).items()
