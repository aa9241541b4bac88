"""How many steps the agent takes for a request: beside the disk it is these that take time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

import pytest
from agent_world import EDGE, World
from helioc.lang.text.source import Source
from helioc.runtime.agent.agent import Agent
from helioc.runtime.base import waits
from helioc.runtime.client import Client
from helioc.runtime.journal.store import Store
from helioc.runtime.loading.bundle import read_bundle
from helioc.runtime.owner import requests
from helioc.runtime.rpc import audit
from helioc.runtime.rpc.server import Server
from helioc.runtime.rpc.service import Service

pytestmark = pytest.mark.usefixtures("kernel")

#: Calls of Python functions for an update of a FAR, by one who asks alone by the Unix socket.
UNARY, STREAM = 230, 162
FARS = 100


class Steps:
    """Of the threads that wait for sockets."""

    def __init__(self) -> None:
        self.taken = 0

    def count(self, frame: FrameType, event: str, _: object) -> None:
        if event == "call" and threading.current_thread().name.startswith("front-"):
            self.taken += 1


@contextmanager
def served(here: World) -> Iterator[tuple[Client, Steps]]:
    """An agent in this process, all threads of which are counted."""
    agent, steps = Agent(Store(here.state)), Steps()
    service = Service(agent)
    try:
        here.edge.inside_thread(lambda: _load(agent, here))
        server = Server(service, here.directory / "steps.sock")
        threading.setprofile(steps.count)
        try:
            server.start()
        finally:
            threading.setprofile(None)
        try:
            with Client(f"unix:{here.directory / 'steps.sock'}", here.name) as client:
                yield client, steps
        finally:
            server.stop(0)
    finally:
        service.readers.close()
        agent.close()


def _load(agent: Agent, here: World) -> None:
    agent.open_all()
    agent.load(read_bundle(here.directory / "bundle"), Source("<edge>", EDGE), here.name)


def of_one(steps: Steps, ask: Callable[[str], object], to: str) -> float:
    """Each is of another rule. What comes behind an answer may be counted with the next."""
    before = steps.taken
    for number in range(1, FARS + 1):
        ask(f"update FAR {number} [(action, u8, {to})]")
    return (steps.taken - before) / FARS


def test_steps_of_a_request(here: World, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("EACH", "EACH_RATE"):  # lines come by time
        monkeypatch.setattr(audit, name, 0.0)
    for module in (requests, waits):  # and slow requests
        monkeypatch.setattr(module, "SLOW", 60.0)
    with served(here) as (client, steps), client.stream() as stream:

        def by_stream(text: str) -> None:
            stream.send(text)
            stream.receive()

        rules = ", ".join(f"FAR {number} [(action, u8, DROP)]" for number in range(1, FARS + 1))
        client.apply(f"create {rules}")
        assert 50 < of_one(steps, client.apply, "PASS") <= UNARY
        assert 50 < of_one(steps, by_stream, "DROP") <= STREAM
