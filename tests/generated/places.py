"""What is known at a statement of a stage, and what all that write statements share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from chance import Chance
from random_facts import Facts, Worlds
from random_rules import Kind
from random_states import State

Lines = list[str]


@dataclass(frozen=True)
class Ground:
    """What the pipeline declares."""

    chance: Chance
    facts: Facts
    kinds: dict[str, Kind]
    states: dict[str, State]
    hooks: dict[str, str]

    @property
    def answers(self) -> bool:
        """Whether packets may be answered with ICMP errors, by hooks or in stages."""
        return "reply icmp" in self.hooks.values() or len(self.hooks) % 2 == 0


class Operand(NamedTuple):
    """Something with a name. `optional`: a rule may leave it out."""

    text: str
    kind: str
    width: int
    optional: bool = False


@dataclass
class Place:
    """`worlds`: sorts of packets that get here. `named`: values that a `let` named. `bound`:
    rules that surely are, by name; `maybe`: all that may be; `recalled`: states of which an
    entry surely was found; `locked`: rules that arms depend on; `asked`: elements that were
    matched on; `free`: packets may be changed here, because all that get behind this place come
    through it. `owed`: no link header announces what a pop left first; `dangling`: nor what a
    push put first; `own`: a pop went to a link header; `opened`: to another one; `bare`: a push
    stands in front of all; `behind`: one stands in front of nobody knows what; `appended`: what
    was pushed stands at the end."""

    worlds: Worlds
    bound: dict[str, Kind] = field(default_factory=dict)
    maybe: set[str] = field(default_factory=set)
    ports: list[str] = field(default_factory=list)
    named: tuple[Operand, ...] = ()
    recalled: frozenset[str] = frozenset()
    locked: frozenset[str] = frozenset()
    asked: frozenset[str] = frozenset()
    pushed: tuple[str, ...] = ()
    appended: bool = False
    popped: bool = False
    owed: bool = False
    dangling: bool = False
    own: bool = False
    opened: bool = False
    bare: bool = False
    behind: bool = False
    clamped: bool = False
    free: bool = True
    action: bool = False
    deep: int = 0
    ends: bool = False  # the packet leaves in this block: it may be pushed upon

    def branch(self, worlds: Worlds | None = None, free: bool = True) -> Place:
        return replace(
            self,
            worlds=self.worlds if worlds is None else worlds,
            bound=dict(self.bound),
            maybe=set(self.maybe),
            ports=list(self.ports),
            free=self.free and free,
            deep=self.deep + 1,
        )

    def meet(self, other: Place) -> None:
        """What is known behind a branch that another way goes through as well."""
        self.maybe |= other.maybe
        self.worlds |= other.worlds
        self.bound = {n: k for n, k in self.bound.items() if n in other.bound}
        self.recalled &= other.recalled

    @property
    def sure(self) -> list[str]:
        """Nodes that all packets have as they came."""
        some = min(self.ways, default=())
        return [n for n in some if n not in self.pushed and all(n in way for way in self.ways)]

    @property
    def ways(self) -> set[tuple[str, ...]]:
        """The nodes of the packets here, outermost first."""
        return {w.way for w in self.worlds}

    @property
    def perhaps(self) -> list[str]:
        """Rule kinds that were found for some packets here, and not for others."""
        found = {name for w in self.worlds for name in w.found}
        return [n for n in sorted(found) if not all(n in w.found for w in self.worlds)]

    def change(self, changed: Callable[[tuple[str, ...]], tuple[str, ...]]) -> None:
        """Let packets have other nodes."""
        self.worlds = frozenset(w._replace(way=changed(w.way)) for w in self.worlds)

    @property
    def settled(self) -> bool:
        """Whether the packet may leave with its own link header."""
        return not (self.owed or self.dangling or self.bare)


def nested(lines: Lines) -> Lines:
    return [f"  {line}" for line in lines]
