"""The rules of one kind, and what a plan would make of them.

A `Table` is what is in force; a `Staged` lies over it while a request is planned, and answers as if
its changes were made. Rules planned in bulk are kept packed (`block.py`) until someone asks.
"""

from __future__ import annotations

import heapq
from bisect import bisect
from collections.abc import Iterable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import nullcontext
from itertools import chain
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from . import column_dict
from .alike import Alike, same
from .column_dict import Array, Aside, Handle, Imaged, pairs_of
from .ie_values import fold
from .packing import Claimed, Packed, Packing
from .rulekinds import Kind
from .rules import Reference, Rule

if TYPE_CHECKING:
    from .rulebook import RuleBook

_MISSING: Any = object()


class Table:
    """`rules` maps a handle to a rule, or to the number of a packed one. `keys` maps match images
    to handles. `pointed` counts, by id, the references to a rule (or group)."""

    __slots__ = ("alike", "blocks", "draft", "free", "groups", "keys", "kind", "levels",
                 "most_free", "names", "pointed", "rules", "top")  # fmt: skip

    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        self.rules: MutableMapping[Handle, Rule | int] = {}
        self.keys: MutableMapping[bytes, Handle] = {}
        self.groups: dict[int, tuple[Handle, ...]] = {}
        self.names: dict[str, int] = {}
        self.pointed: dict[int, int] = {}
        self.blocks: list[Packed] = []
        self.free: list[int] = []  # a heap: every unused id below `top`, and stale ones
        self.top = 1
        self.most_free = 64  # so many, stale ones too, before those are thrown out
        self.alike: Alike | None = None  # made when it is asked for
        self.levels: set[int] | None = set()  # None: see `priorities`
        self.draft: Staged | None = None  # of a large request, while others are let in

    def get(self, handle: Handle) -> Rule | None:
        found = self.rules.get(handle)
        return self.unpack(found) if isinstance(found, int) else found

    def unpack(self, number: int) -> Rule:
        block = self.blocks[bisect(self.blocks, number, key=_base) - 1]
        return block.rule(number - block.base)

    def like(self, rule: Rule) -> Iterable[int]:
        """The ids of rules that say the same, of a kind without a match or a spread."""
        if self.alike is None:
            self.alike = Alike(self)
        return self.alike.to(rule)

    def note(self, old: Rule | None, new: Rule | None) -> None:
        """`new` is there in place of `old`."""
        if self.alike is not None:
            self.alike.note(old, new)
        if self.levels is not None and new is not None:
            self.levels.add(new.priority)

    def priorities(self) -> set[int]:
        """Those that rules have, and perhaps some that rules had."""
        if self.levels is None:
            self.levels = {rule.priority for rule in self}
        return self.levels

    def _image_of(self, number: int) -> tuple[bytes, int]:
        rule = self.unpack(number)
        return self.kind.key_of(rule), rule.id

    def packing(
        self, block: Packed, hashes: Array | None = None, aside: Aside = nullcontext
    ) -> Packing:
        """What `pack` takes: others may change single rules in between, and while what is `aside`
        is done. `hashes`: of the match images, where they are known."""
        ids, base = block.ids, self._next_base()
        with aside():
            made = Packing(base, block)
            if hashes is None and self.kind.keyed:
                hashes = block.hashes(self.kind)
        if len(ids) >= column_dict.FEWEST:
            self.rules = rules = cast(Any, column_dict.with_columns(self.rules))
            made.rules = rules.joining(ids, np.arange(base, base + len(ids)), aside)
            if hashes is not None:
                keys = self.keys
                images = keys if isinstance(keys, Imaged) else Imaged(keys, self._image_of)
                self.keys = images
                made.keys = images.joining(hashes, base, aside)
        return made

    def _next_base(self) -> int:
        last = self.blocks[-1] if self.blocks else None
        return last.base + len(last) if last is not None else 0

    def pack(self, block: Packed, made: Packing | None = None) -> None:
        """Take in packed rules, of a kind that is no group."""
        if made is None or made.base != self._next_base():  # by now there are others, or none
            made = self.packing(block)
        self.alike = None
        if made.priorities is None or self.levels is None:
            self.levels = None
        else:
            self.levels |= made.priorities
        block.base = made.base
        self.blocks.append(block)
        if made.rules is None:
            ids = block.ids.tolist()
            self.rules.update(zip(ids, range(made.base, made.base + len(ids)), strict=True))
            if self.kind.keyed:
                self.keys.update(zip(block.images(self.kind), ids, strict=True))
        else:
            column_dict.with_columns(self.rules).take(made.rules)
            if made.keys is not None:
                assert isinstance(self.keys, Imaged)
                self.keys.take(made.keys)
        self.names.update(made.names)
        self._raise_top(made.ids)

    def _raise_top(self, ids: Array) -> None:
        """Past these ids, in order, that follow one another from `top` on: they are in use now."""
        beyond = ids[ids >= self.top]
        follow = beyond == np.arange(self.top, self.top + len(beyond))
        self.top += len(beyond) if follow.all() else int(np.argmin(follow))

    def point(self, id_: int, count: int) -> None:
        """So many more references to a rule."""
        count += self.pointed.get(id_, 0)
        if count:
            self.pointed[id_] = count
        else:
            self.pointed.pop(id_, None)

    def __iter__(self) -> Iterator[Rule]:
        for _, found in pairs_of(self.rules):
            yield self.unpack(found) if isinstance(found, int) else found

    def referring(self, to: Reference) -> Iterator[Rule]:
        """The rules that refer to it. Packed ones are found by the column."""
        for block in self.blocks:
            rows = block.referring(to)
            for row, id_ in zip(rows.tolist(), block.ids[rows].tolist(), strict=True):
                if self.rules.get(id_) == block.base + row:  # nothing lies over it
                    yield block.rule(row)
        for rule in column_dict.singles_of(self.rules):
            if to in self.kind.owned_by(rule):
                yield rule

    def lowest_free(self) -> int:
        free, rules = self.free, self._ids()
        draft = self.draft
        if draft is not None and (draft.highest or draft.claimed is not None):
            return self._beyond(draft, rules)
        while free and free[0] in rules:
            heapq.heappop(free)
        if free:
            return free[0]
        while self.top in rules:
            self.top += 1
        return self.top

    def _beyond(self, draft: Staged, rules: Mapping[Any, Any]) -> int:
        """A free id that a large request, which is not in force yet, does not take."""
        id_ = max(self.top, draft.highest + 1)
        while True:
            if id_ in rules:
                id_ += 1
            elif draft.claimed is not None and id_ in draft.claimed:
                id_ = draft.claimed.behind(id_)
            else:
                return id_

    def _ids(self) -> Mapping[int, tuple[Handle, ...]] | Mapping[Handle, Rule | int]:
        return self.groups if self.kind.grouped else self.rules

    def make(self, staged: Staged) -> None:
        """Make staged changes."""
        if self.alike is not None:
            for handle, new in staged.rules.items():
                self.alike.note(self.get(handle), new)
        if self.levels is not None:
            self.levels |= staged.levels
        keys = len(self.keys) + staged.size - len(self.rules)
        column_dict.patch(self.rules, staged.rules, staged.size)
        column_dict.patch(self.keys, staged.keys, keys)
        column_dict.patch(self.names, staged.names)
        groups = {id_: handles or None for id_, handles in staged.groups.items()}
        column_dict.patch(self.groups, groups)
        for id_, count in staged.pointed.items():
            self.point(id_, count)
        left = staged.groups if self.kind.grouped else staged.rules
        self._freed_many([id_ for id_ in staged.gone if not left.get(id_)])

    def take_out(self, rule: Rule) -> None:
        """Remove a rule of a kind that is no group."""
        self.note(rule, None)
        del self.rules[rule.id]
        if self.kind.keyed:
            del self.keys[self.kind.key_of(rule)]
        if rule.name:
            del self.names[fold(rule.name)]
        self._freed_many([rule.id])

    def _freed_many(self, freed: list[int]) -> None:
        free, ids = self.free, self._ids()
        if not ids:  # and all numbers are free
            self.alike = None
            self.rules.clear()  # of what is gone the columns still know the place in a block
            self.keys.clear()
            self.free, self.top, self.blocks = [], 1, []
            return
        if len(freed) < 64:
            for id_ in freed:
                if id_ < self.top:
                    heapq.heappush(free, id_)
        else:
            free += [id_ for id_ in freed if id_ < self.top]
            heapq.heapify(free)
        if len(free) > self.most_free:
            if len(free) < column_dict.FEWEST:
                self.free = sorted({i for i in free if i not in ids})
            else:
                found = np.array(sorted(set(free)), np.uint64)
                self.free = found[~column_dict.within(ids, found)].tolist()
            self.most_free = 64 + 2 * len(self.free)


def _base(block: Packed) -> int:
    return block.base


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

    def commit(self, book: RuleBook) -> None:
        self.table.make(self)

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
        that name had it, so that making a named rule anew keeps what points at it."""
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
