"""Clients of an agent that is killed again and again: each goes on where it was."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable

import pairs
from agent_world import World
from helioc.lang.text.diagnostics import Refused
from helioc.runtime.client import Client

#: Requests of a stream that are not answered yet.
AHEAD = 8
#: What a client is told by an agent that ends: it is not there, or the call was broken off.
_GONE = ("H0763", "H0764")


class Controller(threading.Thread, ABC):
    """`asked` and `done`: how many requests were sent, and how many were acknowledged. `up`: set
    while there is an agent; `turn`: while this may begin requests."""

    def __init__(self, here: World, up: threading.Event) -> None:
        super().__init__(daemon=True)
        self.here, self.up = here, up
        self.asked = self.done = 0
        self.turn, self.ending, self.given_up = (threading.Event() for _ in range(3))
        self.wrong: BaseException | None = None

    def run(self) -> None:
        try:
            while not (self.over or self.given_up.is_set()):
                if not self.up.wait(0.1):
                    continue
                try:
                    with Client(self.here.address, self.here.name, timeout=10) as client:
                        self.speak(client)
                except Refused as error:
                    if error.diagnostics[0].code not in _GONE:
                        raise
        except BaseException as error:
            self.wrong = error

    def begin(self) -> bool:
        """Whether there is a request to be made: one that is unanswered, or another."""
        if self.asked == self.done and self.turn.wait(0.1) and not self.ending.is_set():
            self.asked += 1
        return self.asked > self.done

    @property
    def over(self) -> bool:
        """It is to end, and everything was answered."""
        return self.ending.is_set() and self.asked == self.done

    @abstractmethod
    def speak(self, client: Client) -> None:
        """Go on until the connection breaks, or there is nothing more to do."""

    def give_up(self) -> None:
        """End, whatever is unanswered; there is no agent any more."""
        self.ending.set()
        self.given_up.set()
        if self.ident is not None:
            self.join()


class Streamer(Controller):
    """Changes its pair by a stream. `asked_at`, `done_at`: what `clock` said just before each
    request was sent, and just after each answer, since `restart`, when so many were asked and
    done."""

    def __init__(
        self, here: World, up: threading.Event, number: int, clock: Callable[[], int]
    ) -> None:
        super().__init__(here, up)
        self.number, self.clock = number, clock
        self.restart()

    def restart(self) -> None:
        """Note anew; while there is no agent."""
        self.asked_before, self.done_before = self.asked, self.done
        self.asked_at: list[int] = []
        self.done_at: list[int] = []

    def speak(self, client: Client) -> None:
        with client.stream() as stream:
            for number in range(self.done + 1, self.asked + 1):
                self._send(stream.send, number)
            while not self.over:
                while self.asked - self.done < AHEAD and not self.ending.is_set():
                    self.asked_at.append(self.clock())
                    self.asked += 1
                    self._send(stream.send, self.asked)
                stream.receive()
                self.done_at.append(self.clock())
                self.done += 1

    def _send(self, send: Callable[..., None], number: int) -> None:
        send(pairs.request(self.number, number), key=f"{self.number}-{number}")


class Bulk(Controller):
    """Creates many rules in bulk, and deletes them: an odd request and an even one."""

    request = b""

    def speak(self, client: Client) -> None:
        self.request = self.request or client.message(pairs.none_of_them()).request
        while self.up.is_set() and not self.over:
            if not self.begin():
                continue
            key = f"bulk-{self.asked}"
            if self.asked % 2:
                client.bulk(pairs.many(), key=key)
            else:
                client.apply(self.request, key=key)
            self.done += 1

    def fits(self, count: int) -> bool:
        """Whether there may be so many of them."""
        return count in {pairs.MANY * (n % 2) for n in (self.done, self.asked)}


class Loader(Controller):
    """Loads another pipeline, and unloads it: an odd request and an even one."""

    @property
    def name(self) -> str:
        return f"{self.here.name}-other"

    @name.setter
    def name(self, _: str) -> None:
        """The thread's."""

    def speak(self, client: Client) -> None:
        client.pipeline = self.name
        while self.up.is_set() and not self.over:
            if not self.begin():
                continue
            # These have no keys: who lost the connection looks what became of it.
            if self.there(client) != bool(self.asked % 2):
                if self.asked % 2:
                    client.load(pairs.bundle(), pairs.edge_yaml(1))
                else:
                    client.unload()
            if self.asked % 2:
                client.apply("create WAY [(mark, u16, 1), (interface, u32, IN)]")
            self.done += 1

    def there(self, client: Client) -> bool:
        found = next((p for p in client.status().pipelines if p.pipeline == self.name), None)
        assert found is None or (len(found.ports) == 2 and not found.findings), found.findings
        return found is not None

    def fits(self, client: Client) -> bool:
        """Whether it may be loaded, or not, as it is."""
        return self.there(client) in {bool(n % 2) for n in (self.done, self.asked)}
