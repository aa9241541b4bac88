"""Scenarios towards what no packet has reached: those that came right in front of it, a little
changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hypothesis import strategies as st

from ...lang.contract.request.request import Request
from ..interpret.coverage import Goal, Key
from ..interpret.reached import RUN, Reached
from ..lower.reads import walk
from ..model import (
    Attribute,
    Choose,
    Find,
    Found,
    Packet,
    Pipeline,
    Recall,
    Recalled,
    Remember,
    RuleKind,
)
from .packets import Drawn, changed, packets, with_same
from .rules import RuleMaker
from .session import Session

_KEPT = 12  # for one place
_STEPS_MOST = 24


@dataclass(frozen=True, repr=False)
class Kept:
    """A packet that came to some place in the scenario of that number, and what matters of the
    steps before it: requests, packets that wrote into state tables."""

    scenario: int
    steps: tuple[Request | Drawn, ...]
    packet: Drawn


@dataclass(frozen=True, repr=False)
class Writer:
    """A packet that left an entry in a state table. `same`: fields of a packet that reads there,
    and those of this one that must have the same values for that to find the entry."""

    packet: Drawn
    same: tuple[tuple[Packet, Packet], ...]


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
        kept = Kept(self._scenario, tuple(self._before), packet)
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
            Writer(kept.packet, _same(recall, part))
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
    and the rules that it depends on as well."""
    pipeline, world = maker.pipeline, maker.world
    aim = draw(st.sampled_from(aims))
    decides = aim.goal.decides
    if aim.goal.edge is not None:
        kept = Kept(0, (), draw(packets(pipeline, world, aim.goal.edge)))
    else:
        kept = draw(st.sampled_from(aim.kept))
    fields = [(p.node, p.field) for p in walk(decides) if isinstance(p, Packet)]
    near = changed(kept.packet, pipeline, world, fields)
    drawn = [kept.packet, *draw(st.lists(near, min_size=2, max_size=6))]
    if aim.writers:
        writer = draw(st.sampled_from(aim.writers))
        drawn.insert(0, with_same(writer.packet, kept.packet, writer.same))
    requests = [step for step in kept.steps if isinstance(step, Request)]
    session = Session(maker, draw, drawn, requests)
    steps = list(kept.steps) or [*session.created()]
    kinds = _kinds(pipeline, decides)
    ways = ["", "admitted", "admitted", "changed", *["changed"] * 2 * bool(kinds)]
    for packet in drawn:
        match draw(st.sampled_from(ways)):
            case "changed":
                steps += session.changed(kinds if draw(st.integers(0, 3)) else ())
            case "admitted":
                steps += session.admitted(packet)
        steps.append(packet)
    return steps


def _same(recall: Recall, remember: Remember) -> tuple[tuple[Packet, Packet], ...]:
    pairs = zip(recall.key, remember.values, strict=False)  # what it holds stands behind the key
    return tuple((a, b) for a, b in pairs if isinstance(a, Packet) and isinstance(b, Packet))


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
