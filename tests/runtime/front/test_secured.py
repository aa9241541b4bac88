"""TLS whose other side sends what it likes, and takes nothing."""

from __future__ import annotations

import ctypes
import select
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from helioc.runtime.base.certs import make_authority
from helioc.runtime.base.identity import read_expiries
from helioc.runtime.base.source_limits import Bucket
from helioc.runtime.front.frames import Gate
from helioc.runtime.front.secured import Secured
from helioc.runtime.front.tls import Contexts, names

MOST = 64 << 10
UPDATES = 4000
SO_SNDBUFFORCE = 32  # asm-generic/socket.h


@pytest.fixture
def context(tmp_path: Path) -> ssl.SSLContext:
    make_authority(tmp_path, [])
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.load_cert_chain(tmp_path / "agent.pem", tmp_path / "agent.key")
    return made


def shake(server: Secured) -> None:
    while True:
        try:
            return server.do_handshake()
        except ssl.SSLWantReadError:
            select.select([server], [], [], 10)


def asks_anybody() -> ssl.SSLContext:
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    made.check_hostname, made.verify_mode = False, ssl.CERT_NONE
    return made


@contextmanager
def connected(
    context: ssl.SSLContext,
    asking: ssl.SSLContext | None = None,
    session: ssl.SSLSession | None = None,
) -> Iterator[tuple[ssl.SSLSocket, Secured]]:
    asking = asking or asks_anybody()
    one, other = socket.socketpair()
    other.setblocking(False)
    with closing(Secured(other, context)) as server:
        thread = threading.Thread(target=shake, args=(server,))
        thread.start()
        with asking.wrap_socket(one, session=session) as client:
            thread.join()
            yield client, server


def test_all_that_is_sent_arrives(context: ssl.SSLContext) -> None:
    """The other side reads slowly."""
    data, got = bytes(range(256)) * 4096, bytearray()
    with connected(context) as (client, server):
        left, blocked = memoryview(data), 0
        while left or len(got) < len(data):
            try:
                left = left[server.send(left[:200_000]) :] if left else left
            except BlockingIOError:
                blocked += 1
            got += client.recv(MOST) if blocked or not left else b""
    assert got == data and blocked


def test_what_came_with_the_handshake_is_there(context: ssl.SSLContext) -> None:
    one, other = socket.socketpair()
    other.setblocking(False)
    client = asks_anybody().wrap_socket(one, do_handshake_on_connect=False)
    with client, closing(Secured(other, context)) as server:
        one_side = threading.Thread(target=client.do_handshake)
        one_side.start()
        select.select([server], [], [], 10)
        with suppress(ssl.SSLWantReadError):
            server.do_handshake()
        one_side.join()  # it has said Finished, and goes on
        client.sendall(b"early")
        server.do_handshake()
        assert server.recv(MOST) == b"early"
        with pytest.raises(BlockingIOError):
            server.recv(MOST)


@pytest.mark.parametrize("said", [True, False])
def test_the_end(context: ssl.SSLContext, said: bool) -> None:
    with connected(context) as (client, server):
        client.sendall(b"last")
        if said:
            with pytest.raises((ssl.SSLWantReadError, ssl.SSLError)):
                client.settimeout(0)
                client.unwrap()
        socket.socket.shutdown(client, socket.SHUT_WR)
        assert server.recv(MOST) == b"last"
        assert [server.recv(MOST) for _ in range(2)] == [b"", b""]


def test_what_is_no_tls_ends_it(context: ssl.SSLContext) -> None:
    one, other = socket.socketpair()
    other.setblocking(False)
    with one, closing(Secured(other, context)) as server:
        one.sendall(b"GET / HTTP/1.1\r\n\r\n")
        with pytest.raises(ssl.SSLError, match="(?i)http.request"):
            server.do_handshake()


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_a_session_is_not_resumed_without_its_certificate(
    tmp_path: Path, version: ssl.TLSVersion
) -> None:
    """It would be let in when that has ended."""
    make_authority(tmp_path, [])
    contexts, asking = Contexts(tmp_path / "agent"), asks_anybody()
    asking.load_cert_chain(tmp_path / "admin.pem", tmp_path / "admin.key")
    asking.maximum_version = version
    session, found = None, list[tuple[object, ...]]()
    for _ in range(2):
        with connected(contexts.now(), asking, session) as (client, server):
            server.send(b"x")
            assert client.recv(1) == b"x" and client.version() == server.tls.version()
            found.append(names(server.tls))
            resumed, session = client.session_reused, client.session
    assert resumed == (version is ssl.TLSVersion.TLSv1_2)
    assert found[0] == found[1]
    assert found[0][0] == "admin" and found[0][3] == read_expiries(tmp_path / "admin")[0].ends


