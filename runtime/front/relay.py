"""Bytes between a client and the agent, both ways, as fast as the slower side reads.

The sockets are read and written here and not by asyncio's transports: of a client whose handshake
fails those drop the TLS alert (Python 3.11), and they take a tenth more CPU for each request.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Callable
from contextlib import suppress

#: Bytes that are read at a time, and wait at most for a side that does not read.
_MOST = 64 << 10
#: Seconds that a client has to read what was sent when the agent has ended the connection.
_LINGER = 5.0
#: The socket can do no more for now.
_AGAIN = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)


class Relay:
    """A client's socket and one to the agent, both connected and not blocking. They are the
    caller's to close when `ended` is done."""

    def __init__(self, client: socket.socket, agent: socket.socket) -> None:
        self._loop, self._client, self._agent = asyncio.get_running_loop(), client, agent
        self.ended: asyncio.Future[None] = self._loop.create_future()
        self._requests = _Flow(self._loop, client, agent, self.abort)
        self._answers = _Flow(self._loop, agent, client, self._finish)
        self._answers.fail = self.abort

    def abort(self) -> None:
        """End it now. May be called again."""
        for flow in (self._requests, self._answers):
            flow.stop()
        if not self.ended.done():
            self.ended.set_result(None)

    def _finish(self) -> None:
        """The agent has ended it. What it sent arrives only if the client's socket is not closed
        while there is something to read there."""
        self._answers.stop()
        self._requests.discard()
        with suppress(OSError):
            if isinstance(self._client, ssl.SSLSocket):
                self._client.unwrap()  # sends close_notify, and does not wait for the client's
        with suppress(OSError):
            self._client.shutdown(socket.SHUT_WR)
        self._loop.call_later(_LINGER, self.abort)


class _Flow:
    """What `source` has goes to `sink`. `end` is called when `source` is at its end, `fail` when
    `sink` takes nothing any more: what that sent before may still be of use."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, source: socket.socket, sink: socket.socket,
        end: Callable[[], None],
    ) -> None:  # fmt: skip
        self._loop, self._source, self._sink, self._end = loop, source, sink, end
        self.fail: Callable[[], None] = self.discard
        self._rest, self._waiting, self._discarding = b"", False, False
        loop.add_reader(source, self._read)

    def stop(self) -> None:
        """May be called again."""
        self._loop.remove_reader(self._source)
        if self._waiting:
            self._loop.remove_writer(self._sink)
            self._waiting = False

    def discard(self) -> None:
        """From now on only the end of `source` is of interest."""
        self.stop()
        self._discarding = True
        self._loop.add_reader(self._source, self._read)

    def _read(self) -> None:
        try:
            data = self._source.recv(_MOST)
        except _AGAIN:
            return
        except OSError:
            data = b""
        if not data:
            self._end()
        elif not self._discarding:
            self._rest = data
            self._write()

    def _write(self) -> None:
        try:
            sent = self._sink.send(self._rest)
        except _AGAIN:
            sent = 0
        except OSError:
            self.fail()
            return
        self._rest = self._rest[sent:]
        waiting = bool(self._rest)
        if waiting and not self._waiting:
            self._loop.remove_reader(self._source)
            self._loop.add_writer(self._sink, self._write)
        elif self._waiting and not waiting:
            self._loop.remove_writer(self._sink)
            self._loop.add_reader(self._source, self._read)
        self._waiting = waiting
