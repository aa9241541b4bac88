"""A request to a plan: every rule checked against the manifest and against what is in force.

The planner works on `Staged` tables laid over the book's, so that what a request says later sees
what it said earlier, and a refused request leaves nothing behind.
"""

from __future__ import annotations

import dataclasses

from ..lang.diagnostics import Diagnostic, Refused
from ..lang.request import IE, Request, RuleItem, request_text
from ..lang.source import Source
from .arrange import Arranged, Arranger, Misplaced, Node
from .drafting import Draft
from .ie_values import Fault
from .rulebook import Plan, RuleBook
from .rulecheck import complete, decode, diagnostic, every_fault, has_keys
from .rulekinds import Parts
from .rules import Member, Reference, Rule

_ERRORS_SHOWN = 20
_IDS = 1 << 32
_NAME_OCTETS = 63


class Planner(Draft):
    """One request's planning."""

    def __init__(self, book: RuleBook) -> None:
        super().__init__(book)
        self.errors: list[tuple[Fault, RuleItem | IE]] = []
        self.warnings: list[tuple[Fault, RuleItem]] = []
        self.results: list[Reference] = []

    def plan(self, request: Request) -> Plan:
        single = self._single(request)
        if single is not None:
            self._run(single)
        else:
            self._all(request)
        if not self.errors:
            self._capacities()
        if self.errors:
            raise self._refused(request)
        warnings: tuple[Diagnostic, ...] = ()
        if self.warnings:
            located = _located(request, self.book)
            if located is request:
                warnings = tuple(diagnostic(f, i, request, "warning") for f, i in self.warnings)
        return self._plan(warnings)

    def _single(self, request: Request) -> Node | None:
        """The one rule of a request that says no more than its IEs: no need to arrange it."""
        if len(request.changes) != 1:
            return None
        change = request.changes[0]
        items = change.items
        if len(items) != 1 or change.operation == "replace":
            return None
        item = items[0]
        if type(item) is not RuleItem:
            return None
        for inner in item.items:
            if type(inner) is not IE:
                return None
        kind = self.book.kinds.get(item.kind)
        if kind is None:
            return None
        node = Node(kind, item, change.operation)
        node.ies = item.items  # type: ignore[assignment]
        return node

    def _all(self, request: Request) -> None:
        arranger = Arranger(self.book.folded_kinds)
        changes = arranger.arrange(request)
        arranger.settle(changes)
        self.errors.extend((fault, fault.item) for fault in arranger.faults)
        for change in changes:
            if len(self.errors) >= _ERRORS_SHOWN:
                return
            if change.change.operation == "replace":
                self._replace(change)
                continue
            for node in change.nodes:
                self._run(node)

    def _run(self, node: Node) -> None:
        try:
            if node.operation == "create":
                self.create(node)
            elif node.operation == "update":
                self.update(node)
            else:
                self.delete(node)
        except Fault as fault:
            self._fault(fault, node)

    def _fault(self, fault: Fault, node: Node) -> None:
        culprit = fault.node or node
        if fault.ie is None:
            item = fault.item if isinstance(fault, Misplaced) else culprit.item
            self.errors.append((fault, item))
            return
        if fault.code[:4] in ("H041", "H042"):
            for each, ie in every_fault(culprit, fault):
                self.errors.append((each, ie if ie is not None else culprit.item))
        else:
            self.errors.append((fault, fault.ie))

    # ---- create -----------------------------------------------------------------------------

    def create(self, node: Node, owner: int = 0) -> int:
        """Stage a new rule; its id."""
        try:
            return self._create(node, decode(node), owner)
        except Fault as fault:
            if fault.node is None:
                fault.node = node
            raise

    def _create(self, node: Node, parts: Parts, owner: int, keep: Rule | None = None) -> int:
        """`keep`: what stood there, whose id and sequence the new rule takes over."""
        kind, item = node.kind, node.item
        staged = self.staged(kind.name)
        id_, name = item.id, item.name or ""
        if name:
            self._name_free(node)
        if keep is not None:
            id_, name = keep.id, name or keep.name
        elif id_ is None:
            id_ = staged.allot()
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
            other = staged.get(key) if kind.grouped else self._with_key(staged, key)
            if other is not None:
                raise self._duplicate(other)
        if keep is not None:
            sequence = keep.sequence
        else:
            sequence = self.sequence
            self.sequence = sequence + 1
            self.results.append(Reference(kind.name, id_))
        node.id = id_
        if kind.rule.gives:
            values, references = self.given(kind, parts, {}, {})
            complete(kind, values, references)
        else:
            values, references = {}, {}
        target: Reference | None = None
        members: tuple[Member, ...] = ()
        if kind.children:
            # Its id is taken while what it owns is made.
            holder = Rule(kind.name, id_, sequence)
            staged.add(holder, key)
            target, members = self._children(node, sequence, keep)
            staged.forget(holder, key)
        rule = Rule(
            kind.name, id_, sequence, name, owner, priority, parts.match,
            tuple([(kind.rule.gives[i], v) for i, v in sorted(values.items())]) if values else (),
            tuple([(kind.rule.gives[i], v) for i, v in sorted(references.items())])
            if references else (),
            target, members,
        )  # fmt: skip
        staged.add(rule, key)
        staged.place = item
        self._point(rule, 1)
        return id_

    def _name_free(self, node: Node) -> None:
        kind, name = node.kind, node.item.name or ""
        if not kind.rule.named:
            title = f"{kind.name} rules have no names"
            help_ = f"write the id, a number, or {kind.name}: {name} for a rule within it"
            raise Fault("H0459", title, "name", "only `named` kinds have", help_)
        if len(name.encode()) > _NAME_OCTETS or not name.strip() or not name.isprintable():
            title = "a name has 1 to 63 octets that can be printed"
            raise Fault("H0459", title, "name", "not such a name")
        taken = self.staged(kind.name).named(name)
        if taken is not None:
            title = f"{kind.name} {taken} has the name `{name}`"
            raise Fault("H0453", title, "name", "this name is in use", "names ignore case, - and _")

    def _children(
        self, node: Node, sequence: int, keep: Rule | None
    ) -> tuple[Reference | None, tuple[Member, ...]]:
        """What the rules within a rule come to: its target, its members."""
        target: Reference | None = None
        members: dict[int, int] = {}
        kind = node.kind
        for child in node.children:
            id_ = self._child(child, sequence, self._kept_child(child, keep))
            if kind.spread is not None and child.kind.name == kind.spread.kind:
                if id_ in members:
                    title = f"{child.kind.name} {id_} is a member twice"
                    raise self._at(child, Fault("H0436", title, "kind", "the second time"))
                members[id_] = self._weight(child)
            else:
                target = Reference(child.kind.name, id_)
        if kind.spread is not None:
            self.members_fit(kind, len(members))
        elif kind.alternatives and target is None:
            self.warnings.append((Fault(
                "H0432", f"this {kind.name} gives neither {' nor '.join(kind.alternatives)}", "rule",
                "its packets get the default",
                f"let a {kind.alternatives[0]} follow it: {kind.name} […], {kind.alternatives[0]} […]",
            ), node.item))  # fmt: skip
        return target, tuple([Member(i, w) for i, w in members.items()])

    def _kept_child(self, child: Node, keep: Rule | None) -> Rule | None:
        """The rule that the replaced one owned in this place."""
        if keep is None or keep.target is None or keep.target.kind != child.kind.name:
            return None
        found = self.staged(keep.target.kind).get(keep.target.id)
        return found if found is not None and found.owner == keep.sequence else None

    def _child(self, child: Node, sequence: int, keep: Rule | None = None) -> int:
        """The id of the rule that a rule within a rule means, made if it is described."""
        if child.same is not None:
            if child.same.id:
                return child.same.id
            raise self._at(child, Fault("H0460", f"which {child.kind.name}?", "kind", "not described"))
        item = child.item
        described = bool(child.children) or self._described(child)
        if described:
            if item.id is not None and child.operation != "create" and (
                self.staged(child.kind.name).exists(item.id)
            ):
                self.update(child)
                return item.id
            if keep is not None and item.id is None and not item.name:
                return self._remake(child, self._decoded(child), keep)
            return self.create(child, 0 if item.id is not None or item.name else sequence)
        if item.id is None and item.name is None:
            if item.block or not child.kind.exact:
                return self.create(child, sequence)
            raise self._at(child, Fault("H0460", f"which {child.kind.name}?", "kind", "no id"))
        return self._shared(child).id

    def _described(self, child: Node) -> bool:
        """IEs other than the weight of the membership."""
        if not child.ies:
            return False
        parts = self._decoded(child)
        return bool(parts.named or parts.values or parts.references or parts.priority is not None)

    def _weight(self, child: Node) -> int:
        weight = self._decoded(child).weight if child.ies else None
        return 1 if weight is None else weight

    # ---- update -----------------------------------------------------------------------------

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
        values, references = dict(old.values), dict(old.references)
        if parts.values or parts.references:
            gives = kind.rule.gives
            by_index = {i: values[n] for i, n in enumerate(gives) if n in values}
            refs_by_index = {i: references[n] for i, n in enumerate(gives) if n in references}
            by_index, refs_by_index = self.given(kind, parts, by_index, refs_by_index)
            complete(kind, by_index, refs_by_index)
            new_values = tuple([(gives[i], v) for i, v in sorted(by_index.items())])
            new_references = tuple([(gives[i], v) for i, v in sorted(refs_by_index.items())])
        else:
            new_values, new_references = old.values, old.references
        target, members, orphans = old.target, old.members, []
        if node.children:
            target, members, orphans = self._changed_children(node, old)
        priority = old.priority if parts.priority is None else parts.priority
        new = Rule(
            kind.name, old.id, old.sequence, old.name, old.owner, priority, old.match,
            new_values, new_references, target, members,
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
        kind, target, orphans = node.kind, old.target, list[Rule]()
        members = {member.id: member.weight for member in old.members}
        for child in node.children:
            if kind.spread is not None and child.kind.name == kind.spread.kind:
                id_ = self._member(child, old, members)
                weighed = child.ies and self._decoded(child).weight is not None
                members[id_] = self._weight(child) if weighed else members.get(id_, 1)
                continue
            item = child.item
            same = target is not None and target.kind == child.kind.name
            if item.id is None and item.name is None and same and child.described():
                assert target is not None
                self._update_known(child, target)
                continue
            before = target
            target = Reference(child.kind.name, self._child(child, old.sequence))
            if before is not None and before != target:
                orphans.extend(r for r in self.staged(before.kind).with_id(before.id)
                               if r.owner == old.sequence)  # fmt: skip
        if kind.spread is not None:
            self.members_fit(kind, len(members))
        return target, tuple([Member(i, w) for i, w in members.items()]), orphans

    def _member(self, child: Node, old: Rule, members: dict[int, int]) -> int:
        item = child.item
        if item.id is None and item.name is None and child.same is None:
            if len(members) == 1 and child.ies:
                only = Reference(child.kind.name, next(iter(members)))
                self._update_known(child, only)
                return only.id
            title = f"which {child.kind.name} of {old.kind} {old.id}?"
            help_ = f"write its id; the members are {', '.join(map(str, members))}"
            raise self._at(child, Fault("H0457", title, "kind", f"{len(members)} members", help_))
        return self._child(child, old.sequence)

    def _update_known(self, child: Node, reference: Reference) -> None:
        found = self.staged(reference.kind).with_id(reference.id)
        parts = self._decoded(child)
        if parts.pairs:
            found = [rule for rule in found if rule.match == parts.match] or found
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
        for child in node.children:
            self._decoded(child)
        named = {
            child.item.id: child for child in node.children
            if child.item.id is not None and child.kind.name in node.kind.children
        }  # fmt: skip
        for rule in found:
            node.id = rule.id
            if named and node.kind.spread is not None:
                self._drop_members(node, rule, named)
            else:
                self._gives_that(rule, named)
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
        self.replace_rule(rule, dataclasses.replace(rule, members=left))
        for id_, child in named.items():
            for member in self.staged(child.kind.name).with_id(id_):
                if member.owner == rule.sequence:
                    self.remove(member)

    def _gives_that(self, rule: Rule, named: dict[int, Node]) -> None:
        for id_, child in named.items():
            if rule.target != Reference(child.kind.name, id_):
                gives = self.describe(rule.target) if rule.target else "nothing"
                title = f"{rule.kind} {rule.id} gives {gives}, not {child.kind.name} {id_}"
                raise self._at(child, Fault("H0462", title, "id", "not what it gives"))

    # ---- replace ----------------------------------------------------------------------------

    def _replace(self, change: Arranged) -> None:
        """Make each kind that is named exactly what the change says."""
        kept: dict[str, set[int]] = {}
        for node in change.nodes:
            item = node.item
            staying = kept.setdefault(node.kind.name, set())
            empty = not item.block and not node.described() and item.id is None and not item.name
            if empty:
                continue
            try:
                staying.add(self._put(node))
            except Fault as fault:
                self._fault(fault, node)
        if self.errors:
            return
        for kind in reversed(self.book.manifest.rules):
            if kind.name in kept:
                self._leave_only(change, kind.name, kept[kind.name])

    def _leave_only(self, change: Arranged, kind: str, staying: set[int]) -> None:
        staged = self.staged(kind)
        node = next(n for n in change.nodes if n.kind.name == kind)
        for handle in [*staged.table.rules, *staged.rules]:
            rule = staged.get(handle)
            if rule is None or rule.owner or rule.sequence in staying:
                continue
            try:
                self.remove(rule)
            except Fault as fault:
                self._fault(fault, node)

    def _put(self, node: Node) -> int:
        """Create the rule, or make the one with its match (or id) so; its sequence."""
        try:
            parts = decode(node)
            old = self._standing(node, parts)
            if old is not None and old.match == parts.match:
                self._remake(node, parts, old)
                return old.sequence
            if old is not None:
                self.remove(old)
            sequence = self.sequence
            self._create(node, parts, 0)
            return sequence
        except Fault as fault:
            if fault.node is None:
                fault.node = node
            raise

    def _standing(self, node: Node, parts: Parts) -> Rule | None:
        """The rule that a replace means to keep: of this id, this name or this match."""
        kind, item = node.kind, node.item
        staged = self.staged(kind.name)
        id_ = item.id if item.id is not None else staged.named(item.name) if item.name else None
        if kind.grouped:
            return None if id_ is None else staged.get(
                kind.key(parts.bits, id_, parts.priority or 0))  # fmt: skip
        if id_ is not None and (found := staged.get(id_)) is not None:
            return found
        if id_ is not None or not kind.keyed:
            return None
        return self._with_key(staged, kind.key(parts.bits, 0, parts.priority or 0))

    def _remake(self, node: Node, parts: Parts, old: Rule) -> int:
        """Say an existing rule anew: its id, match and sequence stay."""
        staged = self.staged(old.kind)
        staged.remove(old)
        id_ = self._create(node, parts, old.owner, old)
        self._point(old, -1)
        new = self.staged(old.kind).get(node.kind.key_of(old) if node.kind.grouped else id_)
        assert new is not None
        still = set(node.kind.owned_by(new))
        for reference in node.kind.owned_by(old):
            for owned in self.staged(reference.kind).with_id(reference.id):
                if owned.owner == old.sequence and reference not in still:
                    self.remove(owned)
        return id_

    # ---- the end ----------------------------------------------------------------------------

    def _capacities(self) -> None:
        for name, staged in self.stages.items():
            capacity = staged.table.kind.rule.capacity
            if staged.size > capacity and staged.place is not None:
                item = staged.place
                assert isinstance(item, RuleItem)
                title = f"{name} is full: it holds {capacity} rules"
                help_ = f"delete {staged.size - capacity} first, or raise rule {name} [{capacity}]"
                fault = Fault("H0454", title, "kind", f"{staged.size} rules", help_)
                self.errors.append((fault, item))

    def _plan(self, warnings: tuple[Diagnostic, ...]) -> Plan:
        created, changed, removed = [], [], []
        for staged in self.stages.values():
            table = staged.table
            for handle, new in staged.rules.items():
                old = table.get(handle)
                if old is new:
                    continue
                if old is None:
                    created.append(new)
                elif new is None:
                    removed.append(old)
                elif old.sequence == new.sequence:
                    if old != new:
                        changed.append((old, new))
                else:
                    removed.append(old)
                    created.append(new)
        return Plan(
            tuple(created), tuple(changed), tuple(removed),  # type: ignore[arg-type]
            self.results, warnings, (), self.stages, self.book.revision, self.sequence,
        )  # fmt: skip

    def _refused(self, request: Request) -> Refused:
        if request.source is None:
            try:
                Planner(self.book).plan(_located(request, self.book))
            except Refused as refused:
                return refused
        found = [diagnostic(fault, item, request) for fault, item in self.errors]
        found.sort(key=lambda d: d.labels[0].span.start)
        return Refused(list(dict.fromkeys(found))[:_ERRORS_SHOWN])


def _located(request: Request, book: RuleBook) -> Request:
    """The request with places: its text, where it came without one."""
    if request.source is not None:
        return request
    from ..lang.request_parser import parse_request

    return parse_request(Source("<request>", request_text(request)))

