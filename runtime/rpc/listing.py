"""A loaded pipeline's rules and counters as messages, read from the maps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np

from ...lang.contract.request.request import IE, Change, Request, item_text, value_text
from ...lang.contract.rules.ie_values import fold
from ...lang.contract.rules.rule_text import rule_item
from ...lang.contract.rules.rules import Reference, Rule
from ...lang.contract.rules.wire import Codecs, encode
from ...lang.text.diagnostics import Refused
from ..base import errors as faults
from ..base.agent_errors import bad_message
from ..loading.reader import Reader
from ..rules.moment import Array, Counted, Moment, Rules, spoken_of
from ..rules.searching import pointing, saying
from . import control_pb2 as pb
from .list_columns import Columns

#: Bytes of the rules in one message; elements that a filter may name.
PART, SAYS = 1 << 16, 64


class Query:
    """What a listing asks for, understood by a manifest. Raises `Refused`."""

    def __init__(self, reader: Reader, filter_: pb.Filter, form: int = pb.FORM_BARE) -> None:
        self._kinds = {fold(kind.name): kind.name for kind in reader.manifest.rules}
        self.kinds = [self._kind(kind) for kind in filter_.kinds]
        self.ids, self.name = set(filter_.ids), fold(filter_.name)
        self.counted = filter_.counted
        self.says = list(dict.fromkeys((fold(s.element), s.value) for s in filter_.says))
        if len(self.says) > SAYS:
            title = f"the filter names {len(self.says)} values of elements"
            raise faults.refused(bad_message(title, f"{SAYS} at most: a rule has to say all"))
        known = {fold(element.name) for element in reader.manifest.elements}
        if unknown := [s.element for s in filter_.says if fold(s.element) not in known]:
            help_ = "GetSchema tells which there are"
            raise faults.refused(bad_message(f"`{unknown[0]}` is no information element", help_))
        to = filter_.refers_to
        self.to = Reference(self._kind(to.kind), to.id) if filter_.HasField("refers_to") else None
        self.text = form in (pb.FORM_UNSPECIFIED, pb.FORM_TEXT)
        self.request = form in (pb.FORM_UNSPECIFIED, pb.FORM_REQUEST)

        named = self.kinds or list(self._kinds.values())
        #: The kinds whose rules must be known.
        self.within = spoken_of(reader.manifest, named) if self.text or self.says else set(named)

    def _kind(self, name: str) -> str:
        found = self._kinds.get(fold(name))
        if found is None:
            raise faults.refused(faults.no_such_rule(name, list(self._kinds.values())))
        return found


class Listing:
    """The rules of a moment that are wanted, as messages."""

    def __init__(self, moment: Moment, query: Query) -> None:
        self.moment, self.query = moment, query

    def parts(self) -> Iterator[pb.ListPart | bytes]:
        """Messages, or their bytes: at least one, which tells the revision."""
        if self.query.request:
            yield from self._messages()
            return
        columns, none = Columns(self.moment, self.query.text, self.query.counted), True
        for table in self._tables():
            for part in columns.parts(table, self._kept(table), PART):
                yield part
                none = False
        if none:
            yield pb.ListPart(revision=self.moment.revision)

    def _kept(self, table: Rules) -> Array:
        """The rows that are wanted, but for what they counted."""
        rows = np.asarray(self._rows(table), np.int64)
        if not self.query.says and self.query.to is None:
            return rows
        return rows[[self._passes(table.rule(row)) for row in rows.tolist()]]

    def _tables(self) -> Iterator[Rules]:
        for name, table in self.moment.tables.items():
            if not self.query.kinds or name in self.query.kinds:
                yield table

    def _messages(self) -> Iterator[pb.ListPart]:
        part, size = pb.ListPart(revision=self.moment.revision), 0
        for rule in self:
            taken = rule.ByteSize()
            if size + taken > PART and size:
                yield part
                part, size = pb.ListPart(revision=self.moment.revision), 0
            part.rules.append(rule)
            size += taken
        yield part

    def __iter__(self) -> Iterator[pb.Rule]:
        query = self.query
        for table in self._tables():
            for found in table.counted(self._rows(table)):
                if (not query.counted or found.packets) and self._passes(found.rule):
                    yield self._message(found)

    def _rows(self, table: Rules) -> Sequence[int]:
        query = self.query
        if query.name:
            row = table.names.get(query.name)
            rows = [] if row is None else [row]
            return [r for r in rows if not query.ids or int(table.ids[r]) in query.ids]
        if query.ids:
            return [row for id_ in sorted(query.ids) for row in table.rows_of(id_)]
        if not query.says and query.to is None:
            return range(len(table))
        found = np.ones(len(table), np.bool_)
        if query.to is not None:
            found &= pointing(table, query.to)
        for each in query.says:
            found &= saying(self.moment, table, *each)
        kept: list[int] = np.flatnonzero(found).tolist()
        return kept

    def _passes(self, rule: Rule) -> bool:
        query, kinds = self.query, self.moment.kinds
        if query.to is not None and query.to not in kinds[rule.kind].owned_by(rule):
            return False
        if not query.says:
            return True
        items = rule_item(rule, kinds, self.moment).items
        said = {(fold(i.type), value_text(i)) for i in items if isinstance(i, IE)}
        return all(each in said for each in query.says)

    @cached_property
    def _codecs(self) -> Codecs:
        return Codecs(self.moment.manifest, self.moment.kinds)

    def _message(self, counted: Counted) -> pb.Rule:
        rule, packets, byte_count, sizes = counted
        made = pb.Rule(kind=rule.kind, id=rule.id, name=rule.name, packets=packets,
                       octets=byte_count, owned=bool(rule.owner), sizes=sizes)  # fmt: skip
        owner = self.moment.owner_of(rule)
        if owner is not None:
            made.owner.kind, made.owner.id = owner
        if self.query.text:
            made.text = item_text(rule_item(rule, self.moment.kinds, self.moment))
        if self.query.request:
            item = rule_item(rule, self.moment.kinds)
            made.request = encode(Request((Change("create", (item,)),)), self._codecs)
        return made


def none_of(reader: Reader, asked: pb.GetRequest) -> Refused:
    """Why there is no such rule."""
    words = f"{asked.kind} {getattr(asked, asked.WhichOneof('which') or 'id')}"
    return faults.refused(faults.no_such_rule(words, [k.name for k in reader.manifest.rules]))


def one(asked: pb.GetRequest) -> pb.Filter:
    """What lists that rule alone. Raises `Refused`."""
    by_id = asked.WhichOneof("which") == "id"
    if not (by_id or asked.name):
        raise faults.refused(bad_message("which rule is meant?", "say its id, or its name"))
    return pb.Filter(kinds=[asked.kind], ids=[asked.id] if by_id else [], name=asked.name)


def stats(reader: Reader) -> pb.StatsReply:
    revision, counts = reader.occupancy()
    return pb.StatsReply(
        revision=revision,
        events=[
            pb.EventCount(group=counter.group, reason=counter.reason, count=count)
            for counter, count in reader.events()
        ],
        kinds=[
            pb.KindCount(kind=kind.name, rules=counts[kind.name], capacity=kind.capacity)
            for kind in reader.manifest.rules
        ],
    )
