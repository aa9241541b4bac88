"""Creates and changes rules in the staged tables, with the rules that stand within them."""

from __future__ import annotations

from .ambiguous_rule import no_match, several_meant
from .delete_rules import count_references, remove, replace_rule
from .draft import Draft
from .fault_places import complete, decode, has_keys
from .find_rules import at_node, decoded, locate, shared_id
from .ie_values import Fault
from .references import resolve_given
from .rule_node import Node
from .rule_text import rest_of
from .rule_warnings import (
    duplicate,
    match_fixed,
    members_fit,
    name_free,
    note_repeated,
    warn_of_no_match,
)
from .rulekinds import Parts, rule_of
from .rules import Member, Reference, Rule

_IDS = 1 << 32


def create(draft: Draft, node: Node, owner: int = 0) -> int:
    """Stage a new rule; its id."""
    try:
        return make(draft, node, decode(node), owner)
    except Fault as fault:
        if fault.node is None:
            fault.node = node
        raise


def make(draft: Draft, node: Node, parts: Parts, owner: int, keep: Rule | None = None) -> int:
    """`keep`: what stood there, whose id and sequence the new rule takes over."""
    kind, item = node.kind, node.item
    draft.warnings += parts.ignored
    staged = draft.staged(kind.name)
    id_, name = item.id, item.name or ""
    if name:
        name_free(draft, node)
    if keep is not None:
        id_, name = keep.id, name or keep.name
    elif id_ is None and node.entry_of is not None:
        id_ = node.entry_of.id
    elif id_ is None:
        id_ = staged.id_of(name) if name else staged.allot()
    elif not 0 < id_ < _IDS:
        raise Fault("H0458", f"{id_} is no id", "id", "out of range", "ids are 1 to 4294967295")
    elif not kind.grouped and staged.get(id_) is not None:
        help_ = f"update {kind.name} {id_} to change it, or leave the id out to be given one"
        raise Fault("H0451", f"{kind.name} {id_} exists", "id", "this id is in use", help_)
    if kind.exact:
        has_keys(kind, parts)
    priority = parts.priority or 0
    key = kind.key(parts.bits, id_, priority) if kind.keyed else b""
    if kind.keyed:
        other = staged.with_key(key)
        if other is not None:
            raise duplicate(draft, other)
    if keep is not None:
        sequence = keep.sequence
    else:
        sequence = draft.sequence
        draft.sequence = sequence + 1
        draft.results[sequence] = Reference(kind.name, id_)
    node.id = id_
    if kind.rule.gives:
        values, references = resolve_given(draft, kind, parts, {}, {})
        complete(kind, values, references)
    else:
        values, references = dict[str, int](), dict[str, Reference]()
    target: Reference | None = None
    members: tuple[Member, ...] = ()
    if kind.children:
        # Its id is taken while what it owns is made.
        holder = Rule(kind.name, id_, sequence)
        staged.add(holder, key)
        target, members = _children(draft, node, sequence, keep)
        staged.forget(holder, key)
    rule = rule_of(
        kind, id_, sequence, name, owner, priority, parts.match, values, references, target,
        members,
    )  # fmt: skip
    staged.add(rule, key)
    staged.place = node.place
    count_references(draft, rule, 1)
    warn_of_no_match(draft, rule, node, parts)
    if item.id is None and not (name or owner or keep) and (kind.grouped or not kind.keyed):
        note_repeated(draft, rule, node)
    return id_


def _children(
    draft: Draft, node: Node, sequence: int, keep: Rule | None
) -> tuple[Reference | None, tuple[Member, ...]]:
    """What the rules within a rule come to: its target, its members."""
    target: Reference | None = None
    members: dict[int, int] = {}
    kind = node.kind
    for child in node.children:
        id_ = _child(draft, child, sequence, _kept_child(draft, child, keep))
        if kind.spread is not None and child.kind.name == kind.spread.kind:
            if id_ in members:
                title = f"{child.kind.name} {id_} is a member twice"
                raise at_node(child, Fault("H0436", title, "kind", "the second time"))
            members[id_] = _weight(draft, child)
        else:
            target = Reference(child.kind.name, id_)
    if kind.spread is not None:
        members_fit(kind, len(members))
    elif kind.alternatives and target is None:
        first = kind.alternatives[0]
        title = f"this {kind.name} gives no {' and no '.join(kind.alternatives)}"
        help_ = f"let a {first} follow it: {kind.name} […], {first} […]"
        says = "no rule says what becomes of its packets"
        fault = Fault("H0432", title, "rule", says, help_)
        draft.warnings.append((fault, node.place))
    return target, tuple([Member(i, w) for i, w in members.items()])


