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

from .frames import Gate, TooLarge

#: Bytes that are read at a time, and wait at most for a side that does not read.
_MOST = 64 << 10
#: Seconds that a client has to read what was sent when the agent has ended the connection.
_LINGER = 5.0
#: The socket can do no more for now.
_AGAIN = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)


class Relay:
    """A client's socket and one to the agent, both connected and not blocking. They are the
    caller's to close when `ended` is done. `gate`: what the client sends goes on as fast as that
    lets it. `why`: it was ended for what it sent."""

    def __init__(
        self, client: socket.socket, agent: socket.socket, gate: Gate | None = None
    ) -> None:
        self._loop, self._client, self._agent = asyncio.get_running_loop(), client, agent
        self.ended: asyncio.Future[None] = self._loop.create_future()
        self.why = ""
        self._requests = _Flow(self._loop, client, agent, self.abort, gate)
        self._answers = _Flow(self._loop, agent, client, self._finish)
        self._requests.fail, self._answers.fail = self._requests.discard, self.abort

    def abort(self, why: str = "") -> None:
        """End it now. May be called again."""
        self.why = self.why or why
        for flow in (self._requests, self._answers):
            flow.stop()
        if not self.ended.done():
            self.ended.set_result(None)

    def _finish(self, _: str = "") -> None:
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
    """What `source` has goes to `sink`. `end` is called when `source` is at its end, or with why it
    must be ended; `fail` when `sink` takes nothing any more: what that sent before may still be of
    use."""

    fail: Callable[[], None]

    def __init__(
        self, loop: asyncio.AbstractEventLoop, source: socket.socket, sink: socket.socket,
        end: Callable[[str], None], gate: Gate | None = None,
    ) -> None:  # fmt: skip
        self._loop, self._source, self._sink = loop, source, sink
        self._end, self._gate = end, gate
        #: What may go on and what the gate holds back, for `_pause` seconds from when the first has
        #: gone on.
        self._rest, self._held, self._pause = b"", b"", 0.0
        self._later: asyncio.TimerHandle | None = None
        self._reading = self._writing = self._discarding = False
        self._wait()

    def stop(self) -> None:
        """May be called again."""
        if self._later is not None:
            self._later.cancel()
        self._wait_for(False, False)

    def discard(self) -> None:
        """From now on only the end of `source` is of interest."""
        self.stop()
        self._discarding = True
        self._wait_for(True, False)

    def _read(self) -> None:
        try:
            data = self._source.recv(_MOST)
        except _AGAIN:
            return
        except OSError:
            data = b""
        if not data:
            self._end("")
        elif not self._discarding:
            self._admit(self._held + data if self._held else data)

    def _admit(self, data: bytes) -> None:
        count = len(data)
        if self._gate is not None:
            try:
                count, self._pause = self._gate.admit(data, self._loop.time())
            except TooLarge:
                self._end("its headers are too large")
                return
        self._rest, self._held = data[:count], data[count:]
        self._write()

    def _go_on(self) -> None:
        self._later = None
        self._admit(self._held)

    def _write(self) -> None:
        try:
            sent = self._sink.send(self._rest) if self._rest else 0
        except _AGAIN:
            sent = 0
        except OSError:
            self.fail()
            return
        self._rest = self._rest[sent:]
        if self._pause and not self._rest:
            self._later = self._loop.call_later(self._pause, self._go_on)
            self._pause = 0.0
        self._wait()

    def _wait(self) -> None:
        """For what is to come next: `source` is read only when nothing waits to go on."""
        writing = bool(self._rest)
        self._wait_for(not writing and self._later is None, writing)

    def _wait_for(self, reading: bool, writing: bool) -> None:
        loop = self._loop
        if reading and not self._reading:
            loop.add_reader(self._source, self._read)
        elif self._reading and not reading:
            loop.remove_reader(self._source)
        if writing and not self._writing:
            loop.add_writer(self._sink, self._write)
        elif self._writing and not writing:
            loop.remove_writer(self._sink)
        self._reading, self._writing = reading, writing
