"""Calls to a server, by a connection that is made when it is needed."""

from __future__ import annotations

import time
from contextlib import suppress
from threading import Event, Lock, Thread
from weakref import WeakSet

from ..http2 import grpc_wire as wire
from ..http2.codes import Code
from ..http2.session import Fields
from ..http2.sockets import failure
from .calls import Call, Failed, Stopped, ended
from .connect import Tls, connector
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
        self._links = WeakSet[Link]()
        self._lock, self._connecting, self._closed = Lock(), Lock(), False

    def close(self) -> None:
        """End all calls. May be called again."""
        with self._lock:
            self._closed, links = True, list(self._links)
        for link in links:
            link.close()

    def call(self, path: str, timeout: float | None, message: bytes | None = None) -> Call:
        """Begin a call, with the only message that is sent, or none yet. `timeout`: seconds that it
        has. Raises `Failed`."""
        return self._call(path, _until(timeout), message)

    def _call(self, path: str, until: float | None, message: bytes | None) -> Call:
        while True:
            call = Call(self._usable(until), self._longest, until)
            if call.begin(self._fields(path, until), message):
                return call

    def ask(self, path: str, timeout: float | None, message: bytes) -> bytes:
        """A call with one message, whose answer is one. Raises `Failed`."""
        until = _until(timeout)
        for left in range(_AGAIN, -1, -1):
            try:
                with ended(self._call(path, until, message)) as call:
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

    # ---- the connection ---------------------------------------------------------------------

    def _usable(self, until: float | None) -> Link:
        """One, made anew if need be: by one thread, the others wait for it."""
        link = self._link
        if link is not None and link.usable():
            return link
        if not self._connecting.acquire(timeout=-1 if until is None else _left(until)):
            raise Failed(Code.DEADLINE_EXCEEDED, "there is no connection in time")
        try:
            if self._closed:
                raise Stopped(Code.CANCELLED, "the client is closed")
            if self._link is None or self._link is link or not self._link.usable():
                self._link = self._made(until)
            return self._link
        finally:
            self._connecting.release()

    def _made(self, until: float | None) -> Link:
        try:
            made = Link(self._connect(_left(until)))
        except OSError as error:
            raise Failed(Code.UNAVAILABLE, failure(error)) from None
        except ValueError as error:  # a name that can be none
            raise Failed(Code.UNAVAILABLE, str(error)) from None
        with self._lock:
            if not self._closed:
                self._links.add(made)
                _look_at(made)
                return made
        made.close()
        raise Stopped(Code.CANCELLED, "the client is closed")


def _until(timeout: float | None) -> float | None:
    """On time.monotonic()."""
    return None if timeout is None else time.monotonic() + timeout


def _left(until: float | None) -> float:
    """Seconds."""
    left = _PATIENCE if until is None else min(_PATIENCE, until - time.monotonic())
    return max(0.001, left)


class _Looking:
    """A thread that reads from connections from which nobody else does."""

    def __init__(self) -> None:
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
                if not link.attended():
                    self._links.discard(link)
            self._running = bool(self._links)
            return self._running


_look_at = _Looking().add
