"""A large request of an agent in this process, and what others ask for while it is made."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count

import pytest
from agent_world import EDGE, World
from helioc.lang.contract.request.request import Request
from helioc.lang.contract.request.request_parser import parse_request
from helioc.lang.contract.rules.wire import encode
from helioc.lang.text.diagnostics import Refused
from helioc.lang.text.source import Source
from helioc.runtime.agent.agent import Agent
from helioc.runtime.base.outcome import Outcome
from helioc.runtime.journal.store import Store
from helioc.runtime.loading.bundle import read_bundle
from helioc.runtime.owner import fair_lock
from helioc.runtime.owner.fair_lock import Slices
from helioc.runtime.owner.owner import Owner
from helioc.runtime.owner.requests import ApplyRequest
from helioc.runtime.rules.transaction import Writer
from lab import until

PLANNED, STAGED = False, True


@contextmanager
def opened(here: World) -> Iterator[Agent]:
    agent = Agent(Store(here.state))
    agent.open_all()
    try:
        yield agent
    finally:
        agent.close()


def load(here: World, agent: Agent) -> Owner:
    agent.load(read_bundle(here.directory / "bundle"), Source("<edge>", EDGE), here.name)
    return agent.owner()


def wish(owner: Owner, text: str, **more: object) -> ApplyRequest:
    request: Request = parse_request(Source("request", text))
    return ApplyRequest(encode(request, owner.codecs), **more)  # type: ignore[arg-type]


def asked(owner: Owner, text: str) -> Outcome:
    return owner.apply(wish(owner, text))


def rules(owner: Owner) -> dict[str, str]:
    """Those of the book; the maps have just these."""
    with owner.still() as loaded:
        saved = sorted(loaded.book.save())
        assert sorted(loaded.writer.rules()) == saved  # type: ignore[union-attr]
    return {f"{r.kind} {r.id}": str((*r[3:4], *r[5:])) for r in saved}


@contextmanager
def at_pause(owner: Owner, staged: bool, do: Callable[[], None], after: int = 10) -> Iterator[None]:
    """Do something in a pause of a large request, which is being planned by then, or staged."""
    real, calls, done = Slices.__call__, count(), threading.Event()

    def paused(self: Slices) -> None:
        writer = owner.loaded.writer
        assert isinstance(writer, Writer)
        if bool(writer._staging) is staged and next(calls) >= after and not done.is_set():
            done.set()
            do()
        real(self)

    @contextmanager
    def without_turn(self: Slices) -> Iterator[None]:
        yield
        self()

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Slices, "without_turn", without_turn)
        patched.setattr(Slices, "__call__", paused)
        patched.setattr(fair_lock, "SLICE", 0.0)
        yield


class Beside:
    """What another client asks for while a large request is being planned, or staged."""

    def __init__(self, owner: Owner, staged: bool, texts: list[str], after: int = 10) -> None:
        """`after`: so many pauses."""
        self.owner, self.staged, self.texts, self._after = owner, staged, texts, after
        self.begun = threading.Event()
        self.order: list[Outcome | Refused] = []

    def run(self, large: str | ApplyRequest, **more: object) -> Outcome | Refused:
        """How the large one ends. `order`: how all do."""
        other = threading.Thread(target=self._ask)
        other.start()
        try:
            with at_pause(self.owner, self.staged, self._wait, self._after):
                ended = self._done(large, **more)
        finally:
            self.begun.set()
            other.join()
        return ended

    def _wait(self) -> None:
        self.begun.set()
        until(lambda: self.owner.lock.waited_for, "another waits for its turn")

    def _ask(self) -> None:
        self.begun.wait()
        for text in self.texts:
            self._done(text)

    def _done(self, request: str | ApplyRequest, **more: object) -> Outcome | Refused:
        ended: Outcome | Refused
        try:
            if isinstance(request, str):
                request = wish(self.owner, request, **more)
            ended = self.owner.apply(request)
        except Refused as refused:
            ended = refused
        self.order.append(ended)
        return ended


def killed_at_pause(
    here: World, staged: bool, text: str, large: str | ApplyRequest, after: int = 10
) -> None:
    """An agent ends at once while it plans, or stages, `large`; it has made the other by then."""
    child = os.fork()
    if not child:
        with opened(here) as agent:
            owner = agent.owner()
            with at_pause(owner, staged, lambda: os._exit(9), after):
                asked(owner, text)
                owner.apply(large if isinstance(large, ApplyRequest) else wish(owner, large))
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9


def inside(here: World, work: Callable[[], None]) -> None:
    """In the edge's namespace."""
    here.edge.inside_thread(work)
