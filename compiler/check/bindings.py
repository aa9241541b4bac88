"""Which rules and entries are bound together: all combinations of them, as a decision diagram. So
forty rules that each may have been found take forty nodes, and not 2^40 combinations."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from weakref import WeakValueDictionary

#: Names behind which the diagrams, as deep as there are names, may be more than Python's frames.
_MANY = 128
_FRAMES = 10_000


class Bindings:
    """Combinations of names: a zero-suppressed decision diagram (S. Minato, DAC 1993). `without`:
    those that lack `name`; `having`: those that have it, less that name. Equal ones of a table are
    the same object. Ranks of names grow from node to node. What a node stands for stays, while
    another order of the names may change its parts (sifting.py)."""

    __slots__ = ("__weakref__", "having", "name", "rank", "table", "without")

    def __init__(self, table: Table, name: str, parts: tuple[Bindings, Bindings] | None) -> None:
        self.table, self.name = table, name
        self.rank: float = float("inf")  # of the two without parts
        self.without, self.having = self, self
        if parts is not None:
            self.rank, (self.without, self.having) = table.rank(name), parts

    def bind(self, name: str) -> Bindings:
        return self._changed(_bound, name)

    def unbind(self, name: str) -> Bindings:
        return self._changed(_unbound, name)

    def split(self, name: str) -> tuple[Bindings, Bindings]:
        """Those that have it, and the others."""
        return self._changed(_having, name), self._changed(_without, name)

    def surely(self, name: str) -> bool:
        return self._changed(_without, name) is self.table.none

    def perhaps(self, name: str) -> bool:
        return self._changed(_having, name) is not self.table.none

    def join(self, other: Bindings) -> Bindings:
        """Those of both."""
        none, kept = self.table.none, self.table.kept
        if self is other or other is none:
            return self
        if self is none:
            return other
        first, second = (self, other) if self.rank <= other.rank else (other, self)
        key = "join", first, second
        if key not in kept:
            without, having = second, none
            if first.rank == second.rank:
                without, having = second.without, second.having
            parts = first.without.join(without), first.having.join(having)
            kept[key] = self.table.made(first.name, *parts)
        return kept[key]

    def forget(self, names: frozenset[str], done: dict[Bindings, Bindings]) -> Bindings:
        """Those that are left where nobody asks for the names. `done`: of others, so far."""
        if self.without is self:
            return self
        if self not in done:
            without, having = self.without.forget(names, done), self.having.forget(names, done)
            gone = self.name in names
            made = self.table.made
            done[self] = without.join(having) if gone else made(self.name, without, having)
        return done[self]

    def _changed(self, change: Change, name: str) -> Bindings:
        """With what `change` makes of those that lack the name, and those that have it, less it."""
        table, rank = self.table, self.table.rank(name)
        if self.rank > rank:
            return change(table, name, self, table.none)
        if self.rank == rank:
            return change(table, name, self.without, self.having)
        key = change, name, self
        if key not in table.kept:
            parts = self.without._changed(change, name), self.having._changed(change, name)
            table.kept[key] = table.made(self.name, *parts)
        return table.kept[key]


@dataclass
class Table:
    """The nodes of one check, by name and parts, and what was made of them. `none`: no combination;
    `bare`: that of no name. Names have the order in which they are met, the last in front, so that
    what is new is one node, until sifting.py finds a better one: for diagrams of more nodes than
    `tolerated`."""

    ranks: dict[str, int] = field(default_factory=dict)
    levels: dict[str, Level] = field(default_factory=dict)
    kept: dict[object, Bindings] = field(default_factory=dict)
    tolerated: int = 1_000

    def __post_init__(self) -> None:
        self.none, self.bare = Bindings(self, "none", None), Bindings(self, "bare", None)

    def rank(self, name: str) -> int:
        if name not in self.ranks:
            if len(self.ranks) == _MANY:
                sys.setrecursionlimit(max(_FRAMES, sys.getrecursionlimit()))
            self.ranks[name] = -len(self.ranks)
            self.levels[name] = WeakValueDictionary()
        return self.ranks[name]

    def made(self, name: str, without: Bindings, having: Bindings) -> Bindings:
        if having is self.none:
            return without
        level, parts = self.levels[name], (without, having)
        node = level.get(parts)
        if node is None:
            node = level[parts] = Bindings(self, name, parts)
        return node


#: The nodes of one name: those that something refers to.
Level = WeakValueDictionary[tuple[Bindings, Bindings], Bindings]
Change = Callable[[Table, str, Bindings, Bindings], Bindings]


def _bound(table: Table, name: str, without: Bindings, having: Bindings) -> Bindings:
    return table.made(name, table.none, without.join(having))


def _unbound(_: Table, __: str, without: Bindings, having: Bindings) -> Bindings:
    return without.join(having)


def _having(table: Table, name: str, _: Bindings, having: Bindings) -> Bindings:
    return table.made(name, table.none, having)


def _without(_: Table, __: str, without: Bindings, ___: Bindings) -> Bindings:
    return without


def nodes_of(roots: Iterable[Bindings]) -> int:
    """How many nodes the diagrams have together."""
    seen, left = set[Bindings](), list(roots)
    while left:
        at = left.pop()
        if at not in seen and at.without is not at:
            seen.add(at)
            left += at.without, at.having
    return len(seen)
