"""Listens for the console: with a bounded number of connections, none of which is idle for long.

The controller needs files for its own connections to agents: who holds connections open, with a
token or without, must not take them all.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
import threading
from collections import Counter
from contextlib import closing, suppress

from aiohttp import web

from .server import PATIENCE, Console

#: Connections at a time, of all and of one address.
MOST_OPEN, MOST_OF_ONE = 256, 128
#: Seconds for which nothing is accepted where no more files may be open.
_NO_ROOM = 0.5
# aiohttp would log a traceback of each request that is not HTTP, and anybody could fill the disk.
# What goes wrong in a handler `Console` logs.
_NO_LOG = logging.getLogger("controller.console.http")
_NO_LOG.disabled = True


class _Connection(web.RequestHandler):
    """Is closed when no request was at work for `PATIENCE` seconds, also amid one that does not
    come to its end."""

    ended: asyncio.Event
    _idle: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self.busy(False)

    def connection_lost(self, exc: BaseException | None) -> None:
        self.busy(True)
        super().connection_lost(exc)
        self.ended.set()

    def busy(self, at_work: bool) -> None:
        """A request is at work from now on, or none."""
        if self._idle is not None:
            self._idle.cancel()
        wait = asyncio.get_running_loop().call_later
        self._idle = None if at_work else wait(PATIENCE, self._leave)

    def _leave(self) -> None:
        if isinstance(self.transport, asyncio.WriteTransport):
            self.transport.abort()


class _Doors:
    """Accepts connections, as many as there may be."""

    def __init__(self, server: web.Server, context: ssl.SSLContext | None) -> None:
        self._server, self._context = server, context
        self._open, self._tasks = Counter[str](), set[asyncio.Task[None]]()

    async def accept(self, listener: socket.socket) -> None:
        """Until it is cancelled."""
        loop = asyncio.get_running_loop()
        while True:
            try:
                made, address = await loop.sock_accept(listener)
            except OSError:
                await asyncio.sleep(_NO_ROOM)
                continue
            source = str(address[0])
            if self._open.total() >= MOST_OPEN or self._open[source] >= MOST_OF_ONE:
                made.close()
                continue
            self._open[source] += 1
            task = loop.create_task(self._serve(made, source))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _serve(self, made: socket.socket, source: str) -> None:
        loop, ended = asyncio.get_running_loop(), asyncio.Event()

        def connection() -> _Connection:
            found = _Connection(self._server, loop=loop, access_log=_NO_LOG, logger=_NO_LOG)
            found.ended = ended
            return found

        patience = PATIENCE if self._context is not None else None
        try:
            with suppress(OSError):  # no TLS, or gone
                await loop.connect_accepted_socket(
                    connection, made, ssl=self._context, ssl_handshake_timeout=patience
                )
                await ended.wait()
        finally:
            made.close()
            self._open[source] -= 1
            self._open += Counter()  # forget addresses with none

    def close(self) -> None:
        for task in self._tasks:
            task.cancel()


class ConsoleServer:
    """Listens until it is closed, by a thread of its own."""

    def __init__(
        self, console: Console, address: tuple[str, int], context: ssl.SSLContext | None
    ) -> None:
        """`context`: None for plain HTTP. Raises OSError."""
        self._listener = _listener(address)
        self.port = int(self._listener.getsockname()[1])
        self._loop = asyncio.new_event_loop()
        self._ended = asyncio.Event()
        self._thread = threading.Thread(
            target=self._run, args=(console, context), name="console http"
        )
        self._thread.start()

    def _run(self, console: Console, context: ssl.SSLContext | None) -> None:
        with closing(self._listener), asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._serve(console, context))

    async def _serve(self, console: Console, context: ssl.SSLContext | None) -> None:
        runner = web.AppRunner(console.application(), shutdown_timeout=1.0)
        await runner.setup()
        assert runner.server is not None
        doors = _Doors(runner.server, context)
        accepting = asyncio.create_task(doors.accept(self._listener))
        try:
            await self._ended.wait()
        finally:
            accepting.cancel()
            await runner.cleanup()
            doors.close()

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._ended.set)
        self._thread.join()


def _listener(address: tuple[str, int]) -> socket.socket:
    """Raises OSError."""
    family, _, _, _, found = socket.getaddrinfo(*address, type=socket.SOCK_STREAM)[0]
    made = socket.create_server(found[:2], family=family, backlog=128)
    made.setblocking(False)
    return made
