"""What is known of the packets that reach a place: on which port, with which nodes and rules."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

from ...lang import tree
from ...lang.text.source import Span
from .. import model
from ..model.parse_graph import ways
from .ranges import Facts
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
    positions of those present, outermost first; `bound`: names of rules; `changes`: its pops,
    pushes and appends so far."""

    role: str
    present: int
    chain: tuple[int, ...] = ()
    pushed: int = 0
    bound: frozenset[str] = frozenset()
    owed: frozenset[Debt] = frozenset()
    changes: tuple[Change, ...] = ()

    @property
    def appended(self) -> bool:
        return any(change.what == "append" for change in self.changes)


State = frozenset[World]


def at_arrival(graph: model.Graph, roles: Iterable[str]) -> State:
    return frozenset(
        World(role, way, tuple(i for i in range(len(graph.nodes)) if way >> i & 1))
        for role in roles
        for way in ways(graph, role)
    )


def split(state: State, holds: Callable[[World], bool]) -> tuple[State, State]:
    """Those of which it holds, and the others."""
    yes = frozenset(w for w in state if holds(w))
    return yes, state - yes


def bind(state: State, name: str) -> State:
    return frozenset(w._replace(bound=w.bound | {name}) for w in state)


def unbind(state: State, name: str) -> State:
    return frozenset(w._replace(bound=w.bound - {name}) for w in state)


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
    is wrong; `asked`: names that
    what stands behind the block mentions; `taken`: names of the model that are in use;
    `tested`: comparisons that hold here; `applied`: the actions that are being inlined."""

    names: dict[str, Bound] = field(default_factory=dict)
    values: dict[str, Value | None] = field(default_factory=dict)
    asked: frozenset[str] = frozenset()
    facts: tuple[Fact, ...] = ()
    taken: frozenset[str] = frozenset()
    tested: Facts = field(default_factory=Facts)
    applied: tuple[tree.Action, ...] = ()

    def fresh(self, name: str) -> str:
        """A name for the model that nothing around has."""
        made, number = name, 2
        while made in self.taken:
            made, number = f"{name}_{number}", number + 1
        return made