def _kept_child(draft: Draft, child: Node, keep: Rule | None) -> Rule | None:
    """The rule that the replaced one owned in this place."""
    if keep is None or keep.target is None or keep.target.kind != child.kind.name:
        return None
    found = draft.staged(keep.target.kind).get(keep.target.id)
    return found if found is not None and found.owner == keep.sequence else None


def _child(draft: Draft, child: Node, sequence: int, keep: Rule | None = None) -> int:
    """The id of the rule that a rule within a rule means, made if it is described."""
    if child.same is not None:
        if child.same.id:
            return child.same.id
        raise at_node(child, Fault("H0460", f"which {child.kind.name}?", "kind", "not described"))
    item = child.item
    described = bool(child.children) or _described(draft, child)
    if described:
        if (
            item.id is not None
            and child.operation != "create"
            and (draft.staged(child.kind.name).exists(item.id))
        ):
            update(draft, child)
            return item.id
        if keep is not None and item.id is None and not item.name:
            return remake(draft, child, decoded(draft, child), keep)
        return create(draft, child, 0 if item.id is not None or item.name else sequence)
    if item.id is None and item.name is None:
        if item.block or not child.kind.exact:
            return create(draft, child, sequence)
        raise at_node(child, Fault("H0460", f"which {child.kind.name}?", "kind", "no id"))
    return shared_id(draft, child)


def _described(draft: Draft, child: Node) -> bool:
    """IEs other than the weight of the membership."""
    if not child.ies:
        return False
    parts = decoded(draft, child)
    return bool(parts.named or parts.values or parts.references or parts.priority is not None)


def _weight(draft: Draft, child: Node) -> int:
    weight = decoded(draft, child).weight if child.ies else None
    return 1 if weight is None else weight


def remake(draft: Draft, node: Node, parts: Parts, old: Rule) -> int:
    """Say an existing rule anew: its id, match and sequence stay."""
    staged = draft.staged(old.kind)
    staged.remove(old)
    id_ = make(draft, node, parts, old.owner, old)
    count_references(draft, old, -1)
    new = draft.staged(old.kind).get(node.kind.key_of(old) if node.kind.grouped else id_)
    assert new is not None
    still = set(node.kind.owned_by(new))
    for reference in node.kind.owned_by(old):
        for owned in draft.staged(reference.kind).with_id(reference.id):
            if owned.owner == old.sequence and reference not in still:
                remove(draft, owned)
    return id_


def update(draft: Draft, node: Node) -> None:
    """Stage the change of a rule."""
    try:
        parts = decode(node)
        found = locate(draft, node, parts)
        if len(found) > 1:
            raise several_meant(draft, node, found)
        _change(draft, node, parts, found[0])
    except Fault as fault:
        if fault.node is None:
            fault.node = node
        raise


def _change(draft: Draft, node: Node, parts: Parts, old: Rule) -> None:
    kind = node.kind
    node.id = old.id
    draft.warnings += parts.ignored
    values, references = dict(old.values), dict(old.references)
    if parts.values or parts.references:
        values, references = resolve_given(draft, kind, parts, values, references)
        complete(kind, values, references)
    target, members = old.target, old.members
    orphans: list[Rule] = []
    if node.children:
        target, members, orphans = _changed_children(draft, node, old)
    priority = old.priority if parts.priority is None else parts.priority
    new = rule_of(
        kind, old.id, old.sequence, old.name, old.owner, priority, old.match, values,
        references, target, members,
    )  # fmt: skip
    replace_rule(draft, old, new)
    for orphan in orphans:
        remove(draft, orphan)


