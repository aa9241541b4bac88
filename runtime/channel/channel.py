"""Calls to a server, by a connection that is made when it is needed."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from threading import Event, Lock, Thread
from weakref import WeakSet

from ..http2 import grpc_wire as wire
from ..http2.codes import Code
from ..http2.session import Fields
from ..http2.sockets import failure
from .calls import Call
from .connect import Tls, connector
from .failures import Failed, Stopped
from .link import Link

#: Seconds that an attempt to connect has at most; and between two looks at connections from which
#: nobody reads: servers end those that do not answer when they ask whether somebody is there.
_PATIENCE, _LOOK = 20.0, 5.0
#: How often a call is made again that a server did not begin.
_AGAIN = 2


class Channel:
    """May be used by several threads; close it."""

    def __init__(self, address: str, tls: Tls | None, longest: int) -> None:
        """See `connector` for the address and what it raises. `longest`: bytes of a message."""
        self._connect, self._authority = connector(address, tls)
        self._scheme, self._longest = b"http" if tls is None else b"https", longest
        self._link: Link | None = None
        self._links: tuple[Link, ...] = ()  # also those that only finish what they began
        self._connecting, self._closed = Lock(), False
        _channels.add(self)

    def close(self) -> None:
        """End all calls. May be called again, and at any time."""
        self._closed = True
        for link in self._links:
            link.close()

    def call(self, path: str, timeout: float | None, message: bytes | None = None) -> Call:
        """Begin a call, with the only message that is sent, or none yet. `timeout`: seconds that it
        has. Raises `Failed`."""
        return self._call(path, _until(timeout), message)

    def _call(self, path: str, until: float | None, message: bytes | None) -> Call:
        link = self._link
        if link is not None and (call := self._begun(link, path, until, message)) is not None:
            return call
        link = self._linked(until, link)
        if (call := self._begun(link, path, until, message)) is not None:
            return call
        raise link.refusal()

    def _begun(
        self, link: Link, path: str, until: float | None, message: bytes | None
    ) -> Call | None:
        call = Call(link, self._longest, until)
        return call if call.begin(self._fields(path, until), message) else None

    def ask(self, path: str, timeout: float | None, message: bytes) -> bytes:
        """A call with one message, whose answer is one. Raises `Failed`."""
        until = _until(timeout)
        for left in range(_AGAIN, -1, -1):
            try:
                with self._call(path, until, message) as call:
                    return call.only()
            except Failed as error:
                if not (error.untouched and left):
                    raise
        raise AssertionError

    def _fields(self, path: str, until: float | None) -> Fields:
        made = (
            (b":method", b"POST"), (b":scheme", self._scheme), (b":path", path.encode()),
            (b":authority", self._authority.encode()), (b"te", b"trailers"),
            (b"content-type", b"application/grpc"), (b"grpc-accept-encoding", b"identity"),
        )  # fmt: skip
        if until is None:
            return made
        return *made, (b"grpc-timeout", wire.timeout_of(until - time.monotonic()))

    def forked(self) -> None:
        """In a child of `fork`: it makes a connection of its own."""
        links, self._links, self._link = self._links, (), None
        self._connecting = Lock()
        for link in links:
            link.forked()

    # ---- the connection ---------------------------------------------------------------------

    def _linked(self, until: float | None, gone: Link | None) -> Link:
        """A connection other than `gone`, made by one thread if need be; the others wait for it."""
        if not self._connecting.acquire(timeout=-1 if until is None else _left(until)):
            raise Failed(Code.DEADLINE_EXCEEDED, "there is no connection in time")
        try:
            if self._link is None or self._link is gone:
                self._link = self._made(until)
            return self._link
        finally:
            self._connecting.release()

    def _made(self, until: float | None) -> Link:
        if self._closed:
            raise Stopped(Code.CANCELLED, "the client is closed")
        try:
            made = Link(self._connect(_left(until)))
        except OSError as error:
            why = failure(error)
            raise Failed(Code.UNAVAILABLE, why, tls=why.tls) from None
        except ValueError as error:  # a name that can be none
            raise Failed(Code.UNAVAILABLE, str(error)) from None
        self._links = (*(link for link in self._links if link.there), made)
        if self._closed:
            made.close()
        _looking.add(made)
        return made


def _until(timeout: float | None) -> float | None:
    """On time.monotonic()."""
    return None if timeout is None else time.monotonic() + timeout


def _left(until: float | None) -> float:
    """Seconds."""
    left = _PATIENCE if until is None else min(_PATIENCE, until - time.monotonic())
    return max(0.001, left)


class _IdleReader:
    """A thread that reads from connections from which nobody else does."""

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """With no connection yet; in a child of `fork` again."""
        self._links, self._lock, self._running = WeakSet[Link](), Lock(), False

    def add(self, link: Link) -> None:
        """As long as it is there."""
        with self._lock:
            self._links.add(link)
            if not self._running:
                with suppress(RuntimeError):  # no thread to be had; the next link tries again
                    Thread(target=self._run, name="channels", daemon=True).start()
                    self._running = True

    def _run(self) -> None:
        never = Event()
        while True:
            never.wait(_LOOK)
            if not self._look():
                return

    def _look(self) -> bool:
        """Whether any connection is left."""
        with self._lock:
            for link in list(self._links):
                link.attend()
                if not link.there:
                    self._links.discard(link)
            self._running = bool(self._links)
            return self._running


_looking, _channels = _IdleReader(), WeakSet[Channel]()


def _forked() -> None:
    """In a child, where connections, locks and threads are not its own."""
    _looking.begin()
    for channel in list(_channels):
        channel.forked()


os.register_at_fork(after_in_child=_forked)
