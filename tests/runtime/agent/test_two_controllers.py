"""Two controllers that read, decide and write with `if_revision`, beside kills of the agent."""

from __future__ import annotations

import os
import re
import signal
import threading

import pytest
from agent_world import EDGE, World
from helioc.runtime.base.outcome import Outcome
from helioc.runtime.client import Client, Rejected, Stream
from helioc.runtime.http2.codes import Code
from helioc.runtime.loading.bundle import read_bundle
from helioc.runtime.loading.releases import remove_pinned
from lab import Background, until

pytestmark = pytest.mark.usefixtures("kernel")
FIRST = 2
RULES = f"create FAR 1 [(action, u8, DROP)], LBR 9 [FAR 1 [(weight, u16, {FIRST})]]"
#: What a client is told by an agent that ends.
GONE = ("H0763", "H0764")


class Controller(threading.Thread):
    """Counts up a weight. `made`: by revision, what it has written. `up`: set while there is an
    agent. `by_stream`: it asks in a stream."""

    def __init__(self, here: World, name: str, up: threading.Event, by_stream: bool) -> None:
        super().__init__(name=name)
        self._here, self._up, self._by_stream = here, up, by_stream
        self.made: dict[int, int] = {}
        self.late = self.again = 0
        #: The weight, and the revision at which it was decided; 0: nothing is unanswered.
        self._asked = (0, 0)
        self.ending = threading.Event()
        #: Kill this process when the next request has been sent.
        self.victim = 0
        self.wrong: BaseException | None = None

    def run(self) -> None:
        try:
            while not self.ending.is_set():
                self._up.wait()
                try:
                    with Client(self._here.address, self._here.name) as client:
                        self._speak(client)
                except Rejected as error:
                    if error.diagnostics[0].code not in GONE:
                        raise
        except BaseException as error:
            self.wrong = error

    def _speak(self, client: Client) -> None:
        if not self._by_stream:
            while not self.ending.is_set():
                self._turn(client)
            return
        with client.stream() as stream:
            while not self.ending.is_set():
                self._turn(client, stream)

    def _turn(self, client: Client, stream: Stream | None = None) -> None:
        """What is not answered is sent again, as it was."""
        if not self._asked[0]:
            there = client.listing()
            self._asked = weight(there.rules[-1].text) + 1, there.revision
        expected, seen = self._asked
        try:
            done = self._send(client, stream)
        except Rejected as error:
            if error.diagnostics[0].code in GONE:
                raise
            assert error.diagnostics[0].code == "H0760", error
            assert error.status is Code.ABORTED and error.revision > seen
            self.late += 1
        else:
            assert done.revision == seen + 1 and done.revision not in self.made
            self.made[done.revision] = expected
            self.again += done.repeated
        self._asked = 0, 0

    def _send(self, client: Client, stream: Stream | None) -> Outcome:
        expected, seen = self._asked
        text = f"update LBR 9 [FAR 1 [(weight, u16, {expected})]]"
        key = f"{self.name}-{expected}-{seen}"
        if stream is None:
            return client.apply(text, if_revision=seen, key=key)
        stream.send(text, if_revision=seen, key=key)
        if self.victim:
            self._up.clear()
            os.kill(self.victim, signal.SIGKILL)
            self.victim = 0
        return stream.receive()


def weight(text: str) -> int:
    found = re.search(r"weight, u16, (\d+)", text)
    assert found is not None, text
    return int(found[1])


def race(both: list[Controller]) -> None:
    """Until each has made changes and been late."""
    before = [(len(each.made), each.late) for each in both]

    def raced() -> bool:
        for each in both:
            assert each.wrong is None, each.wrong
        return all(
            len(each.made) > made + 2 and each.late > late
            for each, (made, late) in zip(both, before, strict=True)
        )

    until(raced, "each has made changes", 30)


def killed(process: Background) -> None:
    until(lambda: not process.running, "it is killed")


def test_no_decision_rests_on_what_has_changed(here: World) -> None:
    """Whatever is accepted is one more than what was accepted before it, whoever came too late is
    told so, and what is sent again is made once: beside kills, before a request arrives and before
    it is answered, and after a reboot."""
    up = threading.Event()
    both = [Controller(here, "a", up, by_stream=False), Controller(here, "b", up, by_stream=True)]
    try:
        with here.agent() as process, here.client() as client:
            client.load(read_bundle(here.directory / "bundle"), EDGE)
            first = client.apply(RULES).revision
            up.set()
            for each in both:
                each.start()
            race(both)
            both[1].victim = process.pid
            killed(process)
        with here.agent() as process, here.client() as client, client.watch() as watch:
            up.set()
            race(both)
            next(event for event in watch if event.HasField("rules"))
            up.clear()
            os.kill(process.pid, signal.SIGKILL)
            killed(process)
        remove_pinned(here.name)
        with here.agent(), here.client() as client:
            before = client.status().pipelines[0].revision
            up.set()
            race(both)
            for each in both:
                each.ending.set()
                each.join()
            last = client.status().pipelines[0].revision
            found = weight(client.listing().rules[-1].text)
    finally:
        up.set()
        for each in both:
            each.ending.set()
            if each.ident is not None:
                each.join()
    made = both[0].made | both[1].made
    assert len(made) == len(both[0].made) + len(both[1].made)
    assert [made[n] for n in sorted(made)] == [*range(FIRST + 1, found + 1)]
    # the reboot, at which an agent tells a pipeline of its ports, is a revision
    assert last - first == len(made) + 1 and before not in made
