"""Bytes between a client and the agent, both ways, as fast as the slower side reads."""

from __future__ import annotations

import asyncio
from typing import cast

#: Bytes that wait for a side that does not read, before the other is read no more.
_WAITING = 256 << 10
#: Seconds that a side has for what waits for it when the other is gone.
_LINGER = 5.0


class Side(asyncio.Protocol):
    """One end. What it gets goes to `other`, once there is one; until then it is read once."""

    def __init__(self) -> None:
        self.transport: asyncio.Transport | None = None
        self.other: Side | None = None
        self._early = b""
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def join(self, other: Side) -> None:
        """From now on both are one connection."""
        self.other, other.other = other, self
        for side in (self, other):
            side.data_received(side._early)
            if side.ended.done():
                side._leave()
            elif side.transport is not None:
                side.transport.resume_reading()

    def abort(self) -> None:
        if self.transport is not None:
            self.transport.abort()

    # ---- asyncio's calls --------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self.transport.set_write_buffer_limits(_WAITING)

    def data_received(self, data: bytes) -> None:
        if self.other is not None and self.other.transport is not None:
            self.other.transport.write(data)
        elif self.transport is not None:
            # pausing in connection_made would not last: asyncio begins to read after it
            self._early += data
            self.transport.pause_reading()

    def pause_writing(self) -> None:
        if self.other is not None and self.other.transport is not None:
            self.other.transport.pause_reading()

    def resume_writing(self) -> None:
        if self.other is not None and self.other.transport is not None:
            self.other.transport.resume_reading()

    def connection_lost(self, error: Exception | None) -> None:
        if not self.ended.done():
            self.ended.set_result(None)
        self._leave()

    def _leave(self) -> None:
        """The other end gets what was sent to it, and ends."""
        other = self.other
        if other is not None and other.transport is not None and not other.transport.is_closing():
            other.transport.close()
            asyncio.get_running_loop().call_later(_LINGER, other.transport.abort)
