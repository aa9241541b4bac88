"""A scenario: requests, and packets that meet their rules; whether all semantics make the same of
it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

from hypothesis import strategies as st

from ...lang.contract.manifest.manifest import Manifest
from ...lang.contract.request.request import Request, request_text
from ...lang.contract.rules.plan import Plan
from ...lang.contract.rules.rulebook import RuleBook
from ...lang.contract.world.environment import Environment, Outcome
from ...lang.contract.world.moment import Moment
from ..driver import lower_pipeline
from ..interpret.coverage import Coverage, Goal
from ..interpret.packet import Interpreter
from ..interpret.reached import Reached
from ..ir.interpreter.machine import Machine
from ..ir.interpreter.memory import NotInterpreted
from ..ir.unit import Unit
from ..lower.reads import copies
from ..lower.unit import Join, Target
from ..manifest import manifest_of
from ..model import Pipeline
from .moments import timed
from .packets import Drawn, packets, variations
from .rules import RuleMaker
from .semantics import Answer, Half, Stages, answer, differing, said, stages
from .session import Session, ask, new_book
from .steering import Aim, Corpus, steered
from .world import World, world_of

if TYPE_CHECKING:
    from hypothesis.vendor.pretty import RepresentationPrinter

SHORTEST = 14  # bytes: the kernel test-runs nothing shorter
SHORTEST_AT_TC = 14 + 40  # for programs at tc
PACKETS_MOST = 10
_PATIENCE = 8


class Kernel(Protocol):
    """What runs packets through compiled programs: `runtime.testrun.PrivateRun`."""

    def set_environment(self, environment: Environment) -> None: ...

    def set_rules(self, rules: RuleBook) -> None: ...

    def forget(self) -> None: ...

    def set_moment(self, moment: Moment) -> None: ...

    def apply(self, plan: Plan) -> None: ...

    def run(self, frame: bytes, port: int) -> Outcome: ...


@dataclass(frozen=True)
class Scenario:
    """Requests and packets, one after the other. Requests that are refused change nothing."""

    steps: tuple[Request | Drawn, ...]

    @property
    def requests(self) -> tuple[Request, ...]:
        return tuple(step for step in self.steps if isinstance(step, Request))

    @property
    def packets(self) -> tuple[Drawn, ...]:
        return tuple(step for step in self.steps if isinstance(step, Drawn))

    def __repr__(self) -> str:
        return "\n".join(
            request_text(step).strip() if isinstance(step, Request) else repr(step)
            for step in self.steps
        )

    def _repr_pretty_(self, printer: RepresentationPrinter, cycle: bool) -> None:
        """As hypothesis shows it: without the graph that it was drawn from."""
        printer.text(repr(self))


@dataclass(frozen=True)
class Meeting:
    """A packet that was run: which step of the scenario, what the model's interpreter expected,
    what came out of the kernel, and of the intermediate representation (None: it is not
    interpreted)."""

    index: int
    expected: Outcome
    got: Outcome
    lowered: Answer | None = None

    @property
    def agree(self) -> bool:
        return not self.wrong

    @property
    def wrong(self) -> frozenset[Half]:
        """Which halves of the compiler make a difference."""
        lowered = None if self.lowered is None else said(self.lowered)
        return differing(said(self.expected), lowered, said(self.got))


class Fuzzed:
    """A pipeline in a world that is made for it, compiled to that `join`. `coverage`: of all
    packets that were run."""

    def __init__(self, pipeline: Pipeline, join: Join = "staged") -> None:
        self.pipeline, self._join = pipeline, join
        self.world: World = world_of(pipeline)
        self._reached = Reached()
        self.coverage = Coverage(pipeline, self._reached)
        self._corpus = Corpus(pipeline)
        self._goals: list[Goal] = []
        self.timed = timed(pipeline)
        self._in_vain = 0  # how often in a row nothing new was reached

    @cached_property
    def unit(self) -> Unit:
        """What stands between the model and the kernel; may be set to what that was built of."""
        target: Target = "tc" if copies(self.pipeline) else "host"
        return lower_pipeline(self.pipeline, self._join, target=target)

    @property
    def shortest(self) -> int:
        """Bytes of the shortest frame that the kernel runs."""
        return SHORTEST_AT_TC if self.unit.target == "tc" else SHORTEST

    @cached_property
    def manifest(self) -> Manifest:
        return manifest_of(self.pipeline, self.unit)

    @cached_property
    def rules(self) -> RuleMaker:
        return RuleMaker(self.pipeline, self.manifest, self.world)

    def packets(self) -> st.SearchStrategy[Drawn]:
        return packets(self.pipeline, self.world)

    def scenarios(self) -> st.SearchStrategy[Scenario]:
        return _scenario(self)

    def steered(self) -> st.SearchStrategy[Scenario]:
        """Scenarios of which six in ten are drawn towards what no packet has reached by now; fewer
        if nothing new was reached for a while."""
        goals = self.coverage.goals()
        self._in_vain = 0 if self._goals != goals else self._in_vain + 1
        self._goals = goals
        towards = self._corpus.aims(goals)
        tenths = 6 if self._in_vain < _PATIENCE else 3
        return _either(self, towards, tenths) if towards else _scenario(self)

    def taken(self, scenario: Scenario) -> Scenario:
        """Without the requests that are refused."""
        book, steps = new_book(self.manifest, self.world.environment), list[Request | Drawn]()
        for step in scenario.steps:
            if isinstance(step, Drawn) or ask(book, step) is not None:
                steps.append(step)
        return Scenario(tuple(steps))

    def meetings(self, scenario: Scenario, kernel: Kernel) -> Iterator[Meeting]:
        """Each packet of the scenario that the kernel can run, in order, through all semantics."""
        self._corpus.begin()
        book = new_book(self.manifest, self.world.environment)
        kernel.set_rules(book)
        kernel.forget()
        reached = Reached(comparing=True)
        interpreter = Interpreter(self.pipeline, self.world.environment, reached)
        machine = Machine(self.unit, self.world.environment, self.pipeline.default)
        moment = Moment()
        for index, step in enumerate(scenario.steps):
            if isinstance(step, Request):
                if ask(book, step, kernel) is not None:
                    self._corpus.requested(step)
            elif len(frame := step.arriving(self.world)) >= self.shortest:
                moment = step.moment(moment)
                for clock in (interpreter, machine, kernel):
                    clock.set_moment(moment)
                expected = interpreter.run(book, frame, step.port)
                self._corpus.met(step, reached)
                self._reached.add(reached)
                reached.clear()
                got = kernel.run(frame, step.port)
                yield Meeting(index, expected, got, _lowered(machine, book, frame, step.port))

    def made_by(self, scenario: Scenario) -> str | None:
        """What in the compiler's first half made the first stage that differs on the scenario: the
        lowering or a pass; None where none does. Raises `NotInterpreted`."""
        book, environment = new_book(self.manifest, self.world.environment), self.world.environment
        interpreter = Interpreter(self.pipeline, environment)
        made = stages(self.pipeline, self._join, target=self.unit.target)
        every = Stages(self.pipeline, made, environment)
        moment = Moment()
        for step in scenario.steps:
            if isinstance(step, Request):
                ask(book, step)
            elif len(frame := step.arriving(self.world)) >= self.shortest:
                moment = step.moment(moment)
                interpreter.set_moment(moment)
                every.set_moment(moment)
                expected = interpreter.run(book, frame, step.port)
                _, wrong = every.run(book, frame, step.port, expected)
                if wrong is not None:
                    return wrong
        return None


def _lowered(machine: Machine, book: RuleBook, frame: bytes, port: int) -> Answer | None:
    try:
        return answer(machine, book, frame, port)
    except NotInterpreted:
        return None


@st.composite
def _scenario(draw: st.DrawFn, fuzzed: Fuzzed) -> Scenario:
    """Variations on a few packets, so that several of them meet the same rules. In front of some
    the rules change."""
    bases = draw(st.lists(fuzzed.packets(), min_size=1, max_size=3))
    varied = st.sampled_from(bases).flatmap(lambda base: variations(base, fuzzed.world))
    drawn = (*bases, *draw(st.lists(varied, min_size=2, max_size=PACKETS_MOST)))
    session = Session(fuzzed.rules, draw, drawn)
    steps: list[Request | Drawn] = [*session.created()]
    for packet in drawn:
        if draw(st.integers(0, 3)) == 3:
            steps += [*session.changed(), *session.meeting()]
        steps.append(draw(fuzzed.timed(packet)))
    return Scenario(tuple(steps))


@st.composite
def _either(draw: st.DrawFn, fuzzed: Fuzzed, towards: Sequence[Aim], tenths: int) -> Scenario:
    if draw(st.integers(1, 10)) > tenths:
        return draw(_scenario(fuzzed))
    steps = draw(steered(fuzzed.rules, towards))
    return Scenario(tuple(draw(fuzzed.timed(s)) if isinstance(s, Drawn) else s for s in steps))
