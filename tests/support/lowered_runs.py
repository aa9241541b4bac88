"""The intermediate representation as a backend of packet tests."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from helioc.compiler.driver import lower_pipeline
from helioc.compiler.ir.interpreter.machine import Machine
from helioc.compiler.ir.unit import Unit
from helioc.compiler.lower.unit import Join
from helioc.compiler.model import Pipeline
from helioc.compiler.packettests.cases import Case
from helioc.lang.contract.request.request import Request
from helioc.lang.contract.rules.rulebook import RuleBook
from helioc.lang.contract.world.environment import Outcome
from helioc.lang.contract.world.moment import Moment
from helioc.runtime.testrun.private_run import PrivateRun


def join_of(run: PrivateRun) -> Join:
    """Of a build that is loaded."""
    return "staged" if run.manifest.join == "staged" else "fused"


def unit_of(pipeline: Pipeline, run: PrivateRun) -> Unit:
    """What was compiled to a build that is loaded."""
    return lower_pipeline(pipeline, join_of(run), run.traced)


class Lowered:
    """`compiler.packettests.runs.Backend`: a placed unit's programs."""

    shortest, longest = 0, 1 << 15

    def __init__(self, pipeline: Pipeline, unit: Unit, form: str = "") -> None:
        self._pipeline, self._unit = pipeline, unit
        self.name = f"{form} intermediate representation".strip()

    @contextmanager
    def prepare(self, case: Case) -> Iterator[_Running]:
        machine = Machine(self._unit, case.environment, self._pipeline.default)
        machine.set_moment(case.moment)
        book = case.opening()
        machine.look(book)
        yield _Running(machine, book)


@dataclass(frozen=True)
class _Running:
    """Under the rules of a book."""

    machine: Machine
    book: RuleBook

    def __call__(self, frame: bytes, port: int) -> Outcome:
        return self.machine.run(self.book, frame, port)

    def ask(self, request: Request) -> None:
        self.machine.look(self.book)
        self.book.commit(self.book.plan(request))

    def set_moment(self, moment: Moment) -> None:
        self.machine.set_moment(moment)
