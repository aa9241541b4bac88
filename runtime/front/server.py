"""A gRPC server: nobody has more than its share of it, and work is seldom handed on."""

from __future__ import annotations

import socket
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple, Protocol

from ..base.source_limits import Sources, source_of
from .budget import Budget
from .calls import Method
from .connection import Connection
from .frames import Gate
from .listener import Arrivals, Listener, Peer
from .loop import Loop
from .report import Refusals
from .secured import Secured
from .streams import Calls, Served
from .threads import Threads
from .timers import Timers
from .tls import Contexts

#: Seconds between two looks at connections of which nothing is heard; and between two whether calls
#: have ended.
_LOOK, _BREATH = 5.0, 0.02


class Caller(Protocol):
    """Whose calls a connection's are. `place`: where they wait for each other; `known`: it may do
    something."""

    @property
    def place(self) -> str: ...

    @property
    def known(self) -> bool: ...


class _Client(NamedTuple):
    caller: Any
    host: str
    calls: Calls


class Server:
    """Listens from `start` to `stop`."""

    def __init__(
        self, methods: Mapping[bytes, Method], caller: Callable[[Peer], Caller],
        refused: Callable[[str, str, int], object], *, threads: int, each: int, patience: float,
        arriving: Budget,
    ) -> None:  # fmt: skip
        """`methods`: by their paths. `caller`: who somebody is. `refused`: is told of a host, why
        and how many of its connections were in a second. `threads` for calls, `each` of them for a
        host; `patience`: seconds that a call has for its first request;
        `arriving`: memory for requests, of each host."""
        self._caller, self._timers, self._loop = caller, Timers(), Loop()
        self._sources, self._threads = Sources(), Threads(threads, each)
        self._arrivals = Arrivals(
            self._loop, self._timers, self._sources, self._come, Refusals(self._timers, refused),
            self._make_room,
        )  # fmt: skip
        self._served = Served(
            methods,
            self._threads.submit,
            self._loop,
            self._timers,
            patience,
            arriving,
            self._arrivals.refused,
        )
        self._listeners = list[Listener]()
        self._sockets = list[socket.socket]()
        self._clients: dict[Connection, _Client] = {}
        self._lock, self._stopping = Lock(), False

    def listen(self, at: Iterable[socket.socket], identity: Path | None = None) -> None:
        """Before `start`; with TLS if there is an identity (identity.read_identity). Raises
        OSError."""
        contexts = Contexts(identity) if identity is not None else None
        for each in at:
            self._sockets.append(each)
            self._listeners.append(Listener(each, contexts, self._arrivals))

    def start(self) -> None:
        for listener in self._listeners:
            self._loop.add(listener)
        self._loop.start()
        self._timers.after(_LOOK, self._look)

    def close(self, whose: Callable[[Any], bool], why: str = "") -> None:
        """End the connections of these callers. `why`: what is on record of that."""
        with self._lock:
            found = [each for each, client in self._clients.items() if whose(client.caller)]
        for each in found:
            each.abort(why)

    def unattended(self) -> float:
        """Seconds for which no thread waited for clients; 0 where one does."""
        return self._loop.unattended()

    def stop(self, grace: float) -> None:
        """Take nothing new, give what runs `grace` seconds, and end."""
        self._stopping = True
        for listener in self._listeners:
            self._loop.remove(listener)
        for at in self._sockets:
            at.close()
        for each, _ in self._all():
            with each.lock:
                if each.alive:
                    each.say_goodbye()
        until = time.monotonic() + grace
        while time.monotonic() < until and any(len(client.calls) for _, client in self._all()):
            time.sleep(_BREATH)
        for each, _ in self._all():
            each.abort()
        self._loop.stop()
        self._threads.stop()

    def _all(self) -> list[tuple[Connection, _Client]]:
        with self._lock:
            return list(self._clients.items())

    def _come(self, made: socket.socket | Secured, peer: Peer, gate: Gate | None) -> None:
        """A client was let in."""
        connection = Connection(made, self._loop, self._timers, gate, self._gone)
        caller = self._caller(peer)
        host = peer.host or "unix"
        calls = Calls(connection, caller, caller.place, host, self._served)
        connection.streams = calls
        with self._lock:
            self._clients[connection] = _Client(caller, peer.host, calls)
        if peer.host:
            self._loop.replace(connection)
        else:
            self._loop.add(connection)
        if self._stopping:
            connection.abort()

    def _make_room(self, host: str) -> None:
        """End a connection without calls for one from there: of those who may do nothing, or of the
        source that has most, if that has more."""
        found = [(each, client) for each, client in self._all() if client.host]
        counts = Counter(source_of(client.host) for _, client in found)
        idle = [(each, client) for each, client in found if not len(client.calls)]
        if not idle:
            return
        each, client = min(idle, key=lambda one: (
            one[1].caller.known, -counts[source_of(one[1].host)], one[0].heard
        ))  # fmt: skip
        most = counts[source_of(client.host)]
        if not client.caller.known or most > counts[source_of(host)] + 1:
            each.abort("it has no calls, and another needs its place")

    def _gone(self, connection: Connection, why: str) -> None:
        with self._lock:
            client = self._clients.pop(connection, None)
        if client is not None and client.host:
            self._sources.close(client.host, time.monotonic())
            if why:
                self._arrivals.refused(client.host, why)

    def _look(self) -> None:
        now = time.monotonic()
        for each, _ in self._all():
            if each.lock.acquire(blocking=False):  # else it is at work
                try:
                    each.ask(now)
                finally:
                    each.lock.release()
        if not self._stopping:
            self._timers.after(_LOOK, self._look)
