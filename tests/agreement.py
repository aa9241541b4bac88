"""The interpreter and the kernel, side by side on any pipeline."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from dataclasses import dataclass

from helioc.compiler.interpret import Interpreter
from helioc.compiler.interpreter.environment import Environment, Outcome, Rules
from helioc.compiler.model import Pipeline
from helioc.compiler.requests.rulebook import RuleBook
from helioc.lang.diagnostics import Refused
from helioc.lang.request_parser import parse_request
from helioc.lang.source import Source
from helioc.runtime.testrun import PrivateRun
from hypothesis import HealthCheck, settings

SHORTEST = 14  # the kernel test-runs nothing shorter
quick = settings(
    deadline=None, database=None, suppress_health_check=list(HealthCheck), print_blob=True
)


def said(outcome: Outcome) -> tuple[object, ...]:
    """What both must say alike. A dropped packet's bytes are nobody's business."""
    return (
        outcome.verdict,
        outcome.frame.hex() if outcome.frame is not None else None,
        outcome.egress,
        Counter(outcome.events),
        Counter(outcome.counted),
    )


@dataclass(frozen=True, repr=False)
class Both:
    """A pipeline in both, in one world."""

    pipeline: Pipeline
    world: Environment
    kernel: PrivateRun

    def book(self, *requests: str) -> RuleBook:
        """A rule book with what of these requests is not refused, and the kernel with its rules."""
        ports = self.world.ports
        book = RuleBook(
            self.kernel.manifest,
            {p.name: p.number for p in ports},
            {p.number: p.ifindex for p in ports},
        )
        self.kernel.set_rules(book)
        for text in requests:
            with suppress(Refused):
                plan = book.plan(parse_request(Source("request", text)))
                self.kernel.apply(plan)
                book.commit(plan)
        return book

    def agree(self, rules: Rules, frame: bytes, port: int) -> Outcome:
        """What becomes of a frame, said by both."""
        expected = Interpreter(self.pipeline, self.world).run(rules, frame, port)
        if len(frame) >= SHORTEST:
            got = self.kernel.run(frame, port)
            assert said(got) == said(expected), f"port {port}: {frame.hex()}\n{expected.trace}"
        return expected
