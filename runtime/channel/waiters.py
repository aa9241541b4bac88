"""Threads that wait on a connection: one for its socket, the others for that thread."""

from __future__ import annotations

import select
import socket
from contextlib import suppress
from threading import Lock

#: Seconds that anybody waits at once: more than some clocks can count.
_LONG = 3600.0


class Waiter:
    """A thread that waits for what happens on a stream. One of the stream `ROOM` waits until bytes
    have gone to the server."""

    __slots__ = ("asleep", "lock", "reads", "stream")

    def __init__(self, stream: int) -> None:
        self.stream = stream
        #: Nobody has woken it since it said that it waits; for the socket, or else for `lock`.
        self.asleep, self.reads = False, False
        self.lock = Lock()
        self.lock.acquire()


#: RFC 9113 section 5.1.1: no call's.
ROOM = 0


def _self_connected() -> socket.socket:
    """Receives what it sends. An interrupt at any place leaves no descriptor open, as one would
    between the making of an eventfd and its first use."""
    made = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
    made.bind("")
    made.connect(made.getsockname())
    return made


class Waiters:
    """Of one connection. All but `sleep` are called with its lock."""

    def __init__(self, at: socket.socket) -> None:
        self._socket, self._all = at, dict[Waiter, None]()
        self.reader: Waiter | None = None
        self._bell = _self_connected()
        self._poll = select.poll()
        self._poll.register(self._bell, select.POLLIN)

    def close(self) -> None:
        """May be called again."""
        self._bell.close()

    def __contains__(self, waiter: Waiter) -> bool:
        return waiter in self._all

    def add(self, waiter: Waiter, sending: bool) -> None:
        """It sleeps next. `sending`: there is more to be sent than the socket takes."""
        self._all[waiter] = None
        if self.reader is None:
            self.reader = waiter
        waiter.reads = self.reader is waiter
        if waiter.reads:
            self._poll.register(self._socket, select.POLLIN | (select.POLLOUT if sending else 0))
        waiter.asleep = True

    def remove(self, waiter: Waiter) -> None:
        """It waits no more: another one waits for the socket, if this did."""
        self._all.pop(waiter, None)
        if self.reader is waiter:
            self.reader = next(iter(self._all), None)
            self.wake_reader()

    def wake(self, *streams: int) -> None:
        """Those of the streams, and who waits for room."""
        for waiter in self._all:
            if waiter.stream in streams or waiter.stream == ROOM:
                self._wake(waiter)

    def wake_all(self) -> None:
        for waiter in self._all:
            self._wake(waiter)

    def wake_reader(self) -> None:
        if self.reader is not None:
            self._wake(self.reader)

    def _wake(self, waiter: Waiter) -> None:
        if not waiter.asleep:
            return
        waiter.asleep = False
        if waiter.reads:
            with suppress(BlockingIOError):  # it is woken already
                self._bell.send(b"\0")
        elif waiter.lock.locked():  # it may have been woken as its time was over
            waiter.lock.release()

    def sleep(self, waiter: Waiter, seconds: float | None) -> None:
        """Until it is woken, something comes or goes, or at random."""
        seconds = _LONG if seconds is None else min(max(seconds, 0.0), _LONG)
        if not waiter.reads:
            waiter.lock.acquire(timeout=seconds)
        elif any(found == self._bell.fileno() for found, _ in self._poll.poll(seconds * 1000)):
            with suppress(BlockingIOError):
                while self._bell.recv(1):
                    pass
