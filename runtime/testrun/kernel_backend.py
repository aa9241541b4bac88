"""The kernel as a backend of packet tests: each case's environment and rules in a `PrivateRun`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

from ...lang.contract.request.request import Request
from ...lang.contract.rules.plan import Plan as RequestPlan
from ...lang.contract.rules.rulebook import RuleBook
from ...lang.contract.world.environment import Outcome
from ...lang.contract.world.moment import Moment
from ..kernel.handles import Map, Program
from ..loading.bundle import Bundle
from .private_run import PrivateRun
from .tc_run import private_run


class PacketRunner(Protocol):
    """Runs frames and carries out plans: a `PrivateRun`, or a card's."""

    def run(self, frame: bytes, port: int) -> Outcome: ...

    def apply(self, plan: RequestPlan) -> None: ...

    def set_moment(self, moment: Moment) -> None: ...

    def look(self) -> None: ...


@dataclass(frozen=True)
class PreparedCase:
    """A backend that is set up for a case; requests change its rule book and maps."""

    at: PacketRunner
    book: RuleBook

    def __call__(self, frame: bytes, port: int) -> Outcome:
        return self.at.run(frame, port)

    def ask(self, request: Request) -> None:
        plan = self.book.plan(request)
        self.at.look()
        self.at.apply(plan)
        self.book.commit(plan)

    def set_moment(self, moment: Moment) -> None:
        self.at.set_moment(moment)


class KernelBackend:
    """`PrivateRun` as `compiler.packettests.runs.Backend`: each case's environment and rules."""

    name = "kernel"
    shortest = PrivateRun.shortest
    longest = 3400  # what is over a page, with its headroom, comes in fragments, unlike by a NIC

    def __init__(self, bundle: Bundle) -> None:
        """Raises `Refused` where the kernel does not take the bundle."""
        self._run = private_run(bundle)
        self.shortest = self._run.shortest

    @property
    def programs(self) -> list[Program]:
        """As they are loaded; this closes them."""
        return self._run.programs

    @property
    def maps(self) -> dict[str, Map]:
        """By name; this closes them."""
        return self._run.maps

    @contextmanager
    def prepare(self, case: Any) -> Iterator[PreparedCase]:
        """`case` has an environment, an opening book and a moment."""
        book: RuleBook = case.opening()
        self._run.set_environment(case.environment)
        self._run.set_moment(case.moment)
        self._run.set_rules(book)
        self._run.forget()
        self._run.look()
        yield PreparedCase(self._run, book)

    def close(self) -> None:
        """May be called again."""
        self._run.close()

    def __enter__(self) -> KernelBackend:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
