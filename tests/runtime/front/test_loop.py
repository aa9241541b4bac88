"""Which thread has a socket, and that somebody always has it."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from functools import partial
from queue import SimpleQueue

import pytest
from helioc.runtime.front import loop
from helioc.runtime.front.loop import READ, Loop
from lab import until

#: Milliseconds: longer than a test takes.
LONG = 60_000


class Echo:
    """Notes by which thread it is served, and what came then."""

    def __init__(self, stays: bool = True) -> None:
        self.client, self._socket = socket.socketpair()
        self._socket.setblocking(False)
        self.stays, self.served = stays, SimpleQueue[tuple[int, bytes]]()

    def fileno(self) -> int:
        return self._socket.fileno()

    def serve(self) -> int:
        try:
            came = self._socket.recv(1000)
        except BlockingIOError:
            came = b""
        self.served.put((threading.get_ident(), came))
        return READ

    def abort(self) -> None:
        pass

    def ask(self, word: bytes = b"x") -> int:
        """By which thread it was served."""
        self.client.send(word)
        return self.wait(word)

    def wait(self, word: bytes) -> int:
        while True:
            thread, came = self.served.get(timeout=10)
            if came == word:
                return thread

    def close(self) -> None:
        self.client.close()
        self._socket.close()


@pytest.fixture
def running() -> Iterator[Loop]:
    made = Loop()
    made.start()
    until(lambda: made.idle == loop.THREADS, "all threads wait")
    try:
        yield made
    finally:
        made.stop()


@pytest.fixture
def echoes(running: Loop) -> Iterator[list[Echo]]:
    made = [Echo() for _ in range(loop.THREADS)]
    for each in made:
        running.add(each)
    try:
        yield made
    finally:
        for each in made:
            running.remove(each)
            each.close()


def test_who_asks_again_is_served_by_the_same_thread(
    echoes: list[Echo], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop, "_STAY", LONG)
    assert len({echoes[0].ask() for _ in range(50)}) == 1
    echoes[0].client.close()  # its thread need not wait for that time


def test_threads_are_left_for_the_others(
    running: Loop, echoes: list[Echo], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop, "_STAY", LONG)
    stay = loop.THREADS - loop._OTHERS
    for _ in range(3):
        served_by = []
        for each in echoes:
            served_by.append(each.ask())
            until(partial(is_done, running, each), "its thread stays, or waits for all sockets")
        assert len(set(served_by[:stay])) == stay
        assert set(served_by[:stay]).isdisjoint(served_by[stay:])
        until(lambda: running.idle == loop._OTHERS, "the others wait")
    for each in echoes:
        each.client.close()


def is_done(running: Loop, echo: Echo) -> bool:
    return not running._turns[echo.fileno()].taken


def test_somebody_else_wakes_it_meanwhile(
    running: Loop, echoes: list[Echo], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One thread waits for its socket, another serves it; and no request is left to nobody."""
    monkeypatch.setattr(loop, "_STAY", LONG)
    for number in range(100):
        echoes[0].ask()
        running.wake(echoes[0])
        echoes[0].wait(b"")
        echoes[0].ask(b"%d" % number)
    echoes[0].client.close()


def test_after_that_time_any_thread_serves_it(
    echoes: list[Echo], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop, "_STAY", 0)
    for number in range(200):
        echoes[number % 2].ask(b"%d" % number)


def test_it_is_known_for_how_long_nobody_waits_for_clients(running: Loop) -> None:
    """All threads are at work."""
    go_on = threading.Event()

    class Busy(Echo):
        def serve(self) -> int:
            go_on.wait(10)
            return 0

    busy = [Busy() for _ in range(loop.THREADS)]
    for each in busy:
        running.add(each)
        each.client.send(b"x")
    try:
        until(running.unattended, "no thread waits")
        go_on.set()
        until(lambda: not running.unattended(), "one waits again")
    finally:
        go_on.set()
        for each in busy:
            running.remove(each)
            each.close()


def test_who_does_not_stay_keeps_no_thread(running: Loop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "_STAY", LONG)
    passing = Echo(stays=False)
    running.add(passing)
    try:
        passing.ask()
        until(lambda: running.idle == loop.THREADS, "all threads wait for all sockets")
    finally:
        running.remove(passing)
        passing.close()


def test_an_event_of_the_last_one_with_a_descriptor_serves_none_that_is_not_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its thread comes between the two steps by which the next one is added."""
    made, echo = Loop(), Echo()
    late = threading.Thread(target=lambda: made._serve(echo.fileno()))

    class Poll:
        def register(self, descriptor: int, events: int) -> None:
            late.start()
            late.join(0.2)
            assert late.is_alive() and echo.served.empty()

        def modify(self, *_: int) -> None: ...
        def unregister(self, _: int) -> None: ...

    monkeypatch.setattr(made, "_poll", Poll())
    try:
        made.add(echo)
        late.join(10)
        assert not echo.served.empty()
        other = Echo()
        made._turns[echo.fileno()] = loop._Turn(other)
        made.remove(echo)
        assert made._turns[echo.fileno()].served is other, "it has the descriptor by now"
        other.close()
    finally:
        echo.close()
        monkeypatch.undo()
        made.stop()
