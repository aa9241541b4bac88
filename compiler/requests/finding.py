"""Which rules a request means, and their removal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, islice
from typing import TYPE_CHECKING

from ...lang.diagnostics import did_you_mean
from ...lang.request import item_text
from .arrange import Node
from .drafting import Draft
from .ie_values import Fault
from .meanwhile import NONE, Pause
from .rule_text import rule_item
from .rulecheck import decode
from .rulekinds import Kind, Parts, purpose
from .rules import Reference, Rule
from .ruletable import Staged

if TYPE_CHECKING:
    from .rulebook import RuleBook

_POINTERS_NAMED = 3
#: Rules that a message shows, and characters of each.
_NAMED = 3
_LONGEST = 160
#: Different priorities for each of which a rule is looked up.
_LEVELS = 256
#: Rules among which the nearest are searched.
_LOOKED_AT = 4096


class Finder(Draft):
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
        if not kind.keyed or not (parts.named or not node.kind.match or node.item.block):
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
        live = sorted((r for r in self._live(kind) if not r.owner), key=lambda rule: rule.id)
        which = node.operation == "delete" and not kind.match and bool(node.ies)
        if which and not kind.grouped:
            values, references = self.given(kind, parts, {}, {})
            if kind.ifindex is not None and kind.ifindex[1] in references:
                values.pop(kind.ifindex[0], None)  # a second name of the interface, which agrees
            wanted = {kind.rule.gives[i]: v for i, v in (*values.items(), *references.items())}
            live = [r for r in live if wanted.items() <= dict((*r.values, *r.references)).items()]
        # A request to delete that says nothing is more likely unfinished than meant.
        if len(live) == 1 and (node.operation != "delete" or which):
            return live[0]
        by = "its id" + (" or name" if kind.rule.named else "") + (
            ", or what it matches" if kind.match else "")  # fmt: skip
        rules = f"; it may be {self._listed(live)}" if live else ""
        title = f"which {kind.name}?"
        if not live:
            why = "none has these values" if which else "there is none"
        elif len(live) == 1:
            why = "nothing says which"
        else:
            why = f"{len(live)} have these values" if which else f"there are {len(live)}"
            why += f": {_ids(live)}"
        raise Fault("H0460", title, "kind", why, f"write {by}{rules}")

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
        if len(found) > 1:
            raise self._several(node, found)
        return found

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

    def _no_match(self, node: Node, parts: Parts, among: Iterable[Rule] | None = None) -> Fault:
        """`among`: the rules that may be meant, where these are not all of the kind."""
        near = self._nearest(node.kind, parts, among)
        title = f"no {node.kind.name} matches exactly that"
        help_ = "all of its match must be said; or write its id"
        if near:
            help_ += f"; the nearest: {self._listed(near)}"
        return Fault("H0450", title, "rule", "no such rule", help_)

    def _several(self, node: Node, found: list[Rule]) -> Fault:
        kind = node.kind
        title = f"{len(found)} {kind.name} rules are meant"
        ids = list(dict.fromkeys(rule.id for rule in found))
        what = "its match too" if len(ids) == 1 else "its id"
        if kind.rule.priority is not None and not kind.grouped:
            what += f" or `{kind.rule.priority[1]}`"
        help_ = f"say which one, write {what}: {self._listed(found)}"
        return Fault("H0457", title, "rule", _ids(found), help_)

    def _nearest(self, kind: Kind, parts: Parts, among: Iterable[Rule] | None) -> list[Rule]:
        """Rules that match the most of the elements by the same values, and the fewest others; of
        many rules only some are looked at."""
        wanted, every = set(parts.match), among is not None
        if among is None:
            staged = self.staged(kind.name)
            handles = dict.fromkeys(chain(staged.rules, islice(staged.table.rules, _LOOKED_AT)))
            among = (rule for h in handles if (rule := staged.get(h)) is not None)
        likely = [(len(wanted & set(rule.match)), -len(rule.match), -rule.sequence, rule)
                  for rule in among if every or wanted & set(rule.match)]  # fmt: skip
        return [each[-1] for each in sorted(likely, key=lambda each: each[:3], reverse=True)]

    def _listed(self, rules: Sequence[Rule]) -> str:
        """The first of them, as they are shown."""
        texts = [self._shown(rule) for rule in rules[:_NAMED]]
        if len(rules) > _NAMED:
            return f"{', '.join(texts)} and {len(rules) - _NAMED} more"
        *most, last = texts
        return f"{', '.join(most)} or {last}" if most else last

    def _shown(self, rule: Rule) -> str:
        text = item_text(rule_item(rule, self.book.kinds, self.book))
        return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"

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


def _ids(rules: Sequence[Rule]) -> str:
    ids = list(dict.fromkeys(str(rule.id) for rule in rules))
    return f"ids {', '.join(ids[:8])}" + (", …" if len(ids) > 8 else "")
