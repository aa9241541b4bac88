"""What the front tells the agent: a JSON object a packet, over a socket of packets (SEQPACKET).

`{"opened": {number, host, port, name, uris, fingerprint}}`: a client was let in; sent before the
agent's server sees its connection. `{"closed": number}`. `{"refused": {host, why, count}}`: as
often in the last second. From the agent comes `{"close": [number, …]}`; the end of either is the
end of the front.
"""

from __future__ import annotations

import asyncio
import json
import socket
from collections import Counter
from typing import Any, NamedTuple

#: Sources and reasons that are named a second; all others are counted together.
_NAMED = 64
_PERIOD = 1.0
#: Bytes of the largest packet.
PACKET = 64 << 10


class Opened(NamedTuple):
    """A connection. `name` and `uris` are those of the certificate, `fingerprint` its SHA-256 in
    hex; all three empty without TLS."""

    number: int
    host: str
    port: int
    name: str
    uris: tuple[str, ...]
    fingerprint: str


class Reports:
    """The front's end."""

    def __init__(self, to: socket.socket) -> None:
        to.setblocking(False)
        self._socket, self._loop = to, asyncio.get_running_loop()
        self._waiting: asyncio.Queue[tuple[bytes, asyncio.Future[None] | None]] = asyncio.Queue()
        self._refused: Counter[tuple[str, str]] = Counter()
        self._due: asyncio.TimerHandle | None = None

    async def opened(self, what: Opened) -> None:
        """Returns once it is sent."""
        sent: asyncio.Future[None] = self._loop.create_future()
        self._waiting.put_nowait((_packet(opened=what._asdict()), sent))
        await sent

    def closed(self, number: int) -> None:
        self._waiting.put_nowait((_packet(closed=number), None))

    def refused(self, host: str, why: str) -> None:
        known = (host, why) in self._refused or len(self._refused) < _NAMED
        self._refused[(host, why) if known else ("", "refused from many addresses")] += 1
        if self._due is None:
            self._due = self._loop.call_later(_PERIOD, self._flush)

    def _flush(self) -> None:
        self._due = None
        for (host, why), count in self._refused.items():
            found = {"host": host, "why": why, "count": count}
            self._waiting.put_nowait((_packet(refused=found), None))
        self._refused.clear()

    async def send(self) -> None:
        """For ever. Raises OSError when the agent is gone."""
        while True:
            packet, sent = await self._waiting.get()
            await self._loop.sock_sendall(self._socket, packet)
            if sent is not None and not sent.done():
                sent.set_result(None)

    async def wanted(self) -> list[int] | None:
        """The connections that the agent wants closed; None when it is gone."""
        try:
            packet = await self._loop.sock_recv(self._socket, PACKET)
        except ConnectionError:
            return None
        return json.loads(packet)["close"] if packet else None


def _packet(**said: Any) -> bytes:
    return json.dumps(said).encode()
