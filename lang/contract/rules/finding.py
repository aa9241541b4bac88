"""Which rules a request means, and their removal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain, islice
from typing import TYPE_CHECKING

from ...text.diagnostics import did_you_mean
from .arrange import Node
from .ie_values import Fault
from .meanwhile import NONE, Pause
from .rulecheck import decode
from .rulekinds import Kind, Parts, purpose
from .rules import Reference, Rule
from .ruletable import Staged
from .which import Which, ids_of

if TYPE_CHECKING:
    from .rulebook import RuleBook

_POINTERS_NAMED = 3
#: Different priorities for each of which a rule is looked up.
_LEVELS = 256


class Finder(Which):
    """Finds rules by id, name and match among the staged, and stages removals. `bereft`: what was
    removed while rules pointed at it."""

    def __init__(
        self, book: RuleBook, pause: Pause = NONE, again: Mapping[str, Sequence[int]] | None = None
    ) -> None:
        super().__init__(book, pause, again)
        self.bereft: list[tuple[Rule, Node]] = []

    def _decoded(self, node: Node) -> Parts:
        try:
            return decode(node)
        except Fault as fault:
            fault.node = node
            raise

    @staticmethod
    def _at(node: Node, fault: Fault) -> Fault:
        fault.node = node
        return fault

    @staticmethod
    def _with_key(staged: Staged, key: bytes) -> Rule | None:
        handle = staged.find(key)
        return None if handle is None else staged.get(handle)

    def _shared(self, node: Node) -> int:
        """The id of the rule that a bare `FAR 17` within another rule refers to."""
        item, kind = node.item, node.kind
        staged = self.staged(kind.name)
        id_ = item.id if item.id is not None else staged.named(item.name or "")
        found = staged.known(id_) if id_ is not None else []
        if not found:
            said = item.id if item.id is not None else f"`{item.name}`"
            title = f"there is no {kind.name} {said}"
            help_ = (
                f"create it first, or describe it here: {kind.name} {said} [(type, length, value)]"
            )
            code = "H0441" if item.id is not None else "H0440"
            fault = self._at(node, Fault(code, title, "id", "no such rule", help_))
            return self.promised(kind.name, item.id, item.name or "", fault).id
        try:
            self._not_owned(Reference(kind.name, found[0].id), "id")
        except Fault as fault:
            raise self._at(node, fault) from None
        return found[0].id

    def locate(self, node: Node, parts: Parts) -> list[Rule]:
        """The rules that an update or delete means: by id, by name or by match. Never none."""
        kind, item = node.kind, node.item
        if item.id is None and item.name is None:
            return self._by_match(node, parts)
        staged = self.staged(kind.name)
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
            raise Fault("H0450", title, "id", "no such rule", help_)
        if parts.named:
            same = [rule for rule in found if rule.match == parts.match]
            if not same:
                if not kind.grouped:
                    raise self._match_fixed(found[0])
                raise self._no_match(node, parts, found)
            found = same
        return found

    def _by_match(self, node: Node, parts: Parts) -> list[Rule]:
        kind = node.kind
        staged = self.staged(kind.name)
        written = _deletes_spread(node)
        if not kind.keyed or not (parts.named or not kind.match or node.item.block or written):
            return [self._only(node, parts)]
        if kind.grouped or kind.has_priority:
            return self._search(node, parts, staged)
        found = self._with_key(staged, kind.key(parts.bits, 0, 0))
        if found is None:
            raise self._no_match(node, parts)
        return [found]

    def _only(self, node: Node, parts: Parts) -> Rule:
        """Schema 1 has no ids: the only rule of the kind, or, of a kind that matches nothing, the
        only one to delete with these values. Rules that others own are theirs to speak of."""
        kind = node.kind
        every = live = sorted(self._live(kind), key=lambda rule: rule.id)
        which = node.operation == "delete" and not kind.match and bool(node.ies)
        which = which and not kind.grouped
        said = self._said(kind, parts) if which else {}
        if which:
            live = [rule for rule in live if _has(rule, said)]
        held = [rule for rule in live if rule.owner]
        live = [rule for rule in live if not rule.owner]
        # A request to delete that says nothing is more likely unfinished than meant.
        if len(live) == 1 and (node.operation != "delete" or which):
            return live[0]
        if held and not live:
            raise self._held(held)
        by = "its id" + (" or name" if kind.rule.named else "") + (
            ", or what it matches" if kind.match else "")  # fmt: skip
        rules = f"; it may be {self._listed(live)}" if live else ""
        title = f"which {kind.name}?"
        if not live:
            why = "none has these values" if which else "there is none"
            free = [rule for rule in every if not rule.owner]
            if near := self._nearest(kind, set(said.items()), free):
                rules = f"; the nearest: {self._listed(near)}"
        elif len(live) == 1:
            why = "nothing says which"
        else:
            why = f"{len(live)} have these values" if which else f"there are {len(live)}"
            why += f": {ids_of(live)}"
        raise Fault("H0460", title, "kind", why, f"write {by}{rules}")

    def _said(self, kind: Kind, parts: Parts) -> dict[str, int | Reference]:
        """The values and references that the IEs say, by element."""
        values, references = self.given(kind, parts, {}, {})
        if kind.ifindex is not None and kind.ifindex[1] in references:
            values.pop(kind.ifindex[0], None)  # a second name of the interface, which agrees
        return {**values, **references}

    def _live(self, kind: Kind) -> list[Rule]:
        staged = self.staged(kind.name)
        staged.scanned = True
        handles = dict.fromkeys([*staged.table.rules, *staged.rules])
        return [rule for h in handles if (rule := staged.get(h)) is not None]

    def _search(self, node: Node, parts: Parts, staged: Staged) -> list[Rule]:
        """Rules by match alone where the image holds more: the id of a group, which makes it look
        at every rule of the kind, or a priority."""
        kind = node.kind
        if parts.priority is not None and not kind.grouped:
            exact = self._with_key(staged, kind.key(parts.bits, 0, parts.priority))
            if exact is not None:
                return [exact]
        match = parts.match
        levels = () if kind.grouped else staged.table.priorities() | staged.levels
        if kind.grouped or len(levels) > _LEVELS:
            found = [rule for rule in self._live(kind) if rule.match == match]
        else:
            staged.scanned = True  # a rule at another priority would be meant too
            keys = (kind.key(parts.bits, 0, level) for level in levels)
            found = [rule for key in keys if (rule := self._with_key(staged, key)) is not None]
            found.sort(key=lambda rule: rule.sequence)
        if not found:
            raise self._no_match(node, parts)
        if kind.grouped:  # what others hold is theirs to speak of
            found = [rule for rule in found if not rule.owner] or found
        if _deletes_spread(node):
            written = [rule for rule in found if self._has_members(node, rule)]
            if not written:
                title = f"no {kind.name} has exactly that match and these members"
                raise self._no_match(node, parts, found, title)
            found = written
        if len(found) > 1:
            raise self._several(node, found)
        return found

    def _has_members(self, node: Node, rule: Rule) -> bool:
        """Whether the members of a spread are those that are written, with these weights."""
        left = {member.id: member.weight for member in rule.members}
        for child in node.children:
            parts = self._decoded(child)
            id_ = self._member_of(child, parts, rule, left)
            if id_ is None or left.pop(id_) != (1 if parts.weight is None else parts.weight):
                return False
        return not left

    def _member_of(
        self, child: Node, parts: Parts, rule: Rule, left: Mapping[int, int]
    ) -> int | None:
        """Which of these members is written: by id, by name, or one that the rule owns by what it
        says."""
        item, staged = child.item, self.staged(child.kind.name)
        if child.same is not None or item.id is not None or item.name is not None:
            id_ = child.same.id if child.same is not None else item.id
            id_ = staged.named(item.name or "") if id_ is None else id_
            return id_ if id_ is not None and id_ in left else None
        said = self._said(child.kind, parts)
        own = (each for id_ in left for each in staged.with_id(id_) if each.owner == rule.sequence)
        return next((each.id for each in own if _has(each, said)), None)

    # ---- removal ----------------------------------------------------------------------------

    def remove(self, rule: Rule) -> None:
        """Stage the removal of a rule and of what it owns. What points at it then is looked at when
        all of the request is planned."""
        kind = self.book.kinds[rule.kind]
        staged = self.staged(rule.kind)
        staged.remove(rule)
        if staged.points(rule.id) and not staged.exists(rule.id):
            self.bereft.append((rule, self.node))
        self._point(rule, -1)
        self._remove_owned(kind, rule)

    def _remove_owned(self, kind: Kind, rule: Rule) -> None:
        for reference in kind.owned_by(rule):
            for owned in self.staged(reference.kind).known(reference.id):
                if owned.owner == rule.sequence:
                    self.remove(owned)

    def _point(self, rule: Rule, by: int) -> None:
        """Count the references that a rule makes (or, with -1, made)."""
        for _, reference in rule.references:
            if reference.kind != "port":
                self.staged(reference.kind).point(reference.id, by)
        if rule.target is not None:
            self.staged(rule.target.kind).point(rule.target.id, by)
        if rule.members:
            spread = self.book.kinds[rule.kind].spread
            assert spread is not None
            into = self.staged(spread.kind)
            for member in rule.members:
                into.point(member.id, by)

    def _pointed_at(self, rule: Rule) -> Fault:
        wanted, names, holder = Reference(rule.kind, rule.id), list[str](), ""
        more = self.staged(rule.kind).points(rule.id)
        referring = chain.from_iterable(
            self.staged(kind).referring(wanted) for kind in self.book.kinds
        )
        for other in islice(referring, _POINTERS_NAMED):
            names.append(f"{other.kind} {other.id}")
            if rule.owner == other.sequence:
                holder = names[-1]
            more -= sum(each == wanted for each in self.book.kinds[other.kind].owned_by(other))
        who = ", ".join(names) + (f" and {more} more" if more else "")
        title = f"{rule.kind} {rule.id} is still pointed at by {who}"
        help_ = f"delete {names[0]} too, in the same request if need be" if names else ""
        if holder:  # deleted in the same request, it takes the rule along
            help_ = f"{holder} holds it: delete that, or `update {rule.kind} {rule.id} […]`"
        return Fault("H0455", title, "id", "still in use", help_)

    # ---- faults -----------------------------------------------------------------------------

    def _duplicate(self, other: Rule) -> Fault:
        title = f"{other.kind} {other.id} matches the same already"
        help_ = f"update {other.kind} {other.id}, or make the match differ"
        if says := purpose(self.book.manifest.rule(other.kind)):
            help_ += f". {other.kind}: {says}"
        return Fault("H0452", title, "rule", "a duplicate", help_)

    @staticmethod
    def _match_fixed(rule: Rule) -> Fault:
        title = f"{rule.kind} {rule.id} matches something else, and an update cannot change that"
        help_ = "leave the match out, or delete the rule and create it anew"
        return Fault("H0456", title, "rule", "not its match", help_)

    @staticmethod
    def members_fit(kind: Kind, count: int) -> None:
        spread = kind.spread
        assert spread is not None
        if spread.least <= count <= spread.most:
            return
        title = (
            f"{kind.name} spreads over {spread.least} to {spread.most} {spread.kind}s, not {count}"
        )
        few = count < spread.least
        help_ = f"name a {spread.kind} in it: {spread.kind} 1" if few else "leave some out"
        raise Fault("H0435", title, "rule", "too few" if few else "too many", help_)


def _deletes_spread(node: Node) -> bool:
    """Without an id: the members that it writes are all of those of the rule that is meant."""
    return node.operation == "delete" and node.kind.spread is not None and bool(node.children)


def _has(rule: Rule, said: Mapping[str, int | Reference]) -> bool:
    return said.items() <= dict((*rule.values, *rule.references)).items()
