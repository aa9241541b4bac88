"""A loaded pipeline's rules, counters and states as messages, read from the maps."""

from __future__ import annotations

from collections.abc import Iterator

from ...compiler.manifest import State
from ...compiler.requests.ie_values import fold
from ...compiler.requests.rule_text import rule_item
from ...compiler.requests.rulebook import RuleBook
from ...compiler.requests.rules import Reference
from ...compiler.requests.wire import Codecs, encode
from ...lang.request import IE, Change, Request, item_text, value_text
from .. import faults
from ..reader import Counted, Reader
from . import control_pb2 as pb

#: Rules, and entries, in one message.
PART = 256


class Listing:
    """Answers what is read of one pipeline. Raises `Refused`."""

    def __init__(self, reader: Reader) -> None:
        self.reader = reader

    def rules(self, filter_: pb.Filter, form: int) -> Iterator[pb.ListPart]:
        """In parts; at least one, which tells the revision."""
        revision, rules = self.reader.moment()
        chosen = _Chosen(self.reader, rules, filter_, form)
        part = pb.ListPart(revision=revision)
        for rule in chosen:
            if len(part.rules) == PART:
                yield part
                part = pb.ListPart(revision=revision)
            part.rules.append(rule)
        yield part

    def rule(self, wanted: pb.GetRequest) -> pb.Rule:
        by_id = wanted.WhichOneof("which") == "id"
        only = pb.Filter(kinds=[wanted.kind], ids=[wanted.id] if by_id else [], name=wanted.name)
        for part in self.rules(only, wanted.form):
            for found in part.rules:
                return found
        words = f"{wanted.kind} {wanted.id if by_id else wanted.name}"
        raise faults.refused(faults.no_such_rule(words, self._kinds()))

    def stats(self) -> pb.StatsReply:
        revision, counts = self.reader.occupancy()
        return pb.StatsReply(
            revision=revision,
            events=[
                pb.EventCount(group=c.group, reason=c.reason, count=count)
                for c, count in self.reader.events()
            ],
            kinds=[
                pb.KindCount(kind=kind.name, rules=counts[kind.name], capacity=kind.capacity)
                for kind in self.reader.manifest.rules
            ],
        )

    def entries(self, name: str) -> Iterator[pb.EntriesPart]:
        found = self.reader.entries(self._state(name))
        for first in range(0, len(found), PART):
            yield pb.EntriesPart(
                entries=[
                    pb.Entry(
                        slots=[pb.Slot(name=n, value=v) for n, v in entry.values], age=entry.age
                    )
                    for entry in found[first : first + PART]
                ]
            )

    def _state(self, name: str) -> State:
        states = self.reader.manifest.states
        found = next((s for s in states if fold(s.name) == fold(name)), None)
        if found is None:
            raise faults.refused(faults.no_such_rule(name, [s.name for s in states]))
        return found

    def _kinds(self) -> list[str]:
        return [kind.name for kind in self.reader.manifest.rules]


class _Chosen:
    """The rules that pass a filter, as messages."""

    def __init__(self, reader: Reader, rules: list[Counted], filter_: pb.Filter, form: int) -> None:
        self.rules, self.filter = rules, filter_
        self.text = form in (pb.FORM_UNSPECIFIED, pb.FORM_TEXT)
        self.request = form in (pb.FORM_UNSPECIFIED, pb.FORM_REQUEST)
        self.book: RuleBook = reader.book(rules)
        self.codecs = Codecs(reader.manifest, self.book.kinds)
        self.owners = {c.rule.sequence: c.rule for c in rules}
        self.kinds = {fold(kind): kind for kind in self.book.kinds}
        self.wanted = {self._kind(kind) for kind in filter_.kinds}
        self.ids, self.name = set(filter_.ids), fold(filter_.name)
        self.says = [(fold(s.element), s.value) for s in filter_.says]
        to = filter_.refers_to
        self.to = Reference(self._kind(to.kind), to.id) if filter_.HasField("refers_to") else None

    def _kind(self, name: str) -> str:
        found = self.kinds.get(fold(name))
        if found is None:
            raise faults.refused(faults.no_such_rule(name, list(self.kinds.values())))
        return found

    def __iter__(self) -> Iterator[pb.Rule]:
        return (self._message(c) for c in self.rules if self._passes(c))

    def _passes(self, counted: Counted) -> bool:
        rule = counted.rule
        if self.wanted and rule.kind not in self.wanted:
            return False
        if self.ids and rule.id not in self.ids:
            return False
        if self.name and fold(rule.name) != self.name:
            return False
        if self.filter.counted and not counted.packets:
            return False
        kind = self.book.kinds[rule.kind]
        if self.to is not None and self.to not in kind.owned_by(rule):
            return False
        if not self.says:
            return True
        items = rule_item(rule, self.book.kinds, self.book).items
        said = {(fold(i.type), value_text(i)) for i in items if isinstance(i, IE)}
        return all(each in said for each in self.says)

    def _message(self, counted: Counted) -> pb.Rule:
        rule = counted.rule
        made = pb.Rule(kind=rule.kind, id=rule.id, name=rule.name)
        if counted.packets is not None and counted.octets is not None:
            made.packets, made.octets = counted.packets, counted.octets
        if rule.owner and (owner := self.owners.get(rule.owner)) is not None:
            made.owner.kind, made.owner.id = owner.kind, owner.id
        if self.text:
            made.text = item_text(rule_item(rule, self.book.kinds, self.book))
        if self.request:
            item = rule_item(rule, self.book.kinds)
            made.request = encode(Request((Change("create", (item,)),)), self.codecs)
        return made
