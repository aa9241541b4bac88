"""A connection with a server: whoever waits for something on it reads for all.

One thread at a time waits for the socket, the others for that one; who has what it waited for hands
on the socket.
"""

from __future__ import annotations

import os
import select
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from threading import Condition, Lock
from typing import Protocol

from ..http2 import nghttp2 as ng
from ..http2.codes import Code
from ..http2.session import Broken, ClientSession, Closed, Ended, Event, Fields
from ..http2.sockets import AGAIN, failure, receive

#: Bytes that are read at a time; that a call may have waiting before it has to wait itself.
_AT_ONCE, _AHEAD = 64 << 10, 256 << 10


class Served(Protocol):
    """A call, as the connection sees it. Called with the lock."""

    def on(self, event: Event) -> None: ...

    def lost(self, code: Code, why: str) -> None:
        """The connection is gone; nothing more comes."""


class Link:
    """`lock` is held by who calls what says so; what is sent goes with the next `flush`."""

    def __init__(self, made: socket.socket) -> None:
        """`made`: connected, this one's to close."""
        made.setblocking(False)
        self._socket, self.lock, self._session = made, Condition(Lock()), ClientSession()
        self._calls: dict[int, Served] = {}
        self._unsent = memoryview(b"")
        self._waiting, self._alive = False, True  # a thread waits for the socket
        self._woken = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._poll = select.poll()
        self._poll.register(self._woken, select.POLLIN)

    def usable(self) -> bool:
        """Whether new calls may be made on it. Reads what has come, where nobody else does."""
        with self.lock:
            self.look()
            return self._alive and not self._session.leaving

    def attended(self) -> bool:
        """The same, and whether it is there at all."""
        with self.lock:
            self.look()
            return self._alive

    def close(self) -> None:
        """May be called again."""
        with self.lock:
            self._lose("its client closed it", Code.CANCELLED)

    # ---- with the lock ----------------------------------------------------------------------

    def open(self, fields: Fields, call: Served) -> int | None:
        """Begin a call: its stream, or None where there can be no more."""
        if not self._alive:
            return None
        stream = self._session.open(fields)
        if stream is None:
            self._session.leaving = True
        else:
            self._calls[stream] = call
        return stream

    def send(self, stream: int, data: bytes) -> None:
        if self._alive:
            self._session.send(stream, data)

    def end(self, stream: int) -> None:
        if self._alive:
            self._session.end(stream)

    def took(self, stream: int, count: int) -> None:
        if self._alive:
            self._session.took(stream, count)

    def cancel(self, stream: int) -> None:
        """The call is told nothing more."""
        if self._alive and self._calls.pop(stream, None) is not None:
            self._session.reset(stream, ng.CANCEL)
        self.lock.notify_all()
        self._wake()

    def room(self, stream: int) -> bool:
        """Whether more may be sent on it before some has gone."""
        return self._session.waiting(stream) + len(self._unsent) < _AHEAD

    def flush(self) -> None:
        """Send what there is, as far as it is taken."""
        while self._alive:
            if not self._unsent:
                self._unsent = memoryview(self._session.unsent())
                self._tell()
            if not self._unsent:
                return
            try:
                self._unsent = self._unsent[self._socket.send(self._unsent) :]
            except AGAIN:
                self._wake()  # who waits for the socket waits for this, too
                return
            except OSError as error:
                self._read()  # the other side may have said why
                self._lose(failure(error))

    def look(self) -> None:
        """Read what has come, where nobody waits for it."""
        if not self._waiting:
            self._read()
            self.flush()

    def wait(self, ready: Callable[[], object], until: float | None) -> bool:
        """Until it is `ready`, or that time on time.monotonic(): whether it is."""
        while not ready():
            left = None if until is None else until - time.monotonic()
            if left is not None and left <= 0:
                return False
            if self._waiting:
                self.lock.wait(left)
            else:
                self._attend(left)
        return True

    def _attend(self, seconds: float | None) -> None:
        """Wait for the socket, and read."""
        wanted = select.POLLIN | (select.POLLOUT if self._unsent else 0)
        self._poll.register(self._socket, wanted)
        self._waiting = True
        self.lock.release()
        try:
            self._poll.poll(None if seconds is None else seconds * 1000)
        finally:
            self.lock.acquire()
            self._waiting = False
            if not self._alive:
                self._free()
            self.lock.notify_all()  # one of them waits for the socket next
        if self._alive:
            with suppress(BlockingIOError):
                os.eventfd_read(self._woken)
            self.look()

    def _wake(self) -> None:
        if self._waiting:
            os.eventfd_write(self._woken, 1)

    def _read(self) -> None:
        ended = ""
        while self._alive and not ended:
            data, ended = receive(self._socket, _AT_ONCE)
            try:
                self._session.feed(data)
            except Broken as error:
                ended = str(error)
            self._tell()
            if ended:
                self._lose(ended)
            if len(data) < _AT_ONCE:
                return

    def _tell(self) -> None:
        events, self._session.events = self._session.events, []
        for event in events:
            if (call := self._calls.get(event.stream)) is not None:
                call.on(event)
                if type(event) is Closed:
                    self._calls.pop(event.stream, None)
                elif type(event) is Ended and not self._session.ended(event.stream):
                    self._session.reset(event.stream, ng.NO_ERROR)  # nobody wants the rest
        if self._alive and not self._calls and self._session.over:
            self._lose("the server ended it")

    def _lose(self, why: str, code: Code = Code.UNAVAILABLE) -> None:
        if not self._alive:
            return
        self._alive = False
        for call in self._calls.values():
            call.lost(code, why)
        self._calls.clear()
        self.lock.notify_all()
        if self._waiting:
            self._wake()  # it frees what it waits for
        else:
            self._free()

    def _free(self) -> None:
        self._session.close()
        self._socket.close()
        os.close(self._woken)
