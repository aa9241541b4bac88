"""The interpreter, the intermediate representation and the kernel, side by side on any pipeline."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Literal

from helioc.compiler.bundle import compile_pipeline
from helioc.compiler.interpret.packet import Interpreter
from helioc.compiler.ir.interpreter.machine import Machine
from helioc.compiler.lower.unit import Join
from helioc.compiler.model import Pipeline
from helioc.lang.contract.request.request_parser import parse_request
from helioc.lang.contract.rules.rulebook import RuleBook
from helioc.lang.contract.world.environment import Environment, Outcome, Rules
from helioc.lang.text.diagnostics import Refused
from helioc.lang.text.source import Source
from helioc.runtime.loading.bundle import Bundle
from helioc.runtime.rules.recovery import recover
from helioc.runtime.rules.transaction import Writer
from helioc.runtime.testrun.private_run import PrivateRun
from hypothesis import HealthCheck, settings
from lowered_runs import unit_of
from outcomes import said

Way = Literal["staged", "fused", "traced"]
JOINS: list[Join] = ["staged", "fused"]
WAYS: list[Way] = [*JOINS, "traced"]
SHORTEST = 14  # the kernel test-runs nothing shorter
quick = settings(
    deadline=None, database=None, suppress_health_check=list(HealthCheck), print_blob=True
)


class Both:
    """A pipeline in all of them, in one world.

    No dataclass, of which Hypothesis prints all fields: of a whole pipeline it warns, and reports a
    flaky strategy in the place of what was found."""

    def __init__(self, pipeline: Pipeline, world: Environment, kernel: PrivateRun) -> None:
        self.pipeline, self.world, self.kernel = pipeline, world, kernel
        self.unit = unit_of(pipeline, kernel)

    def empty(self) -> RuleBook:
        """A rule book without rules, and the kernel without any."""
        ports = self.world.ports
        book = RuleBook(
            self.kernel.manifest,
            {p.name: p.number for p in ports},
            {p.number: p.ifindex for p in ports},
        )
        self.kernel.set_rules(book)
        return book

    def reopen(self) -> None:
        """Open the kernel's maps again, as the next process does; close this writer at the end."""
        kernel = self.kernel
        kernel.writer.close()
        kernel.writer = Writer(kernel.manifest, kernel.maps, kernel.writer.next_hops, lambda: None)
        recover(kernel.writer)

    def tell(self, book: RuleBook, text: str) -> None:
        """Apply a request to both. Raises Refused where it is refused."""
        plan = book.plan(parse_request(Source("request", text)))
        self.kernel.apply(plan)
        book.commit(plan)

    def book(self, text: str) -> RuleBook:
        """Both with the rules of a request, and no others. Raises Refused."""
        book = self.empty()
        if text:
            self.tell(book, text)
        return book

    def ruled(self, text: str) -> Ruled:
        """Both with the rules of a request, for good. Raises Refused."""
        return Ruled(self, self.book(text))

    def tried(self, *texts: str) -> RuleBook:
        """Both with what of these requests is not refused."""
        book = self.empty()
        for text in texts:
            with suppress(Refused):
                self.tell(book, text)
        return book

    def agree(self, rules: Rules, frame: bytes, port: int) -> Outcome:
        """What becomes of a frame, said by both."""
        expected = Interpreter(self.pipeline, self.world).run(rules, frame, port)
        lowered = Machine(self.unit, self.world, self.pipeline.default).run(rules, frame, port)
        assert said(lowered) == said(expected), f"port {port}: {frame.hex()}"
        if len(frame) >= SHORTEST:
            got = self.kernel.run(frame, port)
            trace = "\n".join(map(str, expected.trace))
            assert said(got) == said(expected), f"port {port}: {frame.hex()}\n{trace}"
            if self.kernel.traced:
                assert got.parsed == expected.parsed, f"port {port}: {frame.hex()}"
                assert got.trace == expected.trace, f"port {port}: {frame.hex()}\n{trace}"
        return expected


class Ruled:
    """Both with rules that stay."""

    def __init__(self, both: Both, rules: Rules) -> None:
        self.both, self.rules = both, rules

    def agree(self, frame: bytes, port: int) -> Outcome:
        """What becomes of a frame, said by both."""
        return self.both.agree(self.rules, frame, port)


@contextmanager
def loaded(pipeline: Pipeline, world: Environment, way: Way) -> Iterator[Both]:
    """Compile it, and load it for test runs; the traced build's programs also tell, step by step,
    what the interpreter says."""
    traced = way == "traced"
    bundle = compile_pipeline(pipeline, "fused" if way == "fused" else "staged", traced)
    with PrivateRun(Bundle(bundle.manifest, bundle.object, bundle.traced), traced) as run:
        run.set_environment(world)
        yield Both(pipeline, world, run)
