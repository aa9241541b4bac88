"""The rules of one kind that are in force. Those planned in bulk are kept packed (`block.py`) until
someone asks."""

from __future__ import annotations

import heapq
from bisect import bisect
from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from contextlib import nullcontext
from typing import Any, Protocol, cast

import numpy as np

from . import column_dict
from .column_dict import Array, Handle, Imaged, WithoutTurn, pairs_of
from .ie_values import fold
from .packing import Claimed, Packed, Packing
from .rulekinds import Kind
from .rules import Reference, Rule
from .same_content import Alike


class Claims(Protocol):
    """Ids that a request which is not in force yet takes: all up to `highest`, and `claimed`."""

    highest: int
    claimed: Claimed | None


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
        self.most_free = 64  # of `free`, stale ones too, before those are thrown out
        self.alike: Alike | None = None  # made when it is asked for
        self.levels: set[int] | None = set()  # None: see `priorities`
        self.draft: Claims | None = None  # of a large request, while others are let in

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
        self, block: Packed, hashes: Array | None = None, without_turn: WithoutTurn = nullcontext
    ) -> Packing:
        """What `pack` takes: others may change single rules in between, and in a `without_turn`
        is done. `hashes`: of the match images, where they are known."""
        ids, base = block.ids, self._next_base()
        with without_turn():
            made = Packing(base, block)
            if hashes is None and self.kind.keyed:
                hashes = block.hashes(self.kind)
        if len(ids) >= column_dict.FEWEST:
            self.rules = rules = cast(Any, column_dict.with_columns(self.rules))
            made.rules = rules.joining(ids, np.arange(base, base + len(ids)), without_turn)
            if hashes is not None:
                keys = self.keys
                images = keys if isinstance(keys, Imaged) else Imaged(keys, self._image_of)
                self.keys = images
                made.keys = images.joining(hashes, base, without_turn)
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

    def _beyond(self, draft: Claims, rules: Mapping[Any, Any]) -> int:
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

    def take_out(self, rule: Rule) -> None:
        """Remove a rule of a kind that is no group."""
        self.note(rule, None)
        del self.rules[rule.id]
        if self.kind.keyed:
            del self.keys[self.kind.key_of(rule)]
        if rule.name:
            del self.names[fold(rule.name)]
        self.freed_many([rule.id])

    def freed_many(self, freed: list[int]) -> None:
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