def _changed_children(
    draft: Draft, node: Node, old: Rule
) -> tuple[Reference | None, tuple[Member, ...], list[Rule]]:
    """Target and members after an update, and what nobody owns any more."""
    kind, target = node.kind, old.target
    orphans: list[Rule] = []
    members = {member.id: member.weight for member in old.members}
    for child in node.children:
        if kind.spread is not None and child.kind.name == kind.spread.kind:
            id_ = _member(draft, child, old, members)
            weighed = child.ies and decoded(draft, child).weight is not None
            members[id_] = _weight(draft, child) if weighed else members.get(id_, 1)
            continue
        item = child.item
        same = target is not None and target.kind == child.kind.name
        if target is not None and target != old.target and child.entry_of is not None:
            create(draft, child, old.sequence)  # of the group that this update makes
            continue
        beside = child if child.beside is None or len(child.children) > 1 else child.beside
        if target is not None and (rest := _rest(draft, beside, target, old)) is not None:
            _change_rest(draft, beside, rest)
            continue
        if (
            item.id is None
            and item.name is None
            and child.described()
            and (target is not None and same and _is_there(draft, target))
        ):
            _update_known(draft, child, target)
            continue
        before = target
        target = Reference(child.kind.name, _child(draft, child, old.sequence))
        if before is not None and before != target:
            orphans.extend(r for r in draft.staged(before.kind).known(before.id)
                           if r.owner == old.sequence)  # fmt: skip
    if kind.spread is not None:
        members_fit(kind, len(members))
    return target, tuple([Member(i, w) for i, w in members.items()]), orphans


def _rest(draft: Draft, child: Node, group: Reference, holder: Rule) -> Rule | None:
    """The entry of the holder's own group that the named rule is for."""
    spread = draft.book.kinds[group.kind].spread
    if spread is None or spread.kind != child.kind.name:
        return None
    entries = draft.staged(group.kind).with_id(group.id)
    return rest_of([entry for entry in entries if entry.owner == holder.sequence])


def _change_rest(draft: Draft, child: Node, rest: Rule) -> None:
    """Change the rule beside a spread, or put another in its place, also where entries of the
    spread mean it by a bare word."""
    before = rest.members[0].id
    known = Reference(child.kind.name, before)
    if (
        child.item.id is None
        and child.item.name is None
        and child.described()
        and (_is_there(draft, known))
    ):
        _update_known(draft, child, known)
        return
    id_ = _child(draft, child, rest.sequence)
    own = [rule for rule in draft.staged(child.kind.name).known(before)
           if rule.owner == rest.sequence]  # fmt: skip
    group = draft.staged(rest.kind).with_id(rest.id) if own else [rest]
    for entry in group:
        weights = {m.id if m.id != before else id_: m.weight for m in entry.members}
        if before != id_ and any(m.id == before for m in entry.members):
            members = tuple([Member(*each) for each in weights.items()])
            replace_rule(draft, entry, entry._replace(members=members))
    for rule in own if before != id_ else []:
        remove(draft, rule)


def _member(draft: Draft, child: Node, old: Rule, members: dict[int, int]) -> int:
    item = child.item
    if item.id is None and item.name is None and child.same is None:
        only = Reference(child.kind.name, next(iter(members), 0))
        if len(members) == 1 and child.ies and _is_there(draft, only):
            _update_known(draft, child, only)
            return only.id
        title = f"which {child.kind.name} of {old.kind} {old.id}?"
        help_ = f"write its id; the members are {', '.join(map(str, members))}"
        raise at_node(child, Fault("H0457", title, "kind", f"{len(members)} members", help_))
    return _child(draft, child, old.sequence)


def _is_there(draft: Draft, reference: Reference) -> bool:
    """Also a change of the same request may have deleted it."""
    return bool(draft.staged(reference.kind).with_id(reference.id))


def _update_known(draft: Draft, child: Node, reference: Reference) -> None:
    found = draft.staged(reference.kind).with_id(reference.id)
    parts = decoded(draft, child)
    exact = [rule for rule in found if rule.match == parts.match]
    if parts.named and not exact and len(found) > 1:
        raise at_node(child, no_match(draft, child, parts, found))
    found = exact or found
    if len(found) != 1:
        raise at_node(child, several_meant(draft, child, found))
    if parts.named and parts.match != found[0].match:
        raise at_node(child, match_fixed(found[0]))
    try:
        _change(draft, child, parts, found[0])
    except Fault as fault:
        fault.node = fault.node or child
        raise
