"""Connections as they come: bounds by source, TLS, and for each a connection to the agent.

What the agent's gRPC server sees is a Unix socket whose name has the number of the connection
(`agent_name`); whose it is was reported before (report.py), so that no call comes too early.
"""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
import struct
from collections.abc import Callable, Iterable
from contextlib import suppress
from errno import EMFILE, ENFILE, ENOBUFS, ENOMEM
from itertools import count

from .frames import Gate
from .relay import Relay
from .report import Opened, Reports
from .sources import Sources
from .tls import Contexts, failure, names

_numbers = count(1)
#: Connections that are accepted before others' bytes are looked at again.
_AT_ONCE = 16
#: Seconds that a client has for its handshake; and that pass after the process had no descriptor.
HANDSHAKE, BREATH = 5.0, 0.2
_RESET = struct.pack("ii", 1, 0)  # struct linger: close with RST, which leaves no TIME_WAIT


def agent_name(pid: int, number: int) -> str:
    """What a connection's socket is called (unix(7): an abstract name), without its NUL."""
    return f"helio-front-{pid}-{number}"


class _Handshake:
    """May be ended by what comes after it."""

    task: asyncio.Task[None] | None = None
    why = ""

    def end(self, why: str) -> None:
        self.why = why
        if self.task is not None:
            self.task.cancel()


class Listener:
    """Accepts at a socket that listens."""

    def __init__(
        self, at: socket.socket, agent: str, contexts: Contexts | None, sources: Sources,
        reports: Reports,
    ) -> None:  # fmt: skip
        """`agent`: the path of its socket. Without `contexts` there is no TLS."""
        self._at, self._agent, self._contexts = at, agent, contexts
        self._sources, self._reports = sources, reports
        self._loop = asyncio.get_running_loop()
        self._tasks = set[asyncio.Task[None]]()
        self._clients: dict[int, asyncio.Task[None]] = {}
        at.setblocking(False)
        self._loop.add_reader(at, self._accept)

    def close(self, numbers: Iterable[int]) -> None:
        """End these connections, as far as they are this listener's."""
        for number in numbers:
            if (task := self._clients.get(number)) is not None:
                task.cancel()

    def _accept(self) -> None:
        for _ in range(_AT_ONCE):
            try:
                connection, (host, port, *_) = self._at.accept()
            except OSError as error:
                if error.errno in (EMFILE, ENFILE, ENOBUFS, ENOMEM):
                    self._reports.refused("", "the process has no descriptor or memory left")
                    self._loop.remove_reader(self._at)
                    self._loop.call_later(BREATH, self._loop.add_reader, self._at, self._accept)
                return
            self._begin(connection, host, port)

    def _begin(self, connection: socket.socket, host: str, port: int) -> None:
        made = _Handshake()
        if why := self._sources.open(host, made, self._loop.time()):
            self._reports.refused(host, why)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
            connection.close()
            return
        made.task = self._loop.create_task(self._serve(made, connection, host, port))
        self._tasks.add(made.task)
        made.task.add_done_callback(self._tasks.discard)
        surplus = self._sources.surplus()
        if isinstance(surplus, _Handshake):
            surplus.end("too many handshakes at a time")

    async def _serve(
        self, made: _Handshake, connection: socket.socket, host: str, port: int
    ) -> None:
        """From the handshake to the end."""
        why = ""
        try:
            connection.setblocking(False)
            with suppress(OSError):
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self._contexts is not None:
                connection = await self._shake(self._contexts.now(), connection)
        except (OSError, asyncio.CancelledError) as error:  # ssl.SSLError is an OSError
            why = made.why or failure(error)
            connection.close()
            self._reports.refused(host, why)
            return
        finally:
            self._sources.shaken(host, made, self._loop.time(), bool(why))
        try:
            with connection:
                await self._relay(connection, host, port)
        finally:
            self._sources.close(host, self._loop.time())

    async def _shake(self, context: ssl.SSLContext, connection: socket.socket) -> ssl.SSLSocket:
        loop = self._loop
        tls = context.wrap_socket(connection, server_side=True, do_handshake_on_connect=False)
        try:
            async with asyncio.timeout(HANDSHAKE):
                while True:
                    try:
                        tls.do_handshake()
                        return tls
                    except ssl.SSLWantReadError:
                        await _ready(loop.add_reader, loop.remove_reader, tls)
                    except ssl.SSLWantWriteError:
                        await _ready(loop.add_writer, loop.remove_writer, tls)
        except BaseException:
            tls.close()
            raise

    async def _relay(self, client: socket.socket, host: str, port: int) -> None:
        number, task = next(_numbers), asyncio.current_task()
        assert task is not None
        self._clients[number] = task
        try:
            await self._reports.opened(Opened(number, host, port, *names(client)))
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC) as agent:
                agent.setblocking(False)
                agent.bind(f"\0{agent_name(os.getpid(), number)}")
                await self._loop.sock_connect(agent, self._agent)
                gate = Gate(self._sources.tokens(host, self._loop.time()))
                relay = Relay(client, agent, gate)
                try:
                    await relay.ended
                finally:
                    relay.abort()
                if relay.why:
                    self._reports.refused(host, relay.why)
        finally:
            del self._clients[number]
            self._reports.closed(number)


async def _ready(
    add: Callable[[socket.socket, Callable[[], None]], None],
    remove: Callable[[socket.socket], object],
    at: socket.socket,
) -> None:
    """Return when the loop, by these methods of it, finds the socket ready."""
    ready = asyncio.Event()
    add(at, ready.set)
    try:
        await ready.wait()
    finally:
        remove(at)
