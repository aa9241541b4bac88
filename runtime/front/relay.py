"""Bytes between a client and the agent, both ways, as fast as the slower side reads."""

from __future__ import annotations

import asyncio
from typing import cast

from .frames import Gate, TooLarge

#: Bytes that wait for a side that does not read, before the other is read no more.
_WAITING = 256 << 10
#: Seconds that a side has for what waits for it when the other is gone.
_LINGER = 5.0


class Side(asyncio.Protocol):
    """One end. What it gets goes to `other`, once there is one, as fast as `gate` lets it where
    that is set; until then it is read once. `why`: it was ended for what it sent."""

    def __init__(self) -> None:
        self.transport: asyncio.Transport | None = None
        self.other: Side | None = None
        self.gate: Gate | None = None
        self.why = ""
        self._waiting = b""
        self._later: asyncio.TimerHandle | None = None
        self._full = False
        self._loop = asyncio.get_running_loop()
        self.ended: asyncio.Future[None] = self._loop.create_future()

    def join(self, other: Side) -> None:
        """From now on both are one connection."""
        self.other, other.other = other, self
        for side in (self, other):
            side._pass_on()
            if side.ended.done():
                side._leave()

    def abort(self) -> None:
        if self.transport is not None and not self.ended.done():
            self.transport.abort()

    # ---- asyncio's calls --------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self.transport.set_write_buffer_limits(_WAITING)

    def data_received(self, data: bytes) -> None:
        self._waiting += data
        if self._later is None:
            self._pass_on()

    def pause_writing(self) -> None:
        if self.other is not None:
            self.other._full = True
            self.other._read()

    def resume_writing(self) -> None:
        if self.other is not None:
            self.other._full = False
            self.other._read()

    def connection_lost(self, error: Exception | None) -> None:
        if not self.ended.done():
            self.ended.set_result(None)
        self._leave()

    # ---- between them -----------------------------------------------------------------------

    def _pass_on(self) -> None:
        """What waits, as far as it may go on now."""
        self._later = None
        if self.other is not None and self.other.transport is not None:
            count, pause = len(self._waiting), 0.0
            if self.gate is not None:
                try:
                    count, pause = self.gate.admit(self._waiting, self._loop.time())
                except TooLarge:
                    self.why, self._waiting = "its headers are too large", b""
                    self.abort()
                    return
            self.other.transport.write(self._waiting[:count])
            self._waiting = self._waiting[count:]
            if pause and not self.ended.done():
                self._later = self._loop.call_later(pause, self._pass_on)
        self._read()

    def _read(self) -> None:
        """Read it, or do not, as there is room for what comes."""
        if self.transport is None:
            return
        # pausing in connection_made would not last: asyncio begins to read after it
        if self.other is None or self._full or self._later is not None:
            self.transport.pause_reading()
        else:
            self.transport.resume_reading()

    def _leave(self) -> None:
        """The other end gets what was sent to it, and ends."""
        other = self.other
        if other is not None and other.transport is not None and not other.transport.is_closing():
            other.transport.close()
            self._loop.call_later(_LINGER, other.abort)
