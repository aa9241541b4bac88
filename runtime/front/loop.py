"""The threads that wait for sockets, and do what is to be done when one is ready.

Each of a few threads waits for any socket. One thread at a time has a socket, and does by itself
what comes from it: to hand work to another thread takes longer than most of it does.
"""

from __future__ import annotations

import os
import select
import time
from contextlib import suppress
from threading import Lock, Thread
from typing import Protocol

from .threads import log_error

THREADS = 4
#: Milliseconds that a thread waits for a socket that it has served, if _OTHERS others wait for all
#: sockets: to wake another, which has none of it in its CPU's caches, takes longer.
_STAY, _OTHERS = 10, 2
#: Seconds that they have to end when they have work.
_LINGER = 1.0
READ, WRITE = select.EPOLLIN, select.EPOLLOUT


class Served(Protocol):
    """What has a socket. `stays`: who is at the other end may ask again as soon as it is
    answered."""

    @property
    def stays(self) -> bool: ...

    def fileno(self) -> int: ...

    def serve(self) -> int:
        """Its socket may be ready. Returns what to wait for next: READ, WRITE, both or nothing."""

    def abort(self) -> None:
        """Close it."""


class _Turn:
    """Who has a socket, and whether a thread is at work on it. `changes`: how often a thread began
    with it, or somebody said what is waited for."""

    __slots__ = ("again", "changes", "lock", "served", "taken")

    def __init__(self, served: Served) -> None:
        self.served, self.lock = served, Lock()
        self.taken = self.again = False
        self.changes = 0

    def begin(self) -> bool:
        """Whether it is ours; else who has it goes on once more."""
        with self.lock:
            self.again = self.taken
            if not self.taken:
                self.taken = True
                self.changes += 1
                return True
            return False


class Loop:
    """Runs from `start` to `stop`. Its methods may be called by any thread."""

    def __init__(self) -> None:
        self._poll = select.epoll()
        self._turns: dict[int, _Turn] = {}
        self._lock = Lock()
        #: Threads that wait for all sockets, besides those that are at work; since when none does.
        self.idle, self._busy_since = 0, 0.0
        self._ended, self._end = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self._poll.register(self._ended, READ)
        self._threads = [
            Thread(target=self._run, name=f"front-{number}", daemon=True)
            for number in range(THREADS)
        ]

    def start(self) -> None:
        self._busy_since = time.monotonic()
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Nothing is served any more; it may have been started or not. What was is the caller's to
        close."""
        os.close(self._end)
        until = time.monotonic() + _LINGER
        for thread in self._threads:
            if thread.ident is not None:
                thread.join(max(0.0, until - time.monotonic()))
        if not any(thread.is_alive() for thread in self._threads):
            self._poll.close()
            os.close(self._ended)

    def unattended(self) -> float:
        """Seconds since the last thread that waited for sockets began to work; 0: one waits."""
        with self._lock:
            return 0.0 if self.idle else time.monotonic() - self._busy_since

    def add(self, served: Served, events: int = READ) -> None:
        """Raises OSError."""
        turn = _Turn(served)
        # Of the last one with this descriptor there may be an event, whose thread waits here.
        with turn.lock:
            self._turns[served.fileno()] = turn
            self._poll.register(served.fileno(), events | select.EPOLLONESHOT)

    def replace(self, served: Served) -> None:
        """It has another's socket from now on. Called by that one while it is served."""
        self._turns[served.fileno()].served = served

    def remove(self, served: Served) -> None:
        """Before its socket is closed. May be called again."""
        turn = self._turns.get(served.fileno())
        if turn is not None and turn.served is served:
            del self._turns[served.fileno()]
            with suppress(OSError):
                self._poll.unregister(served.fileno())

    def wake(self, served: Served) -> None:
        """Serve it as soon as it can be read or written."""
        if (turn := self._turns.get(served.fileno())) is not None:
            with turn.lock:
                turn.again = turn.taken
                if not turn.taken:
                    turn.changes += 1
                    self._wait(served.fileno(), READ | WRITE)

    def _wait(self, descriptor: int, events: int) -> None:
        with suppress(OSError, ValueError):  # it was removed in this moment
            self._poll.modify(descriptor, events | select.EPOLLONESHOT)

    def _run(self) -> None:
        while True:
            with self._lock:
                self.idle += 1
            found = self._poll.poll(maxevents=1)
            with self._lock:
                self.idle -= 1
                if not self.idle:
                    self._busy_since = time.monotonic()
            for descriptor, _ in found:
                if descriptor == self._ended:
                    return
                self._serve(descriptor)

    def _serve(self, descriptor: int) -> None:
        turn = self._turns.get(descriptor)
        while turn is not None and turn.begin():
            changes = self._work(descriptor, turn)
            if changes is None or not self._asks_again(descriptor, turn, changes):
                return

    def _work(self, descriptor: int, turn: _Turn) -> int | None:
        """Serve it as long as there is something to do. Returns None, or this thread is to wait for
        its socket, and no other does while `turn.changes` is that."""
        again = True
        while again:
            try:
                events = turn.served.serve()
            except Exception as error:
                log_error(error)
                turn.served.abort()
                events = 0
            with turn.lock:
                again, turn.again = turn.again, False
                turn.taken = again
                if not again and events and self._turns.get(descriptor) is turn:
                    if events == READ and turn.served.stays and self.idle >= _OTHERS:
                        return turn.changes
                    self._wait(descriptor, events)
        return None

    def _asks_again(self, descriptor: int, turn: _Turn, changes: int) -> bool:
        """Whether its socket can be read soon. If not, any thread may have it."""
        poll = select.poll()
        poll.register(descriptor, READ)
        if poll.poll(_STAY):
            return True
        with turn.lock:
            if turn.changes == changes and self._turns.get(descriptor) is turn:
                self._wait(descriptor, READ)
        return False
