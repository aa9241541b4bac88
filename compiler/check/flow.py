"""What is known of the packets that reach a place: on which port, with which nodes and rules."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

from ...lang import tree
from ...lang.text.source import Span
from .. import model
from ..model.parse_graph import ways
from .bindings import Bindings, Table, nodes_of
from .ranges import Facts, implied
from .sifting import sift_if_large
from .values import Value


class Debt(NamedTuple):
    """A link header that cannot announce what was put behind it: fine as long as it is replaced."""

    change: Span
    source: str
    target: str
    pop: bool


class Change(NamedTuple):
    """A pop, push or append, of the nodes that it names. `behind`: where a push says so, or that an
    append is behind."""

    what: Literal["pop", "pop to", "push", "append"]
    nodes: tuple[str, ...]
    behind: str = ""

    def __str__(self) -> str:
        behind = "" if not self.behind else f"behind {self.behind}"
        behind = f"({behind})" if behind and self.what == "push" else behind
        return f"{self.what} {' / '.join(self.nodes)} {behind}".rstrip()


class World(NamedTuple):
    """One packet class. `present` and `pushed`: nodes, as bits by position in the graph; `chain`:
    positions of those present, outermost first; `changes`: its pops, pushes and appends so far;
    `bound`: names of rules and entries, all combinations that such packets may have."""

    role: str
    present: int
    chain: tuple[int, ...]
    bound: Bindings
    pushed: int = 0
    owed: frozenset[Debt] = frozenset()
    changes: tuple[Change, ...] = ()

    @property
    def appended(self) -> bool:
        return any(change.what == "append" for change in self.changes)


State = frozenset[World]


def at_arrival(graph: model.Graph, roles: Iterable[str]) -> State:
    bare = Table().bare
    return frozenset(
        World(role, way, tuple(i for i in range(len(graph.nodes)) if way >> i & 1), bare)
        for role in roles
        for way in ways(graph, role)
    )


def split(state: State, holds: Callable[[World], bool]) -> tuple[State, State]:
    """Those of which it holds, and the others."""
    yes = frozenset(w for w in state if holds(w))
    return yes, state - yes


def split_by(state: State, name: str) -> tuple[State, State]:
    """Those with the rule or entry, and those without."""
    parts = {bound: bound.split(name) for bound in _bindings(state)}
    yes = {bound: found for bound, (found, _) in parts.items()}
    no = {bound: missed for bound, (_, missed) in parts.items()}
    return _binding(state, yes), _binding(state, no)


def bind(state: State, name: str) -> State:
    return _binding(state, {bound: bound.bind(name) for bound in _bindings(state)})


def unbind(state: State, name: str) -> State:
    return _binding(state, {bound: bound.unbind(name) for bound in _bindings(state)})


def surely_bound(state: State, name: str) -> bool:
    return all(bound.surely(name) for bound in _bindings(state))


def perhaps_bound(state: State, name: str) -> bool:
    return any(bound.perhaps(name) for bound in _bindings(state))


def forget(state: State, names: frozenset[str]) -> State:
    """The packets, told apart by none of these rules and entries; classes that differ in nothing
    but what is bound are one."""
    done: dict[Bindings, Bindings] = {}
    state = _binding(state, {bound: bound.forget(names, done) for bound in _bindings(state)})
    if len(_bindings(state)) < 2:
        return state
    alike: dict[World, World] = {}
    for w in state:
        shape = w._replace(bound=w.bound.table.bare)
        known = alike.setdefault(shape, w)
        if known is not w:
            alike[shape] = known._replace(bound=known.bound.join(w.bound))
    return frozenset(alike.values())


def size(state: State) -> int:
    """How many classes there are, and what it takes to say what is bound in them."""
    bindings = _bindings(state)
    nodes = nodes_of(bindings)
    if bindings and sift_if_large(next(iter(bindings)).table, nodes):
        nodes = nodes_of(bindings)
    return len(state) + nodes


def _bindings(state: State) -> set[Bindings]:
    return {w.bound for w in state}


def _binding(state: State, made: dict[Bindings, Bindings]) -> State:
    """The packets, with what was made of their bindings; those are left out that have none."""
    if all(bound is before for before, bound in made.items()):
        return state
    left = {before: bound for before, bound in made.items() if bound is not bound.table.none}
    return frozenset(
        w if left[w.bound] is w.bound else w._replace(bound=left[w.bound])
        for w in state
        if w.bound in left
    )


def without(scope: Scope, name: str) -> Scope:
    """The scope where it is another rule or entry that is bound under the name."""
    scope = replace(scope, tested=Facts(scope.tested))
    scope.tested.forget({name})
    return scope


def roles_of(worlds: Iterable[World]) -> list[str]:
    return sorted({w.role for w in worlds})


@dataclass(frozen=True)
class Bound:
    """What a name in the source stands for: a rule of this kind (or "port"), named so there."""

    name: str
    kind: str
    span: Span


class Fact(NamedTuple):
    """In this arm the element of the bound rule has one of these values."""

    binding: str
    element: str
    values: tuple[int, ...]


@dataclass(frozen=True)
class Scope:
    """`names`: what match arms and parameters bind; `values`: what `let` named, None where that
    is wrong; `asked`: names that what stands behind the block mentions; `taken`: names of the model
    that are in use; `tested`: comparisons that hold here; `come`: the packets that come to the
    condition of which this is a part; `applied`: the actions that are being inlined."""

    names: dict[str, Bound] = field(default_factory=dict)
    values: dict[str, Value | None] = field(default_factory=dict)
    asked: frozenset[str] = frozenset()
    facts: tuple[Fact, ...] = ()
    taken: frozenset[str] = frozenset()
    tested: Facts = field(default_factory=Facts)
    come: State = frozenset()
    applied: tuple[tree.Action, ...] = ()

    def fresh(self, name: str) -> str:
        """A name for the model that nothing around has."""
        made, number = name, 2
        while made in self.taken:
            made, number = f"{name}_{number}", number + 1
        return made


class Narrowed(NamedTuple):
    """A condition, and the packets for which it holds and does not."""

    condition: model.Condition | None
    yes: State
    no: State


def knowing(scope: Scope, asked: Narrowed, holds: bool) -> Scope:
    """The scope of what is read only where a condition holds, or does not."""
    return replace(scope, tested=Facts(scope.tested, implied(asked.condition, holds)))
