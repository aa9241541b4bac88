"""A client's connection: bytes from its socket to HTTP/2 and back, as fast as both sides read."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from contextlib import suppress
from threading import Condition, RLock
from typing import Protocol

from ..http2.session import Broken, Event, ServerSession
from ..http2.sockets import AGAIN, receive
from .frames import Excessive, Gate
from .loop import READ, WRITE, Loop
from .secured import Secured
from .timers import Timers

#: Bytes that are read at a time; that wait to be sent before nothing more is read; and that a call
#: may have waiting before it has to wait itself.
_AT_ONCE, _MOST, AHEAD = 64 << 10, 256 << 10, 64 << 10
#: Seconds that a client has to read what was sent when we have ended the connection; without a byte
#: of it, after which it is asked; and to answer that.
_LINGER, QUIET, ANSWER = 5.0, 30.0, 10.0


class Streams(Protocol):
    """What is made of a connection's streams (calls.py)."""

    def on(self, event: Event) -> None:
        """Called with the connection's lock."""

    def go_on(self) -> bool:
        """Do what came to be done, without the lock. Returns whether all was sent that there is."""

    def closed(self) -> None:
        """The connection is gone. Called with its lock."""


class Connection:
    """`lock` is held by who calls `session`, or changes what belongs to the connection; then comes
    `flush`. Who has it may `wait`, and is woken by `tell`."""

    stays = True

    def __init__(
        self, made: socket.socket | Secured, loop: Loop, timers: Timers, gate: Gate | None,
        on_end: Callable[[Connection, str], None],
    ) -> None:  # fmt: skip
        """`made`: connected, not blocking, this one's to close. `gate`: what the client sends is
        taken as fast as that lets it. `on_end`: is told when it is gone, and of what the client did
        to have it ended."""
        self._socket, self._descriptor, self._loop, self._timers = made, made.fileno(), loop, timers
        self._gate, self._on_end = gate, on_end
        self.lock, self.session = RLock(), ServerSession()
        self._changed, self._waiting = Condition(self.lock), 0
        self.streams: Streams
        self.alive, self._why = True, ""
        self.unsent = memoryview(b"")  # frames that the client does not take yet
        #: A lane waits until more may be sent on its stream.
        self.room_wanted = False
        #: What the gate holds back; nothing is read before it has gone on.
        self._held, self._paused_until = b"", 0.0
        #: Nothing more is sent: what the client sends is read and forgotten.
        self._ending = False
        #: A thread of the loop is at work on it, and will wait for what there is to wait for.
        self._serving = False
        self.heard, self._asked = time.monotonic(), False

    def fileno(self) -> int:
        return self._descriptor

    # ---- by the loop ------------------------------------------------------------------------

    def serve(self) -> int:
        with self.lock:
            self._serving = True
            if self.alive:
                self._read()
        sent = self.streams.go_on()
        with self.lock:
            if not sent:
                self.flush()
            self._serving = False
            if not self.alive:
                return 0
            if self._ending:
                return READ
            reading = len(self.unsent) < _MOST and not self._paused_until
            return (READ if reading else 0) | (WRITE if self.unsent else 0)

    def _read(self) -> None:
        now, held = time.monotonic(), bool(self._paused_until)
        if self._paused_until > now:
            return
        self._paused_until = 0.0
        received, ended = b"", ""
        try:
            if self._gate is not None and (pause := self._gate.pause(now)):
                self._pause(now + pause)
                return
            if not held and len(self.unsent) < _MOST:
                received, ended = receive(self._socket, _AT_ONCE)
            if received:
                self.heard, self._asked = now, False
            if ended and not received:
                self._close()
            elif not self._ending:
                self._admit(self._held + received, now)
        except Excessive as error:
            self._why = str(error)
            self._close()

    def _admit(self, data: bytes, now: float) -> None:
        """As much of it as the gate lets through."""
        count, pause = len(data), 0.0
        try:
            if self._gate is not None:
                count, pause = self._gate.admit(data, now)
            self._held = data[count:]
            self.session.feed(data[:count])
        except Broken as error:
            self._why = str(error)
            self._end()
        if pause:
            self._pause(now + pause)
        if self.session.events:
            self._tell()

    def _pause(self, until: float) -> None:
        self._paused_until = until
        self._timers.after(until - time.monotonic(), self._wake)

    def _tell(self) -> None:
        """The streams what the session said. One of them may end the connection."""
        while self.session.events:
            events, self.session.events = self.session.events, []
            for event in events:
                self.streams.on(event)

    def _wake(self) -> None:
        self._loop.wake(self)

    # ---- by who has the lock ----------------------------------------------------------------

    def flush(self) -> None:
        """Send what the session has to be sent, as far as the client takes it."""
        while self.alive and not self._ending:
            all_ = not self.unsent
            if all_:
                self.unsent = memoryview(self.session.unsent())
                if self.session.events:
                    all_ = False  # streams that are told may have more
                    self._tell()
            if not self.unsent:
                break
            try:
                self.unsent = self.unsent[self._socket.send(self.unsent) :]
            except AGAIN:
                if not self._serving:
                    self._wake()
                return
            except OSError:
                self._close()
            if all_ and not self.unsent:
                break
        if self._waiting:
            self.tell()
        if self.room_wanted:  # nothing has to come from the client before that
            self.room_wanted = False
            self._wake()
        if self.alive and self.session.over:
            self._end()

    def wait(self, seconds: float | None) -> None:
        """Until something has changed, or so long."""
        self._waiting += 1
        try:
            self._changed.wait(seconds)
        finally:
            self._waiting -= 1

    def tell(self) -> None:
        """Those who wait."""
        if self._waiting:
            self._changed.notify_all()

    def say_goodbye(self) -> None:
        """Calls go on to their end, no new ones are taken."""
        self.session.say_goodbye()
        self.flush()

    def ask(self, now: float) -> None:
        """Whether the client is still there, if it was not heard of for long."""
        if not self.alive:
            return
        quiet = now - self.heard
        if self._asked and quiet > QUIET + ANSWER:
            self._close()
        elif not self._asked and quiet > QUIET:
            self._asked = True
            self.session.ping()
            self.flush()

    def _end(self) -> None:
        """Nothing is taken any more; the client may read what was sent."""
        if self._ending:
            return
        with suppress(OSError):
            self._socket.send(bytes(self.unsent) + self.session.unsent())
            self._socket.shutdown(socket.SHUT_WR)
        self._ending = True
        self.streams.closed()
        self._timers.after(_LINGER, self.abort)

    def abort(self, why: str = "") -> None:
        """Close it; takes the lock. `why`: what is on record of that."""
        with self.lock:
            self._why = self._why or why
            self._close()

    def _close(self) -> None:
        if not self.alive:
            return
        self.alive = False
        self._loop.remove(self)
        self.streams.closed()
        self.session.close()
        self._socket.close()
        self.tell()
        self._on_end(self, self._why)
        # It goes now, not with the next collection, which looks at nothing older than a large
        # request (gc_paused).
        self.streams, self.unsent, self._held = _GONE, memoryview(b""), b""


class _Gone:
    """The streams of a connection that was closed: its session must not be asked any more."""

    def on(self, event: Event) -> None:
        pass

    def go_on(self) -> bool:
        return True

    def closed(self) -> None:
        pass


_GONE = _Gone()
