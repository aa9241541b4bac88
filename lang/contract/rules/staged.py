"""What a plan would make of the rules of one kind: a `Staged` lies over their `Table` while a
request is planned, and answers as if its changes were made."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from . import column_dict
from .column_dict import Handle
from .ie_values import fold
from .packing import Claimed
from .rules import Reference, Rule
from .ruletable import Table
from .same_content import Alike, same

_MISSING: Any = object()


class Seen:
    """What a plan rests on, of one kind: handles of rules, and of those of which it only matters
    that they are there; images, names; ids of which it matters whether any rule refers to them."""

    __slots__ = ("keys", "names", "pointed", "rules", "there")

    def __init__(self) -> None:
        self.rules: set[Handle] = set()
        self.there: set[Handle] = set()
        self.keys: set[bytes] = set()
        self.names: set[str] = set()
        self.pointed: set[int] = set()


class Allotted:
    """The ids that a plan gave to rules without one, in order, by kind; `again`: those that it is
    to give, as it did when it was made for the first time."""

    def __init__(self, again: Mapping[str, Sequence[int]] | None = None) -> None:
        self.ids: dict[str, list[int]] = {}
        self._again = {kind: iter(ids) for kind, ids in (again or {}).items()}

    def next(self, kind: str) -> int | None:
        """The next one that it is to give; None: any."""
        again = self._again.get(kind)
        return None if again is None else next(again, None)

    def note(self, kind: str, id_: int) -> None:
        self.ids.setdefault(kind, []).append(id_)


class Staged:
    """Changes to a table that are planned; None stands for what is gone. `pointed`: how many more
    references there are. `scanned`: every rule was looked at. `highest`: of the ids allotted;
    `claimed`: ids of packed rules."""

    __slots__ = ("alike", "allotted", "claimed", "freed", "gone", "groups", "held", "highest",
                 "keys", "levels", "lowest", "more", "names", "place", "pointed", "reserved",
                 "rules", "scanned", "seen", "spare", "table")  # fmt: skip

    def __init__(self, table: Table, allotted: Allotted | None = None) -> None:
        self.table, self.allotted = table, allotted or Allotted()
        self.seen, self.scanned, self.highest = Seen(), False, 0
        self.rules: dict[Handle, Rule | None] = {}
        self.keys: dict[bytes, Handle | None] = {}
        self.groups: dict[int, tuple[Handle, ...]] = {}
        self.names: dict[str, int | None] = {}
        self.pointed: dict[int, int] = {}
        self.freed: list[int] = []  # a heap of what may be allotted
        self.gone: list[int] = []  # all that was in use
        self.reserved: dict[str, int] = {}  # ids by the names that will have them
        self.held: set[int] = set()  # these ids
        self.spare: list[int] | None = None
        self.claimed: Claimed | None = None
        self.lowest = 0
        self.more = 0  # rules than before
        self.place: object = None  # what was created last
        self.alike = Alike()  # of what was added
        self.levels: set[int] = set()  # priorities that it gave

    @property
    def size(self) -> int:
        return len(self.table.rules) + self.more

    def commit(self, tables: Mapping[str, Table]) -> None:
        table = self.table
        if table.alike is not None:
            for handle, new in self.rules.items():
                table.alike.note(table.get(handle), new)
        if table.levels is not None:
            table.levels |= self.levels
        keys = len(table.keys) + self.size - len(table.rules)
        column_dict.patch(table.rules, self.rules, self.size)
        column_dict.patch(table.keys, self.keys, keys)
        column_dict.patch(table.names, self.names)
        groups = {id_: handles or None for id_, handles in self.groups.items()}
        column_dict.patch(table.groups, groups)
        for id_, count in self.pointed.items():
            table.point(id_, count)
        left = self.groups if table.kind.grouped else self.rules
        table.freed_many([id_ for id_ in self.gone if not left.get(id_)])

    def get(self, handle: Handle) -> Rule | None:
        self.seen.rules.add(handle)
        return self._get(handle)

    def _get(self, handle: Handle) -> Rule | None:
        found: Rule | None = self.rules.get(handle, _MISSING)
        return self.table.get(handle) if found is _MISSING else found

    def find(self, key: bytes) -> Handle | None:
        self.seen.keys.add(key)
        found: Handle | None = self.keys.get(key, _MISSING)
        return self.table.keys.get(key) if found is _MISSING else found

    def with_key(self, key: bytes) -> Rule | None:
        """The rule of this match image."""
        handle = key if self.table.kind.grouped else self.find(key)
        return None if handle is None else self.get(handle)

    def group(self, id_: int) -> tuple[Handle, ...]:
        found = self.groups.get(id_)
        return self.table.groups.get(id_, ()) if found is None else found

    def named(self, name: str) -> int | None:
        folded = fold(name)
        self.seen.names.add(folded)
        found: int | None = self.names.get(folded, _MISSING)
        return self.table.names.get(folded) if found is _MISSING else found

    def exists(self, id_: int) -> bool:
        self.seen.there.add(id_)
        return self._exists(id_)

    def _exists(self, id_: int) -> bool:
        if self.table.kind.grouped:
            return bool(self.group(id_))
        return self._get(id_) is not None

    def known(self, id_: int) -> list[Rule]:
        """As `with_id`, to see whether they are there, and whose."""
        self.seen.there.add(id_)
        return self._with_id(id_)

    def with_id(self, id_: int) -> list[Rule]:
        """The rule of that id, or the rules of that group."""
        self.seen.rules.add(id_)
        return self._with_id(id_)

    def _with_id(self, id_: int) -> list[Rule]:
        handles = self.group(id_) if self.table.kind.grouped else (id_,)
        return [rule for handle in handles if (rule := self._get(handle)) is not None]

    def points(self, id_: int) -> int:
        self.seen.pointed.add(id_)
        return self._points(id_)

    def _points(self, id_: int) -> int:
        return self.table.pointed.get(id_, 0) + self.pointed.get(id_, 0)

    def allot(self) -> int:
        """The lowest id that is free and that nothing refers to."""
        id_ = self.allotted.next(self.table.kind.name) or self._free()
        self.allotted.note(self.table.kind.name, id_)
        self.seen.there.add(id_)
        self.highest = max(self.highest, id_)
        return id_

    def _free(self) -> int:
        while self.freed and self._taken(self.freed[0]):
            heapq.heappop(self.freed)
        id_ = self._lowest()
        return self.freed[0] if self.freed and self.freed[0] < id_ else id_

    def id_of(self, name: str) -> int:
        """The id for a new rule: that of the name, where rules refer to it by now or a rule of
        that name had it, so that making a named rule again keeps what points at it."""
        folded = fold(name)
        self.seen.names.add(folded)
        id_ = self.reserved.get(folded) or (self.table.names.get(folded) if name else None)
        return self.allot() if id_ is None or self.exists(id_) else id_

    def reserve(self, name: str) -> int:
        """The id that the rule of this name will have."""
        id_ = self.reserved[fold(name)] = self.id_of(name)
        self.held.add(id_)
        return id_

    def _taken(self, id_: int) -> bool:
        return self._exists(id_) or self._points(id_) > 0 or id_ in self.held

    def _lowest(self) -> int:
        if not self.lowest:
            self.lowest = self.table.lowest_free()
        while self._taken(self.lowest):
            if self.spare is None:
                # Sorted backwards, so that the lowest is popped; only a request that creates
                # several rules comes here.
                self.spare = sorted(self.table.free, reverse=True)
            while self.spare and self.spare[-1] <= self.lowest:
                self.spare.pop()
            top = max(self.lowest + 1, self.table.top)
            self.lowest = self.spare.pop() if self.spare else top
        return self.lowest

    def referring(self, to: Reference) -> Iterator[Rule]:
        """The rules that refer to it."""
        kind = self.table.kind
        self.scanned = True
        for rule in self.table.referring(to):
            if (kind.key_of(rule) if kind.grouped else rule.id) not in self.rules:
                yield rule
        for changed in self.rules.values():
            if changed is not None and to in kind.owned_by(changed):
                yield changed

    # ---- changes ----------------------------------------------------------------------------

    def like(self, rule: Rule) -> Rule | None:
        """The first other rule that says the same: see `Table.like`."""
        others = chain(self.table.like(rule), self.alike.to(rule))
        found = (each for id_ in others for each in self.with_id(id_))
        return next((r for r in found if r.id != rule.id and not r.owner and same(r, rule)), None)

    def add(self, rule: Rule, key: bytes) -> None:
        kind = self.table.kind
        self.levels.add(rule.priority)
        if kind.grouped:
            self.rules[key] = rule
            self.groups[rule.id] = (*self.group(rule.id), key)
        else:
            self.rules[rule.id] = rule
            if kind.keyed:
                self.keys[key] = rule.id
        if kind.grouped or not kind.keyed:
            self.alike.note(None, rule)
        if rule.name:
            self.names[fold(rule.name)] = rule.id
        self.more += 1

    def remove(self, rule: Rule) -> None:
        kind = self.table.kind
        self.more -= 1
        self.seen.rules.add(rule.id)
        self.seen.pointed.add(rule.id)
        if kind.grouped:
            key = kind.key_of(rule)
            self.rules[key] = None
            self.groups[rule.id] = tuple([h for h in self.group(rule.id) if h != key])
            gone = not self.groups[rule.id]
        else:
            self.rules[rule.id] = None
            if kind.keyed:
                self.keys[kind.key_of(rule)] = None
            gone = True
        if gone:
            heapq.heappush(self.freed, rule.id)
            self.gone.append(rule.id)
        if rule.name:
            self.names[fold(rule.name)] = None

    def forget(self, rule: Rule, key: bytes) -> None:
        """Take back what `add` did, the id still being taken."""
        self.more -= 1
        if self.table.kind.grouped:
            self.groups[rule.id] = self.group(rule.id)[:-1]

    def change(self, old: Rule, new: Rule) -> None:
        """`new` has the id and the match of `old`; its name and its priority may differ."""
        self.levels.add(new.priority)
        kind = self.table.kind
        self.seen.rules.add(old.id)
        if old.priority != new.priority or kind.grouped:
            self.seen.pointed.add(old.id)
            before, after = kind.key_of(old), kind.key_of(new)
            if kind.grouped:
                self.rules[before] = None
                self.rules[after] = new
                self.groups[old.id] = tuple(
                    [after if h == before else h for h in self.group(old.id)]
                )
            else:
                self.keys[before], self.keys[after] = None, old.id
        if not kind.grouped:
            self.rules[new.id] = new
        if old.name != new.name:
            if old.name:
                self.names[fold(old.name)] = None
            if new.name:
                self.names[fold(new.name)] = new.id

    def point(self, id_: int, by: int) -> None:
        self.pointed[id_] = self.pointed.get(id_, 0) + by
