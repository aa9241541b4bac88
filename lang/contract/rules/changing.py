"""Rules changed and deleted by a request."""

from __future__ import annotations

from .arrange import Node
from .creating import Creator
from .ie_values import Fault
from .rule_text import rest_of
from .rulecheck import complete, decode
from .rulekinds import Parts, rule_of
from .rules import Member, Reference, Rule


class Changer(Creator):
    """Stages changes and removals."""

    def update(self, node: Node) -> None:
        """Stage the change of a rule."""
        try:
            parts = decode(node)
            found = self.locate(node, parts)
            if len(found) > 1:
                raise self._several(node, found)
            self._update(node, parts, found[0])
        except Fault as fault:
            if fault.node is None:
                fault.node = node
            raise

    def _update(self, node: Node, parts: Parts, old: Rule) -> None:
        kind = node.kind
        node.id = old.id
        self.warnings += parts.ignored
        values, references = dict(old.values), dict(old.references)
        if parts.values or parts.references:
            values, references = self.given(kind, parts, values, references)
            complete(kind, values, references)
        target, members = old.target, old.members
        orphans: list[Rule] = []
        if node.children:
            target, members, orphans = self._changed_children(node, old)
        priority = old.priority if parts.priority is None else parts.priority
        new = rule_of(
            kind, old.id, old.sequence, old.name, old.owner, priority, old.match, values,
            references, target, members,
        )  # fmt: skip
        self.replace_rule(old, new)
        for orphan in orphans:
            self.remove(orphan)

    def replace_rule(self, old: Rule, new: Rule) -> None:
        """Stage `new` for `old`: same id, same match."""
        kind = self.book.kinds[old.kind]
        into = self.staged(old.kind)
        if new.priority != old.priority and kind.keyed:
            other = into.get(kind.key_of(new)) if kind.grouped else (
                self._with_key(into, kind.key_of(new)))  # fmt: skip
            if other is not None:
                raise self._duplicate(other)
        into.change(old, new)
        if (new.references, new.target, new.members) != (old.references, old.target, old.members):
            self._point(new, 1)
            self._point(old, -1)

    def _changed_children(
        self, node: Node, old: Rule
    ) -> tuple[Reference | None, tuple[Member, ...], list[Rule]]:
        """Target and members after an update, and what nobody owns any more."""
        kind, target = node.kind, old.target
        orphans: list[Rule] = []
        members = {member.id: member.weight for member in old.members}
        for child in node.children:
            if kind.spread is not None and child.kind.name == kind.spread.kind:
                id_ = self._member(child, old, members)
                weighed = child.ies and self._decoded(child).weight is not None
                members[id_] = self._weight(child) if weighed else members.get(id_, 1)
                continue
            item = child.item
            same = target is not None and target.kind == child.kind.name
            if target is not None and target != old.target and child.entry_of is not None:
                self.create(child, old.sequence)  # of the group that this update makes
                continue
            beside = child if child.beside is None or len(child.children) > 1 else child.beside
            if target is not None and (rest := self._rest(beside, target, old)) is not None:
                self._change_rest(beside, rest)
                continue
            if (
                item.id is None
                and item.name is None
                and child.described()
                and (target is not None and same and self._is_there(target))
            ):
                self._update_known(child, target)
                continue
            before = target
            target = Reference(child.kind.name, self._child(child, old.sequence))
            if before is not None and before != target:
                orphans.extend(r for r in self.staged(before.kind).known(before.id)
                               if r.owner == old.sequence)  # fmt: skip
        if kind.spread is not None:
            self.members_fit(kind, len(members))
        return target, tuple([Member(i, w) for i, w in members.items()]), orphans

    # ---- a rule beside a spread (beside.py) ------------------------------------------------------

    def _rest(self, child: Node, group: Reference, holder: Rule) -> Rule | None:
        """The entry of the holder's own group that the named rule is for."""
        spread = self.book.kinds[group.kind].spread
        if spread is None or spread.kind != child.kind.name:
            return None
        entries = self.staged(group.kind).with_id(group.id)
        return rest_of([entry for entry in entries if entry.owner == holder.sequence])

    def _change_rest(self, child: Node, rest: Rule) -> None:
        """Change the rule beside a spread, or put another in its place, also where entries of the
        spread mean it by a bare word."""
        before = rest.members[0].id
        known = Reference(child.kind.name, before)
        if (
            child.item.id is None
            and child.item.name is None
            and child.described()
            and (self._is_there(known))
        ):
            self._update_known(child, known)
            return
        id_ = self._child(child, rest.sequence)
        own = [rule for rule in self.staged(child.kind.name).known(before)
               if rule.owner == rest.sequence]  # fmt: skip
        group = self.staged(rest.kind).with_id(rest.id) if own else [rest]
        for entry in group:
            weights = {m.id if m.id != before else id_: m.weight for m in entry.members}
            if before != id_ and any(m.id == before for m in entry.members):
                members = tuple([Member(*each) for each in weights.items()])
                self.replace_rule(entry, entry._replace(members=members))
        for rule in own if before != id_ else []:
            self.remove(rule)

    def _member(self, child: Node, old: Rule, members: dict[int, int]) -> int:
        item = child.item
        if item.id is None and item.name is None and child.same is None:
            only = Reference(child.kind.name, next(iter(members), 0))
            if len(members) == 1 and child.ies and self._is_there(only):
                self._update_known(child, only)
                return only.id
            title = f"which {child.kind.name} of {old.kind} {old.id}?"
            help_ = f"write its id; the members are {', '.join(map(str, members))}"
            raise self._at(child, Fault("H0457", title, "kind", f"{len(members)} members", help_))
        return self._child(child, old.sequence)

    def _is_there(self, reference: Reference) -> bool:
        """Also a change of the same request may have deleted it."""
        return bool(self.staged(reference.kind).with_id(reference.id))

    def _update_known(self, child: Node, reference: Reference) -> None:
        found = self.staged(reference.kind).with_id(reference.id)
        parts = self._decoded(child)
        exact = [rule for rule in found if rule.match == parts.match]
        if parts.named and not exact and len(found) > 1:
            raise self._at(child, self._no_match(child, parts, found))
        found = exact or found
        if len(found) != 1:
            raise self._at(child, self._several(child, found))
        if parts.named and parts.match != found[0].match:
            raise self._at(child, self._match_fixed(found[0]))
        try:
            self._update(child, parts, found[0])
        except Fault as fault:
            fault.node = fault.node or child
            raise

    # ---- delete -----------------------------------------------------------------------------

    def delete(self, node: Node) -> None:
        """Stage the removal of the rules that are meant, or of the members that are named."""
        parts = self._decoded(node)
        found = self.locate(node, parts)
        self.warnings += parts.ignored
        for child in node.children:
            self.warnings += self._decoded(child).ignored
        named = {
            child.item.id: child for child in node.children
            if child.item.id is not None and child.kind.name in node.kind.children
        }  # fmt: skip
        for rule in found:
            node.id = rule.id
            if node.kind.spread is None:
                self._gives_that(rule, named)
                self.remove(rule)
            elif named and (node.item.id is not None or node.item.name is not None):
                self._drop_members(node, rule, named)
            else:
                self.remove(rule)

    def _drop_members(self, node: Node, rule: Rule, named: dict[int, Node]) -> None:
        ids = {member.id for member in rule.members}
        for id_, child in named.items():
            if id_ not in ids:
                title = f"{child.kind.name} {id_} is no member of {rule.kind} {rule.id}"
                raise self._at(child, Fault("H0450", title, "id", "no such member"))
        left = tuple([member for member in rule.members if member.id not in named])
        if not left:
            self.remove(rule)
            return
        self.members_fit(node.kind, len(left))
        self.replace_rule(rule, rule._replace(members=left))
        for id_, child in named.items():
            for member in self.staged(child.kind.name).with_id(id_):
                if member.owner == rule.sequence:
                    self.remove(member)

    def _gives_that(self, rule: Rule, named: dict[int, Node]) -> None:
        given = {rule.target}
        if rule.target is not None and (spread := self.book.kinds[rule.target.kind].spread):
            rest = rest_of(self.staged(rule.target.kind).known(rule.target.id))
            given |= {Reference(spread.kind, m.id) for m in rest.members} if rest else set()
        for id_, child in named.items():
            if Reference(child.kind.name, id_) not in given:
                gives = self.describe(rule.target) if rule.target else "nothing"
                title = f"{rule.kind} {rule.id} gives {gives}, not {child.kind.name} {id_}"
                raise self._at(child, Fault("H0462", title, "id", "not what it gives"))
