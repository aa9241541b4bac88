"""Bytes through the front: each arrives once, in order, whoever is slow and whoever ends first."""

from __future__ import annotations

import asyncio
import hashlib
import random
import socket
import ssl
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Thread

import pytest
from helioc.runtime.front.relay import Relay
from helioc.runtime.front.tls import Contexts

LARGE = 3 << 20


class Through:
    """The two far ends of a relay; `ended` when the relay has."""

    def __init__(self, client: socket.socket, agent: socket.socket, thread: Thread) -> None:
        self.client, self.agent, self._thread = client, agent, thread

    def ended(self) -> bool:
        self._thread.join(20)
        return not self._thread.is_alive()


@contextmanager
def through(identity: Path | None) -> Iterator[Through]:
    """With the certificates of an authority by TLS."""
    with ExitStack() as owned:
        near, far = map(owned.enter_context, socket.socketpair())
        for_agent, agent = map(owned.enter_context, socket.socketpair())
        for each in (far, agent):
            each.settimeout(20)

        async def run() -> None:
            end: socket.socket = near
            if identity is not None:
                near.settimeout(20)
                end = Contexts(identity / "agent").now().wrap_socket(near, server_side=True)
            with end, for_agent:
                end.setblocking(False)
                for_agent.setblocking(False)
                await Relay(end, for_agent).ended

        thread = Thread(target=lambda: asyncio.run(run()))
        thread.start()
        if identity is not None:
            context = ssl.create_default_context(cafile=identity / "ca.pem")
            context.load_cert_chain(identity / "a-read.pem", identity / "a-read.key")
            far = owned.enter_context(context.wrap_socket(far, server_hostname="localhost"))
        try:
            yield Through(far, agent, thread)
        finally:
            far.close()
            agent.close()
            thread.join(20)


def read(at: socket.socket, count: int) -> bytes:
    found = bytearray()
    while len(found) < count and (some := at.recv(count - len(found))):
        found += some
    return bytes(found)


@pytest.fixture(params=["plain", "tls"])
def identity(request: pytest.FixtureRequest, certs: Path) -> Path | None:
    return certs if request.param == "tls" else None


def test_both_ways_at_once(identity: Path | None) -> None:
    data = random.Random(1).randbytes(LARGE)
    with through(identity) as made:
        sender = Thread(target=made.agent.sendall, args=(data,))
        sender.start()
        assert read(made.client, LARGE) == data
        sender.join()
        sender = Thread(target=made.client.sendall, args=(data,))
        sender.start()
        assert hashlib.sha256(read(made.agent, LARGE)).digest() == hashlib.sha256(data).digest()
        sender.join()
        made.client.sendall(b"ping")
        made.agent.sendall(b"pong")
        assert (read(made.agent, 4), read(made.client, 4)) == (b"ping", b"pong")


def test_who_does_not_read_stops_who_sends(identity: Path | None) -> None:
    """And nothing is lost when it reads at last."""
    with through(identity) as made:
        made.agent.settimeout(0.2)
        sent = 0
        with pytest.raises(TimeoutError):
            while sent < 64 << 20:
                sent += made.agent.send(bytes([sent % 251]) * 1000)
        assert sent < 4 << 20
        made.client.sendall(b"still")  # the other way goes on
        assert read(made.agent, 5) == b"still"
        assert len(read(made.client, sent)) == sent


def test_what_the_agent_said_last_arrives(identity: Path | None) -> None:
    """Though the client goes on writing, and reads late."""
    with through(identity) as made:
        made.agent.sendall(b"last" * 1000)
        made.agent.close()
        made.client.sendall(b"more")
        assert read(made.client, 4000) == b"last" * 1000
        assert made.client.recv(1) == b""
        made.client.close()
        assert made.ended()


def test_a_client_that_ends_ends_it(identity: Path | None) -> None:
    with through(identity) as made:
        made.client.sendall(b"last")
        made.client.close()
        assert read(made.agent, 5) == b"last"
        assert made.ended()