class OpenSsl:
    """A client by the library itself, for what Python does not offer."""

    def __init__(self, at: socket.socket) -> None:
        self.lib = lib = ctypes.CDLL("libssl.so.3")
        for name in ("TLS_client_method", "SSL_CTX_new", "SSL_new"):
            getattr(lib, name).restype = ctypes.c_void_p
        self.context = ctypes.c_void_p(lib.SSL_CTX_new(ctypes.c_void_p(lib.TLS_client_method())))
        self.made = ctypes.c_void_p(lib.SSL_new(self.context))
        assert lib.SSL_set_fd(self.made, at.fileno()) == 1

    def __enter__(self) -> OpenSsl:
        return self

    def __exit__(self, *_: Any) -> None:
        self.lib.SSL_free(self.made)
        self.lib.SSL_CTX_free(self.context)

    def connect(self) -> None:
        assert self.lib.SSL_connect(self.made) == 1

    def update(self, asked: bool) -> bool:
        """Whether its KeyUpdate was sent."""
        assert self.lib.SSL_key_update(self.made, int(asked)) == 1
        return int(self.lib.SSL_do_handshake(self.made)) == 1

    def write(self, data: bytes) -> None:
        assert self.lib.SSL_write(self.made, data, len(data)) == len(data)


@contextmanager
def updating(context: ssl.SSLContext) -> Iterator[tuple[OpenSsl, socket.socket, Secured]]:
    one, other = socket.socketpair()
    other.setblocking(False)
    for each in (one, other):
        each.setsockopt(socket.SOL_SOCKET, SO_SNDBUFFORCE, 8 << 20)
    with one, closing(Secured(other, context)) as server, OpenSsl(one) as client:
        thread = threading.Thread(target=shake, args=(server,))
        thread.start()
        client.connect()
        thread.join()
        yield client, one, server


def test_records_without_data_are_read_a_part_at_a_time(context: ssl.SSLContext) -> None:
    """And who sends them waits, as who sends too many frames."""
    bucket = Bucket(500.0, 4000.0, 500.0, 0.0)
    with updating(context) as (client, _, server):
        gate = Gate(bucket, server)
        assert all(client.update(False) for _ in range(UPDATES))
        client.write(b"data")
        turns, data = 0, b""
        while not data:
            turns += 1
            try:
                data = server.recv(MOST)
            except BlockingIOError:
                assert gate.admit(b"", 0.0) == (0, 0.0)
        assert data == b"data" and turns >= UPDATES * 27 // (17 << 10)
        gate.admit(b"", 0.0)
        assert gate.pause(0.0) > UPDATES / 800 * 0.8, "it pays for all of them"


def test_who_takes_no_answers_to_its_updates_is_ended(context: ssl.SSLContext) -> None:
    with updating(context) as (client, one, server):
        server._socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1)
        one.setblocking(False)
        with pytest.raises(OSError, match="more than it takes"):
            for _ in range(20 * UPDATES):
                client.update(True)
                with suppress(BlockingIOError):
                    server.recv(MOST)


def test_data_costs_little(context: ssl.SSLContext) -> None:
    """Whatever part of a record a read ends in."""
    bucket = Bucket(500.0, 4000.0, 500.0, 0.0)
    with connected(context) as (client, server):
        gate, got = Gate(bucket, server), 0
        thread = threading.Thread(target=client.sendall, args=(bytes(4 << 20),))
        thread.start()
        while got < 4 << 20:
            select.select([server], [], [], 10)
            with suppress(BlockingIOError):
                got += len(server.recv(MOST))
            gate.admit(b"", 0.0)
        thread.join()
    assert bucket.tokens > 470
