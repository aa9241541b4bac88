"""Rules made from a request: checked, resolved, with what stands within them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ..request.request import IE, RuleItem, is_name
from .apart import another_role, asks, no_such_packet
from .arrange import Faults, Node
from .finding import Finder
from .ie_values import Fault, fold
from .meanwhile import NONE, Pause
from .rulecheck import complete, decode, has_keys
from .rulekinds import Parts, rule_of
from .rules import Member, Reference, Rule

if TYPE_CHECKING:
    from .rulebook import RuleBook

_IDS = 1 << 32
_NAME_OCTETS = 63


class Creator(Finder):
    """Stages new rules. `results` are those created that are still there, by sequence; `errors` and
    `warnings` what is to be said."""

    def __init__(
        self, book: RuleBook, pause: Pause = NONE, again: Mapping[str, Sequence[int]] | None = None
    ) -> None:
        super().__init__(book, pause, again)
        self.errors = Faults[tuple[Fault, RuleItem | IE]]()
        self.warnings: list[tuple[Fault, RuleItem | IE]] = []
        self.repeated: list[tuple[Rule, Fault, RuleItem | IE]] = []  # each the same as this rule
        self.results: dict[int, Reference] = {}

    def remove(self, rule: Rule) -> None:
        super().remove(rule)
        self.results.pop(rule.sequence, None)

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
        self.warnings += parts.ignored
        staged = self.staged(kind.name)
        id_, name = item.id, item.name or ""
        if name:
            self._name_free(node)
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
            other = staged.get(key) if kind.grouped else self._with_key(staged, key)
            if other is not None:
                raise self._duplicate(other)
        if keep is not None:
            sequence = keep.sequence
        else:
            sequence = self.sequence
            self.sequence = sequence + 1
            self.results[sequence] = Reference(kind.name, id_)
        node.id = id_
        if kind.rule.gives:
            values, references = self.given(kind, parts, {}, {})
            complete(kind, values, references)
        else:
            values, references = dict[str, int](), dict[str, Reference]()
        target: Reference | None = None
        members: tuple[Member, ...] = ()
        if kind.children:
            # Its id is taken while what it owns is made.
            holder = Rule(kind.name, id_, sequence)
            staged.add(holder, key)
            target, members = self._children(node, sequence, keep)
            staged.forget(holder, key)
        rule = rule_of(
            kind, id_, sequence, name, owner, priority, parts.match, values, references, target,
            members,
        )  # fmt: skip
        staged.add(rule, key)
        staged.place = node.place
        self._point(rule, 1)
        self._never_matches(rule, node, parts)
        if item.id is None and not (name or owner or keep) and (kind.grouped or not kind.keyed):
            self._said_before(rule, node)
        return id_

    def _never_matches(self, rule: Rule, node: Node, parts: Parts) -> None:
        """Warn where no packet has all that it matches, where another rule takes all of its packets
        by other elements, or it takes that one's."""
        kind, staged = node.kind, self.staged(rule.kind)
        for i, j, nodes in kind.apart:
            a, b = parts.pairs[i], parts.pairs[j]
            if a and b and asks(a[1]) and asks(b[1]):
                fault = no_such_packet(f"{kind.name} {rule.id} never matches", a[0], b[0], nodes)
                self.warnings.append((fault, node.place))
        if kind.arriving and (strange := another_role(self.book, kind, parts.pairs)):
            self.warnings.append((strange, node.place))
        for bits in kind.respelled(parts.bits, parts.pairs):
            key = kind.key(bits, rule.id, rule.priority)
            other = staged.get(key) if kind.grouped else self._with_key(staged, key)
            if other is not None:
                older, younger = sorted((rule, other), key=lambda each: each.sequence)
                one, two = f"{kind.name} {younger.id}", f"{kind.name} {older.id}"
                title = f"{one} never matches: {two}, which is older, takes the same packets"
                help_ = f"delete one of them; the other one is {self._shown(other)}"
                self.warnings.append(
                    (Fault("H0463", title, "rule", "the same packets", help_), node.place)
                )

    def _said_before(self, rule: Rule, node: Node) -> None:
        """Warn where only the ids tell two rules apart, and the request says none."""
        other = self.staged(rule.kind).like(rule)
        if other is not None:
            one, two = f"{rule.kind} {rule.id}", f"{rule.kind} {other.id}"
            title = f"{one} says the same as {two}: by content a request cannot mean either"
            help_ = f"leave it out and use {two}, or update and delete them by their ids"
            fault = Fault("H0464", title, "rule", "said before", help_)
            self.repeated.append((other, fault, node.place))

    def warn_of_repeated(self) -> None:
        """Of what is the same as rules that are still there: a replace removes at last."""
        for other, fault, item in self.repeated:
            self.pause()
            if other in self.staged(other.kind).known(other.id):
                self.warnings.append((fault, item))

    def _name_free(self, node: Node) -> None:
        kind, name = node.kind, node.item.name or ""
        if not kind.rule.named:
            title = f"{kind.name} rules have no names"
            help_ = f"write the id, a number, or {kind.name}: {name} for a rule within it"
            raise Fault("H0459", title, "name", "only `named` kinds have", help_)
        if len(name.encode()) > _NAME_OCTETS or not name.strip() or not is_name(name):
            title = "a name has 1 to 63 bytes that can be printed, and no quotation mark"
            raise Fault("H0459", title, "name", "not such a name")
        taken = self.staged(kind.name).named(name)
        if taken is not None:
            title = f"{kind.name} {taken} has the name `{name}`"
            raise Fault("H0453", title, "name", "this name is in use", "names ignore case, - and _")
        if kind.beside_ports and (ports := self.book.folded_ports.get(fold(name))):
            title = f"the port {self.book.port_names[ports[0]]} has the name `{name}`"
            help_ = "a rule that names an interface would mean either: choose another name"
            raise Fault("H0453", title, "name", "this name is a port's", help_)

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
            first = kind.alternatives[0]
            title = f"this {kind.name} gives no {' and no '.join(kind.alternatives)}"
            help_ = f"let a {first} follow it: {kind.name} […], {first} […]"
            says = "no rule says what becomes of its packets"
            fault = Fault("H0432", title, "rule", says, help_)
            self.warnings.append((fault, node.place))
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
            raise self._at(
                child, Fault("H0460", f"which {child.kind.name}?", "kind", "not described")
            )
        item = child.item
        described = bool(child.children) or self._described(child)
        if described:
            if (
                item.id is not None
                and child.operation != "create"
                and (self.staged(child.kind.name).exists(item.id))
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
        return self._shared(child)

    def _described(self, child: Node) -> bool:
        """IEs other than the weight of the membership."""
        if not child.ies:
            return False
        parts = self._decoded(child)
        return bool(parts.named or parts.values or parts.references or parts.priority is not None)

    def _weight(self, child: Node) -> int:
        weight = self._decoded(child).weight if child.ies else None
        return 1 if weight is None else weight

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

    def update(self, node: Node) -> None:
        """Stage the change of a rule: see `changing.py`."""
        raise NotImplementedError
