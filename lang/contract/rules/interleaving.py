"""`YieldPoint` and `WriteSet`: a large request is planned in pieces, between which transactions of
others are made. They come before it in the order of all, and must have changed nothing that its
plan was made of.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Protocol, TypeVar

from .column_dict import Handle
from .ie_values import fold
from .plan import Plan
from .rulekinds import Kind
from .rules import Reference, Rule
from .staged import Staged

#: Sequences that are left to those who come in between.
ROOM = 1 << 16


class Conflict(Exception):
    """A transaction that came in between changed what the plan was made of: plan again."""


class YieldPoint(Protocol):
    """Is called between two pieces of a long piece of work."""

    def __call__(self) -> None:
        """Let others in, if any wait. Raises `Conflict` where they changed what it rests on."""

    def rest(self) -> None:
        """The same, where nothing rests on the rules."""

    def without_turn(self) -> AbstractContextManager[None]:
        """Others need not wait while this block is carried out, which looks at no rule."""


class NoYield:
    """Nobody is let in."""

    def __call__(self) -> None: ...
    def rest(self) -> None: ...
    def without_turn(self) -> AbstractContextManager[None]:
        return nullcontext()


NONE = NoYield()
#: Things between two calls of a pause.
_STRIDE = 16
_T = TypeVar("_T")


def paced(things: Iterable[_T], pause: Callable[[], None]) -> Iterable[_T]:
    """The same things, with pauses between them."""
    return things if pause is NONE else _paced(things, pause)


def _paced(things: Iterable[_T], pause: Callable[[], None]) -> Iterator[_T]:
    for i, each in enumerate(things):
        if not i % _STRIDE:
            pause()
        yield each


class _KindWrites:
    """Of one kind, by handle: rules that came or went, and that changed otherwise; images and
    names that came or went; ids that are referred to more or less than before."""

    __slots__ = ("changed", "keys", "moved", "names", "pointed")

    def __init__(self) -> None:
        self.moved: set[Handle] = set()
        self.changed: set[Handle] = set()
        self.keys: set[bytes] = set()
        self.names: set[str] = set()
        self.pointed: set[int] = set()

    def meets(self, staged: Staged) -> bool:
        """Whether any of it was looked at, or is to be changed."""
        if staged.table.kind.grouped or (staged.scanned and (self.moved or self.changed)):
            return True
        seen = staged.seen
        return not (
            seen.rules.isdisjoint(self.moved)
            and seen.rules.isdisjoint(self.changed)
            and seen.there.isdisjoint(self.moved)
            and seen.keys.isdisjoint(self.keys)
            and seen.names.isdisjoint(self.names)
            and seen.pointed.isdisjoint(self.pointed)
        )


class WriteSet:
    """What transactions changed. `everything`: none can say what."""

    def __init__(self) -> None:
        self.everything = False
        self._kinds: dict[str, _KindWrites] = {}

    def __bool__(self) -> bool:
        return self.everything or bool(self._kinds)

    def clear(self) -> None:
        self.everything = False
        self._kinds.clear()

    def add(self, plan: Plan, kinds: Mapping[str, Kind]) -> None:
        """What a plan comes to."""
        if plan.blocks or len(plan.created) + len(plan.changed) + len(plan.removed) > ROOM:
            self.everything = True
            return
        for rule in (*plan.created, *plan.removed):
            self._moved(rule, kinds)
        for old, new in plan.changed:
            if old.priority != new.priority or old.name != new.name or old.owner != new.owner:
                self._moved(old, kinds)
                self._moved(new, kinds)
            kind = kinds[old.kind]
            self._of(old.kind).changed.add(kind.key_of(old) if kind.grouped else old.id)
            self._point(set(kind.owned_by(old)) ^ set(kind.owned_by(new)))

    def of(self, kind: str) -> _KindWrites | None:
        """Of this kind, where anything was."""
        return self._kinds.get(kind)

    def _of(self, kind: str) -> _KindWrites:
        found = self._kinds.get(kind)
        if found is None:
            found = self._kinds[kind] = _KindWrites()
        return found

    def _moved(self, rule: Rule, kinds: Mapping[str, Kind]) -> None:
        kind, into = kinds[rule.kind], self._of(rule.kind)
        key = kind.key_of(rule) if kind.keyed else b""
        into.moved.add(key if kind.grouped else rule.id)
        if kind.keyed:
            into.keys.add(key)
        if rule.name:
            into.names.add(fold(rule.name))
        self._point(kind.owned_by(rule))

    def _point(self, pointers: Iterable[Reference]) -> None:
        for to in pointers:
            self._of(to.kind).pointed.add(to.id)

    def meets(self, stages: Mapping[str, Staged]) -> bool:
        """Whether these staged tables rest on any of it."""
        return self.everything or any(
            touched.meets(staged)
            for name, touched in self._kinds.items()
            if (staged := stages.get(name)) is not None
        )
