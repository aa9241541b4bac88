"""Accepts clients: limits by source, then TLS, then a connection."""

from __future__ import annotations

import socket
import ssl
import time
from collections.abc import Callable
from contextlib import suppress
from errno import EMFILE, ENFILE, ENOBUFS, ENOMEM
from functools import partial
from math import inf
from struct import pack
from threading import Lock
from typing import NamedTuple

from ..base.source_limits import Sources
from ..http2.sockets import failure
from .frames import Gate
from .loop import READ, WRITE, Loop
from .secured import Secured
from .syn_filter import drop_from
from .timers import Timer, Timers
from .tls import Contexts, names, need_http2

#: Connections that are accepted before anything else is looked at.
_AT_ONCE = 16
#: Seconds that a client has for its handshake; and that pass after the process had no descriptor.
HANDSHAKE, BREATH = 5.0, 0.2
_RESET = pack("ii", 1, 0)  # struct linger: close with RST, which leaves no TIME_WAIT


class Peer(NamedTuple):
    """Who is at the other end. `name` and `uris` are those of the certificate, `fingerprint` its
    SHA-256 in hex; all three empty without TLS, `host` at a Unix socket. `ends`: when the
    certificate does, in seconds of the Unix epoch."""

    host: str = ""
    port: int = 0
    name: str = ""
    uris: tuple[str, ...] = ()
    fingerprint: str = ""
    ends: float = inf


class Arrivals(NamedTuple):
    """What listeners have in common. `come`: a client is let in, through this gate. `refused`: one
    of this host is not, and why. `make_room`: end a connection for one from there, if that can
    be."""

    loop: Loop
    timers: Timers
    sources: Sources
    come: Callable[[socket.socket | Secured, Peer, Gate | None], None]
    refused: Callable[[str, str], None]
    make_room: Callable[[str], None]


class Listener:
    """Accepts at a socket that listens; it is the caller's to close."""

    stays = False

    def __init__(self, at: socket.socket, contexts: Contexts | None, to: Arrivals) -> None:
        """Without `contexts` there is no TLS. Whoever may open a Unix socket is let in."""
        self._at, self._contexts, self._to = at, contexts, to
        self._dropped = list[str]()  # sources of which the kernel drops what comes here
        at.setblocking(False)

    def fileno(self) -> int:
        return self._at.fileno()

    def abort(self) -> None:
        """It goes on: the next client may be another."""
        self._to.timers.after(BREATH, self._wake)

    def _wake(self) -> None:
        self._to.loop.wake(self)

    def serve(self) -> int:
        for _ in range(_AT_ONCE):
            try:
                connection, address = self._at.accept()
            except OSError as error:
                if error.errno in (EMFILE, ENFILE, ENOBUFS, ENOMEM):
                    self._to.refused("", "the process has no descriptor or memory left")
                    self._to.timers.after(BREATH, self._wake)
                    return 0
                break
            connection.setblocking(False)
            if self._at.family == socket.AF_UNIX:
                self._to.come(connection, Peer(), None)
            else:
                self._begin(connection, Peer(*address[:2]))
        return READ

    def _begin(self, connection: socket.socket, peer: Peer) -> None:
        sources = self._to.sources
        made = Handshake(connection, peer, self._contexts, self._to)
        if sources.full:
            self._to.make_room(peer.host)
        if why := sources.open(peer.host, made, time.monotonic()):
            self._to.refused(peer.host, why)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
            connection.close()
            if not self._dropped:
                self._drop()
            return
        made.begin()
        if (surplus := sources.surplus()) is not None:
            surplus.end("too many handshakes at a time", surplus=True)

    def _drop(self) -> None:
        """Let the kernel drop what comes from sources that connect without end, as long as they are
        barred."""
        barred = self._to.sources.barred(time.monotonic())
        if barred != self._dropped:
            with suppress(OSError):  # without memory, or closed: refused they are all the same
                drop_from(self._at, barred)
        for host in set(barred) - set(self._dropped):
            self._to.refused(host, "it connects too often: nothing is taken from there for a while")
        self._dropped = barred
        if barred:
            self._to.timers.after(self._to.sources.bounds.barred, self._drop)


class Handshake:
    """A client that has not shown yet who it is. May be ended by what comes after it."""

    stays = False

    def __init__(
        self, made: socket.socket, peer: Peer, contexts: Contexts | None, to: Arrivals
    ) -> None:
        self._socket: socket.socket | Secured = made
        self._peer, self._contexts, self._to = peer, contexts, to
        self._descriptor, self._lock, self._over = made.fileno(), Lock(), False
        self._timer: Timer | None = None

    def fileno(self) -> int:
        return self._descriptor

    def begin(self) -> None:
        self._timer = self._to.timers.after(HANDSHAKE, partial(self.end, "no handshake in time"))
        try:
            assert isinstance(self._socket, socket.socket)
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self._contexts is not None:
                self._socket = Secured(self._socket, self._contexts.now())
            self._to.loop.add(self, WRITE if self._contexts is None else READ)
        except OSError as error:
            self.end(failure(error))

    def serve(self) -> int:
        with self._lock:
            if self._over:
                return 0
            try:
                if isinstance(self._socket, Secured):
                    self._socket.do_handshake()
                    need_http2(self._socket.tls)
                    self._peer = Peer(self._peer.host, self._peer.port, *names(self._socket.tls))
            except ssl.SSLWantReadError:
                return READ
            except ssl.SSLWantWriteError:
                return WRITE
            except OSError as error:  # ssl.SSLError is one
                why: str = failure(error)
            else:
                self._over, why = True, ""
        if why:
            self.end(why)
            return 0
        self._stop_timer()
        now, host = time.monotonic(), self._peer.host
        self._to.sources.shaken(host, self, now, False)
        secured = self._socket if isinstance(self._socket, Secured) else None
        gate = Gate(self._to.sources.tokens(host, now), secured)
        self._to.come(self._socket, self._peer, gate)
        return READ | WRITE  # what it sent behind its handshake was read with that

    def abort(self) -> None:
        self.end("it was closed during the handshake")

    def end(self, why: str, surplus: bool = False) -> None:
        """Close it, unless it is over. By any thread."""
        with self._lock:
            if self._over:
                return
            self._over = True
            self._to.loop.remove(self)
            self._socket.close()
        self._stop_timer()
        self._to.sources.shaken(self._peer.host, self, time.monotonic(), True, surplus)
        self._to.refused(self._peer.host, why)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.stop()
