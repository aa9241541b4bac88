"""Scenarios towards what no packet has reached: those that came right in front of it, a little
changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hypothesis import strategies as st

from ...lang.contract.request.request import Request
from ..interpret.coverage import Goal, Key
from ..interpret.reached import RUN, Reached
from ..model import (
    Attribute,
    Choose,
    Const,
    Find,
    Found,
    Packet,
    Pipeline,
    Recall,
    Recalled,
    Remember,
    RuleKind,
    Said,
)
from ..model.walk import walk
from .changed_packets import changed, with_same
from .packets import Drawn, packets
from .rules import RuleMaker
from .session import Session
from .wanted import Leaf, Operands, Wanted, operands, wanted

_KEPT = 12  # for one place
_STEPS_MOST = 24


@dataclass(frozen=True, repr=False)
class Kept:
    """A packet that came to some place in the scenario of that number, what matters of the
    steps before it (requests, packets that wrote into state tables), and what it was compared
    with."""

    scenario: int
    steps: tuple[Request | Drawn, ...]
    packet: Drawn
    operands: Operands


@dataclass(frozen=True, repr=False)
class Writer:
    """A packet that left an entry in a state table, by that statement. `keys`: what a packet reads
    by there, and what of this one must have the same values for that to find the entry."""

    packet: Drawn
    wrote: Remember
    keys: tuple[tuple[Said, Said], ...]


@dataclass(frozen=True, repr=False)
class Aim:
    """A goal, what was kept in front of it, writers of the state tables that decide about it."""

    goal: Goal
    kept: tuple[Kept, ...]
    writers: tuple[Writer, ...]


class Corpus:
    """The last few packets that came to each place, one of a scenario."""

    def __init__(self, pipeline: Pipeline) -> None:
        self._states = [p for p in walk(pipeline.stages) if isinstance(p, Recall | Remember)]
        self._writing = {(p.span, RUN) for p in self._states if isinstance(p, Remember)}
        self._kept: dict[Key, list[Kept]] = {}
        self._scenario = 0
        self._before: list[Request | Drawn] = []

    def begin(self) -> None:
        """Another scenario."""
        self._scenario += 1
        self._before = []

    def requested(self, request: Request) -> None:
        self._before.append(request)

    def met(self, packet: Drawn, reached: Reached) -> None:
        seen = operands(reached.compared or ())
        kept = Kept(self._scenario, tuple(self._before), packet, seen)
        for key in reached.statements:
            known = self._kept.setdefault(key, [])
            if known and known[-1].scenario == self._scenario:
                known.pop()
            elif known and len(kept.steps) > _STEPS_MOST:
                continue
            known.append(kept)
            del known[:-_KEPT]
        if reached.statements & self._writing:
            self._before.append(packet)

    def aims(self, goals: Sequence[Goal]) -> list[Aim]:
        """Those of the goals that something can be drawn for, with what is known by now."""
        found = [Aim(g, self._at(g.after), self._writers(g.decides)) for g in goals]
        return [aim for aim in found if aim.kept or aim.goal.edge]

    def _writers(self, decides: object) -> tuple[Writer, ...]:
        names = {part.state for part in walk(decides) if isinstance(part, Recall | Recalled)}
        reading = [p for p in self._states if isinstance(p, Recall) and p.state in names]
        return tuple(
            Writer(kept.packet, part, tuple(zip(recall.key, part.values, strict=False)))
            for part in self._states
            if isinstance(part, Remember)
            for recall in reading
            if recall.state == part.state
            for kept in self._at((part.span, RUN))
        )

    def _at(self, key: Key | None) -> tuple[Kept, ...]:
        return tuple(self._kept.get(key, ())) if key else ()


@st.composite
def steered(draw: st.DrawFn, maker: RuleMaker, aims: Sequence[Aim]) -> list[Request | Drawn]:
    """Steps towards one of the aims: its packet again and again, each time with something changed,
    most often what decides, and the rules that it depends on as well."""
    pipeline, world = maker.pipeline, maker.world
    aim = draw(st.sampled_from(aims))
    decides = aim.goal.decides
    if aim.goal.edge is not None:
        kept = Kept(0, (), draw(packets(pipeline, world, aim.goal.edge)), {})
    else:
        kept = draw(st.sampled_from(aim.kept))
    kinds = _kinds(pipeline, decides)
    matched = [match.operand for kind in kinds for match in kind.match]
    fields = [(p.node, p.field) for p in walk((decides, *matched)) if isinstance(p, Packet)]
    turning = wanted(decides, kept.operands, world.environment)
    given = [w for w in turning if isinstance(w, Leaf) and isinstance(w.of, Attribute)]
    near = changed(kept.packet, pipeline, world, fields, [w for w in turning if w not in given])
    drawn = [kept.packet, *draw(st.lists(near, min_size=2, max_size=6))]
    requests = [step for step in kept.steps if isinstance(step, Request)]
    session = Session(maker, draw, drawn, requests)
    steps = list(kept.steps) or [*session.created()]
    if aim.writers:
        steps += _written(session, draw(st.sampled_from(_able(pipeline, aim, turning))), kept)
    ways = ["", "admitted", "admitted", "changed", *["changed"] * 2 * bool(kinds)]
    ways += ["given"] * 3 * bool(given)
    for packet in drawn:
        match draw(st.sampled_from(ways)):
            case "changed":
                steps += session.changed(kinds if draw(st.integers(0, 3)) else ())
            case "admitted":
                steps += session.admitted(packet)
            case "given":
                steps += session.given(draw(st.sampled_from(given)))
        steps.append(packet)
    return steps


def _written(session: Session, writer: Writer, kept: Kept) -> Iterator[Request | Drawn]:
    """The writer with the key that the packet reads by, and rules that let it through."""
    same = [(a, b) for a, b in writer.keys if isinstance(a, Packet) and isinstance(b, Packet)]
    packet = with_same(writer.packet, kept.packet, same)
    yield from session.admitted(packet)
    for read, wrote in writer.keys:
        if isinstance(read, Packet) and isinstance(wrote, Attribute):
            yield from session.given(Leaf(wrote, _value(kept.packet, read)))
        elif isinstance(read, Attribute) and isinstance(wrote, Packet):
            yield from session.given(Leaf(read, _value(packet, wrote)))
    yield packet


def _value(packet: Drawn, of: Packet) -> int:
    """What was drawn for the field; else 0, as most defaults are."""
    values = next((g.values for g in packet.headers if g.node.name == of.node), {})
    value = values.get(of.field)
    return value if isinstance(value, int) else 0


def _able(pipeline: Pipeline, aim: Aim, turning: Sequence[Wanted]) -> Sequence[Writer]:
    """Writers that may leave what is wanted of an entry; all where none may."""
    slots = [w for w in turning if isinstance(w, Leaf) and isinstance(w.of, Recalled)]
    able = [w for w in aim.writers if any(_may_say(pipeline, w.wrote, s) for s in slots)]
    return able or aim.writers


def _may_say(pipeline: Pipeline, wrote: Remember, wish: Leaf) -> bool:
    """Whether what was remembered there may have the slot as it is wanted."""
    assert isinstance(wish.of, Recalled)
    state = pipeline.state(wrote.state)
    said = dict(
        zip((slot.name for slot in (*state.match, *state.given)), wrote.values, strict=False)
    )
    value = said.get(wish.of.slot)
    known = isinstance(value, Const) and value.value != wish.value
    return wish.of.state == wrote.state and not known


def _kinds(pipeline: Pipeline, decides: object) -> list[RuleKind]:
    """The rule kinds that it depends on."""
    names = dict[str, None]()
    for part in walk(decides):
        match part:
            case Attribute(_, name) | Found(name) | Find(name):
                names[name] = None
            case Choose():
                names |= dict.fromkeys((part.rule, part.group, part.binding_rule))
    return [rule for rule in pipeline.rules if rule.name in names]
