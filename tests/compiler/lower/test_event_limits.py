"""Limits of events hold from packet to packet, on the interpreter, the intermediate representation
and the kernel alike, by a clock that the test sets."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import knock
import pytest
from helioc.compiler.check.program import check
from helioc.compiler.driver import lower_pipeline
from helioc.compiler.interpret.packet import Interpreter
from helioc.compiler.ir.interpreter.machine import Machine
from helioc.lang.contract.rules.rulebook import RuleBook
from helioc.lang.contract.world.environment import Environment, Port
from helioc.lang.contract.world.moment import Moment
from helioc.lang.syntax.parser import parse
from helioc.lang.text.source import Source
from helioc.runtime.testrun.private_run import PrivateRun
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

ENVIRONMENT = Environment((Port(1, "LAN", "lan", 1, 1500, bytes(6)),), limits_events=True)
FEW = knock.changed(("limit 100k per second", "limit 5 per second, 2 by src"))
quick = settings(
    deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


class All:
    """The three, beside each other."""

    def __init__(self, kernel: PrivateRun) -> None:
        pipeline = check(parse(Source("knock.hp", FEW)))
        self.kernel, self.book = kernel, RuleBook(kernel.manifest, {"LAN": 1}, {1: 1})
        self.interpreter = Interpreter(pipeline, ENVIRONMENT)
        self.machine = Machine(lower_pipeline(pipeline), ENVIRONMENT, pipeline.default)
        assert kernel.emitted is not None
        kernel.emitted.refill()
        self.moment = Moment()

    def knock(self, source: str, later: int = 0) -> int:
        """How many events a packet raises, so many ns later."""
        self.moment = self.moment.later(later)
        for each in (self.kernel, self.interpreter, self.machine):
            each.set_moment(self.moment)
        frame = knock.frame(source)
        expected = self.interpreter.run(self.book, frame, 1)
        for got in (self.machine.run(self.book, frame, 1), self.kernel.run(frame, 1)):
            assert got.emitted == expected.emitted
            assert sorted(got.events) == sorted(expected.events)
        return len(expected.emitted)


@pytest.fixture(scope="module")
def kernel_run(kernel: None) -> Iterator[PrivateRun]:
    with running() as made:
        yield made


@contextmanager
def running() -> Iterator[PrivateRun]:
    with PrivateRun(knock.built(FEW)) as made:
        made.set_environment(replace(ENVIRONMENT))
        yield made


def test_a_source_and_all_together(kernel_run: PrivateRun) -> None:
    """Two at once of each source, five of all; each comes back in time."""
    at = All(kernel_run)
    assert [at.knock("10.1.0.1") for _ in range(3)] == [1, 1, 0]
    assert [at.knock("10.1.0.2") for _ in range(3)] == [1, 1, 0]
    assert [at.knock("10.1.0.3") for _ in range(3)] == [1, 0, 0]
    assert at.knock("10.1.0.4") == 0
    assert at.knock("10.1.0.4", later=199_999_999) == 0
    assert at.knock("10.1.0.4", later=1) == 1
    assert at.knock("10.1.0.1", later=200_000_000) == 0  # its own comes back after half a second
    assert at.knock("10.1.0.1", later=100_000_000) == 1
    assert [at.knock("10.1.0.1", later=3_000_000_000 * (not n)) for n in range(3)] == [1, 1, 0]


@quick
@given(st.lists(st.tuples(st.integers(1, 3), st.integers(0, 400_000_000)), max_size=25))
def test_random_times(kernel_run: PrivateRun, packets: list[tuple[int, int]]) -> None:
    at = All(kernel_run)
    for host, later in packets:
        at.knock(f"10.1.0.{host}", later)
