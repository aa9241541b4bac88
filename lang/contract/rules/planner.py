"""A request to a plan: every rule checked against the manifest and against what is in force.

The planner works on `Staged` tables laid over the book's, so that what a request says later sees
what it said earlier, and a refused request leaves nothing behind.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from ...text.diagnostics import FEW, Diagnostic, Refused, Severity
from ..request.request import IE, Item, Request, RuleItem
from .arrange import Arranged, Arranger, Enough, Misplaced, Node
from .changing import Changer
from .columned import keys_of
from .ie_values import Fault
from .plan import Plan
from .rulecheck import decode, diagnostics, every_fault
from .rulekinds import Parts
from .rules import Rule

Found = Sequence[tuple[Fault, Item]]


class Planner(Changer):
    """One request's planning."""

    def plan(self, request: Request) -> Plan:
        with suppress(Enough):
            single = self._single(request)
            if single is not None:
                self._run(single)
            else:
                self._all(request)
            if not self.errors:
                self._kept_promises()
                self._left_behind()
                self._capacities()
                self.warn_of_repeated()
        if self.errors:
            raise self._refused(request)
        some = self.warnings[:FEW]
        return self._plan(tuple(self._placed(some, request, "warning")) if some else ())

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
        try:
            with self.pause.aside():
                changes = self.tree = arranger.arrange(request)
                arranger.settle(changes)
                arranger.join(changes)
        finally:
            self.errors.extend((fault, fault.item) for fault in arranger.faults)
        self._keep_named_ids()
        for change in changes:
            if change.change.operation == "replace":
                self._replace(change)
                continue
            for node in change.nodes:
                self.pause()
                self._run(node)

    def _keep_named_ids(self) -> None:
        """A rule without an id gets none that the request gives another, before or after it."""
        todo = [node for change in self.tree for node in change.nodes]
        while todo:
            node = todo.pop()
            todo.extend(node.children)
            makes = node.operation in ("create", "replace") and node.described()
            if makes and node.item.id is not None:
                self.staged(node.kind.name).held.add(node.item.id)

    def _run(self, node: Node) -> None:
        self.node = node
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
        """Note what was wrong with a rule, and with the elements of those within it."""
        culprit = fault.node or node
        if fault.code == "H0450" and self.errors and self.makes(culprit):
            return  # it is missing only for what was wrong before
        if fault.ie is None:
            item = fault.item if isinstance(fault, Misplaced) else culprit.place
            self.errors.append((fault, item))
        elif fault.code[:4] in ("H041", "H042"):
            for each, ie in every_fault(culprit, fault):
                self.errors.append((each, ie if ie is not None else culprit.place))
        else:
            self.errors.append((fault, fault.ie))
        todo = [node]
        while todo:
            within = todo.pop()
            todo.extend(within.children)
            try:
                if within is not culprit:
                    decode(within)
            except Fault as other:
                for each, ie in every_fault(within, other):
                    self.errors.append((each, ie if ie is not None else within.place))

    # ---- replace ----------------------------------------------------------------------------

    def _replace(self, change: Arranged) -> None:
        """Make each kind that is named exactly what the change says."""
        kept: dict[str, set[int]] = {}
        for node in change.nodes:
            self.pause()
            item = node.item
            staying = kept.setdefault(node.kind.name, set())
            empty = not item.block and not node.described() and item.id is None and not item.name
            if empty:
                continue
            self.node = node
            try:
                staying.add(self._put(node, staying))
            except Fault as fault:
                self._fault(fault, node)
        if self.errors:
            return
        for kind in reversed(self.book.manifest.rules):
            if kind.name in kept:
                self._leave_only(change, kind.name, kept[kind.name])

    def _leave_only(self, change: Arranged, kind: str, staying: set[int]) -> None:
        staged = self.staged(kind)
        staged.scanned = True
        node = self.node = next(n for n in change.nodes if n.kind.name == kind)
        for handle in [*keys_of(staged.table.rules), *staged.rules]:
            self.pause()
            rule = staged.get(handle)
            if rule is None or rule.owner or rule.sequence in staying:
                continue
            try:
                self.remove(rule)
            except Fault as fault:
                self._fault(fault, node)

    def _put(self, node: Node, staying: set[int]) -> int:
        """Create the rule, or make the one with its match (or id) so; its sequence. `staying`:
        those of the rules that are there by this change."""
        try:
            parts = decode(node)
            old = self._standing(node, parts)
            self._make_way(node, parts, {*staying, old.sequence} if old is not None else staying)
            if old is not None and old.match == parts.match:
                self._remake(node, parts, old)
                return old.sequence
            if old is not None and old.sequence not in staying:
                self.remove(old)
            sequence = self.sequence
            self._create(node, parts, 0)
            return sequence
        except Fault as fault:
            if fault.node is None:
                fault.node = node
            raise

    def _make_way(self, node: Node, parts: Parts, staying: set[int]) -> None:
        """Remove what has this match or this name, and goes with this change anyway."""
        kind, name, staged = node.kind, node.item.name, self.staged(node.kind.name)
        found = list[Rule | None]()
        if kind.keyed and not kind.grouped:
            found.append(self._with_key(staged, kind.key(parts.bits, 0, parts.priority or 0)))
        if name and (id_ := staged.named(name)) is not None:
            found += staged.with_id(id_)
        for rule in found:
            if rule is not None and not rule.owner and rule.sequence not in staying:
                self.remove(rule)

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

    # ---- the end ----------------------------------------------------------------------------

    def _kept_promises(self) -> None:
        """What was referred to before it was made must be there now."""
        for reference, fault, ifindex in self.awaited:
            self.pause()
            if not self.staged(reference.kind).exists(reference.id):
                self._fault(fault, fault.node or self.node)
            elif ifindex is not None and not self._agrees(reference, ifindex):
                wrong = self._disagree(reference, ifindex)
                wrong.ie = fault.ie
                self._fault(wrong, fault.node or self.node)

    def _left_behind(self) -> None:
        """What was removed and not made anew, but is pointed at."""
        for rule, node in self.bereft:
            self.pause()
            staged = self.staged(rule.kind)
            if staged.points(rule.id) and not staged.exists(rule.id):
                self._fault(self._pointed_at(rule), node)

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
        created: list[Rule] = []
        changed: list[tuple[Rule, Rule]] = []
        removed: list[Rule] = []
        for staged in self.stages.values():
            table = staged.table
            for handle, new in staged.rules.items():
                self.pause()
                old = table.get(handle)
                if old is new:
                    continue
                if old is not None and new is not None and old.sequence == new.sequence:
                    if old != new:
                        changed.append((old, new))
                    continue
                if old is not None:
                    removed.append(old)
                if new is not None:
                    created.append(new)
        return Plan(
            tuple(created), tuple(changed), tuple(removed),
            tuple(self.results.values()), warnings, (), tuple(self.stages.values()),
            self.book.revision, self.sequence, self.allotted.ids,
        )  # fmt: skip

    def let_go(self) -> None:
        for fault, _ in self.errors:  # whose frames lead back to here
            fault.__traceback__ = fault.__context__ = None
        super().let_go()

    def _placed(self, found: Found, request: Request, severity: Severity) -> list[Diagnostic]:
        with self.pause.aside():
            return diagnostics(found, request, self.book.folded_kinds, severity)

    def _refused(self, request: Request) -> Refused:
        found = self._placed(self.errors, request, "error")
        found.sort(key=lambda each: each.span.start if each.span else 0)
        return Refused(list(dict.fromkeys(found))[:FEW])
