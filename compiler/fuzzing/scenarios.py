"""A scenario: rules, and packets that meet them; whether two backends make the same of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

from hypothesis import strategies as st

from ...lang.diagnostics import Refused
from ...lang.request import Request, request_text
from ..interpret import Interpreter
from ..interpreter.environment import Environment, Outcome
from ..manifest import Manifest
from ..model import Pipeline
from ..phases import lower_pipeline, manifest_of
from ..requests.rulebook import RuleBook
from .packets import Drawn, packets, variations
from .rules import RuleMaker, new_book, read_again
from .world import World, world_of

SHORTEST = 14  # octets: the kernel test-runs nothing shorter
PACKETS_MOST = 10


class Kernel(Protocol):
    """What runs packets through compiled programs: `runtime.testrun.PrivateRun`."""

    def set_environment(self, environment: Environment) -> None: ...

    def set_rules(self, rules: RuleBook) -> None: ...

    def forget(self) -> None: ...

    def run(self, frame: bytes, port: int) -> Outcome: ...


@dataclass(frozen=True)
class Scenario:
    """`requests` are asked one after the other; those that are refused change nothing."""

    requests: tuple[Request, ...]
    packets: tuple[Drawn, ...]

    def __repr__(self) -> str:
        rules = "".join(map(request_text, self.requests))
        return "\n".join([rules, *map(repr, self.packets)])


@dataclass(frozen=True)
class Meeting:
    """A packet that was run on both: which of the scenario's, what came out of each."""

    index: int
    expected: Outcome
    got: Outcome

    @property
    def agree(self) -> bool:
        return said(self.expected) == said(self.got)


class Fuzzed:
    """A pipeline in a world that is made for it."""

    def __init__(self, pipeline: Pipeline) -> None:
        self.pipeline = pipeline
        self.world: World = world_of(pipeline)

    @cached_property
    def manifest(self) -> Manifest:
        return manifest_of(self.pipeline, lower_pipeline(self.pipeline))

    @cached_property
    def rules(self) -> RuleMaker:
        return RuleMaker(self.pipeline, self.manifest, self.world)

    def packets(self) -> st.SearchStrategy[Drawn]:
        return packets(self.pipeline, self.world)

    def scenarios(self) -> st.SearchStrategy[Scenario]:
        return _scenario(self)

    def book(self, requests: tuple[Request, ...]) -> RuleBook:
        """What is in force after these requests."""
        book = new_book(self.manifest, self.world.environment)
        for request in requests:
            try:
                book.commit(book.plan(read_again(request)))
            except Refused:
                continue
        return book

    def meetings(self, scenario: Scenario, kernel: Kernel) -> Iterator[Meeting]:
        """Each packet of the scenario that the kernel can run, in order."""
        book = self.book(scenario.requests)
        kernel.set_rules(book)
        kernel.forget()
        interpreter = Interpreter(self.pipeline, self.world.environment)
        for index, packet in enumerate(scenario.packets):
            if len(packet.frame) >= SHORTEST:
                expected = interpreter.run(book, packet.frame, packet.port)
                yield Meeting(index, expected, kernel.run(packet.frame, packet.port))


@st.composite
def _scenario(draw: st.DrawFn, fuzzed: Fuzzed) -> Scenario:
    """Variations on a few packets: so several of them meet the same rules."""
    bases = draw(st.lists(fuzzed.packets(), min_size=1, max_size=3))
    varied = st.sampled_from(bases).flatmap(lambda base: variations(base, fuzzed.world))
    drawn = (*bases, *draw(st.lists(varied, min_size=2, max_size=PACKETS_MOST)))
    return Scenario(fuzzed.rules.requests(draw, drawn), drawn)


def said(outcome: Outcome) -> tuple[object, ...]:
    """What two backends must say alike. A dropped packet's octets are nobody's business."""
    frame = None if outcome.verdict == "drop" else outcome.frame
    counted: Mapping[object, int] = Counter(outcome.counted)
    return outcome.verdict, frame, (outcome.egress, outcome.queue), Counter(outcome.events), counted
