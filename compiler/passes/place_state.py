"""Where what the parser found is kept: in registers, or in the scratch record, from which later
programs, and what must not hold the verifier up, make their pointers again.

In registers a pointer is a member of the state. In memory only numbers are kept; a pointer is made
where it is first used, and again where the place of its header was changed. Where a pointer is sure
not to be null, and no test in front showed that, the verifier is shown it by one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from ...lang.text.source import Span
from ..headers.groups import packet_end
from ..ir.expr import Call, Expr, Name, NotNull, RecordOf, State, StatePointer, not_
from ..ir.nodes import (
    AssumeNot,
    Barrier,
    Block,
    Body,
    Function,
    If,
    KnownNotNull,
    Let,
    MakePointer,
    Moved,
    Only,
    Repeat,
    Set,
    Statement,
    StatementStart,
)
from ..ir.rewrite import rebuilt, with_expressions
from ..ir.types import BYTES, U16, U32, Int, Pointer, Type
from ..ir.unit import Unit, with_functions
from ..ir.walk import ends, expressions, own_expressions
from ..model import Pipeline
from ..model.parse_graph import MANY_WAYS, count_ways, reachable, sometimes_leading


def place_state(unit: Unit, in_memory: frozenset[str], forget: bool = False) -> Unit:
    """`in_memory`: roles whose state is in the scratch record; helpers find theirs there in any
    case. `forget`: nothing is kept in registers from one statement of the `.hp` file to the
    next."""
    placed = [
        _placed(f, f.role in in_memory or not f.stage, forget and bool(f.stage))
        for f in unit.functions
    ]
    placed = [f if f.stage or f.role in in_memory else replace(f, takes=taken(f)) for f in placed]
    made = with_functions(unit, placed)
    programs = (replace(p, ways=None if p.role in in_memory else p.ways) for p in made.programs)
    return replace(made, programs=tuple(programs))


#: Nodes whose parser has few enough ends that the verifier can follow each through a fused program.
#: Of more, what the parser found goes through memory, as it does between programs.
FEW_NODES = 8


def needs_memory(pipeline: Pipeline, role: str, unit: Unit) -> bool:
    """Whether what the parser finds on a role has to go into the scratch record. There a header
    that a pop removes from some packets only is found by its place."""
    many = count_ways(pipeline.graph, role) > MANY_WAYS
    few = len(reachable(pipeline.graph, role)) <= FEW_NODES
    mixed = bool(sometimes_leading(pipeline.graph, role))
    chained = any(reachable(pipeline.graph, role) & {*c.members} for c in pipeline.graph.chains)
    walked = any(n.options for n in pipeline.graph.nodes)  # by a function of their own
    apart = unit.join == "staged" or chained or walked or unit.copies
    return unit.target != "nfp" and (apart or many or not few or mixed)


def _placed(function: Function, memory: bool, forget: bool) -> Function:
    return replace(function, body=_Place(memory, forget).body(function.body))


def taken(helper: Function) -> tuple[str, ...]:
    """The members of the scratch record that a helper reads, which callers put there."""
    used = (x for x in expressions(helper.body) if isinstance(x, State))
    return tuple(sorted({x.member for x in used if x.scratch and isinstance(x.type, Int)}))


@dataclass
class _Place:
    """`made`: pointers that the function has on this way, null or not, and what they were made of.
    `known`: those that are not null. `sets`: those that were set in this branch. `moved`: a frame
    may lie elsewhere than where it did."""

    memory: bool
    forget: bool
    made: dict[State, Expr] = field(default_factory=dict)
    known: set[State] = field(default_factory=set)
    sets: set[State] = field(default_factory=set)
    names: list[int] = field(default_factory=lambda: [0])
    moved: bool = False

    def branch(self, body: Body) -> Body:
        """One way of a branch: what it learns stays there. Of a pointer that it sets, the verifier
        knows behind it what it knew in the branch: perhaps by a number, and that is forgotten."""
        inside = replace(self, made=dict(self.made), known=set(self.known), sets=set(), moved=False)
        placed = inside.body(body)
        if inside.moved and not ends(body):
            self.made.clear()
            self.known.clear()
            self.moved = True
        self.known -= inside.sets
        self.sets |= inside.sets
        return placed

    def body(self, body: Body) -> Body:
        placed = tuple(made for s in body for made in self._statement(s))
        sets = (s.place for s in placed if isinstance(s, Set))
        self.sets.update(place for place in sets if isinstance(place, State))
        return placed

    def _statement(self, s: Statement) -> Iterator[Statement]:
        match s:
            case Moved():
                self.made.clear()
                self.known.clear()
                self.moved = True
                return
            case StatementStart():
                if self.forget:
                    self.made.clear()
                    self.known.clear()
                    yield Barrier(s.span)
                yield s
                return
            case KnownNotNull(places):
                self.known.update(place for place in places if isinstance(place, State))
                return
            case MakePointer(StatePointer() as pointer):
                yield from self._make(pointer, s)
                return
            case Only(memory, body):
                if memory == self.memory:
                    yield from self.body(body)
                return
        for kept in _kept(s):
            yield from self._make(kept, s)
        s = with_expressions(s, self._resolved)
        match s:
            case Set(State() as place, _) if isinstance(place.type, Pointer):
                self.made[place] = place
                self.known.discard(place)
            case If(test, then, otherwise, unlikely):
                s = If(test, self.branch(then), self.branch(otherwise), unlikely, s.span)
            case Block(inner):
                s = replace(s, body=self.body(inner))
            case Repeat(_, _, _, inner):  # the round before may have moved the frame
                self.made.clear()
                self.known.clear()
                s = replace(s, body=self.branch(inner))
                self.made.clear()
                self.known.clear()
        yield s

    def _make(self, kept: StatePointer, s: Statement) -> Iterator[Statement]:
        """What has to be done before a statement uses a pointer."""
        place = kept.place
        if self.memory and self.made.get(place) not in (place, kept.again):
            self.made[place] = kept.again
            self.known.discard(place)
            again = kept.again
            if isinstance(again, RecordOf):  # by a key on the stack
                self.names[0] += 1
                slot = Name(f"kept_{self.names[0]}")
                yield Let(slot, self._resolved(again.slot), s.span)
                again = replace(again, slot=slot)
            again = rebuilt(again, self._resolved)
            if kept.sure and isinstance(again, Call):
                self.known.add(place)
                yield from _there(place, again, s.span)
                return
            yield Set(place, again, span=s.span)
        if kept.sure and place not in self.known:
            self.known.add(place)
            yield AssumeNot(not_(NotNull(place)), s.span)

    def _resolved(self, x: Expr) -> Expr:
        if isinstance(x, StatePointer):
            return x.place
        return self._number(x) if isinstance(x, State) else x

    def _number(self, x: State) -> State:
        """A number of the state where it is kept: in the scratch record some are narrower."""
        if not self.memory or x.scratch or not isinstance(x.type, Int):
            return x
        return replace(x, type=_IN_SCRATCH.get(x.member, _in_scratch(x)), scratch=True)


_IN_SCRATCH = {"length": U32, "link": U16}


def _in_scratch(x: State) -> Type:
    return U16 if x.member.endswith("_at") else x.type


def _there(place: State, again: Call, span: Span | None) -> Iterator[Statement]:
    """A pointer to a header that is there: only the verifier asks whether all of it is."""
    context, at, size = again.arguments
    yield Set(place, Call("there_at", (context, at), BYTES), span=span)
    yield AssumeNot(place + size > packet_end(), span)


def _kept(s: Statement) -> list[StatePointer]:
    return [x for x in own_expressions(s) if isinstance(x, StatePointer)]
