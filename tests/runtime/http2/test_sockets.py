"""What has come at a socket is taken at once, with TLS or without."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from helioc.runtime.base.certs import make_authority
from helioc.runtime.http2.sockets import Tls, failure, receive

MOST = 64 << 10


def secured(
    pair: tuple[socket.socket, socket.socket], directory: Path
) -> tuple[socket.socket, socket.socket]:
    make_authority(directory, [])
    answering = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    answering.load_cert_chain(directory / "agent.pem", directory / "agent.key")
    asking = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    asking.check_hostname, asking.verify_mode = False, ssl.CERT_NONE
    made = list[ssl.SSLSocket]()
    thread = threading.Thread(
        target=lambda: made.append(answering.wrap_socket(pair[1], server_side=True))
    )
    thread.start()
    client = asking.wrap_socket(pair[0])
    thread.join()
    return client, made[0]


@pytest.fixture(params=["plain", "TLS"])
def pair(
    request: pytest.FixtureRequest, tmp_path: Path
) -> Iterator[tuple[socket.socket, socket.socket]]:
    made = socket.socketpair()
    client, server = secured(made, tmp_path) if request.param == "TLS" else made
    with client, server:
        server.setblocking(False)
        yield client, server


def test_all_that_has_come_is_taken(pair: tuple[socket.socket, socket.socket]) -> None:
    client, server = pair
    assert receive(server, MOST) == (b"", "")
    for size in (1, 100, 5000):
        client.sendall(bytes(size))
    assert receive(server, MOST) == (bytes(5101), "")
    assert receive(server, MOST) == (b"", "")


def test_the_end_comes_behind_the_rest(pair: tuple[socket.socket, socket.socket]) -> None:
    client, server = pair
    client.sendall(b"last")
    client.close()
    data, ended = receive(server, MOST)
    assert data == b"last"
    assert ended or receive(server, MOST)[1]


@pytest.mark.parametrize(
    ("reason", "tls"),
    [
        ("TLSV1_ALERT_UNKNOWN_CA", Tls.REFUSED_HERE),
        ("SSLV3_ALERT_CERTIFICATE_EXPIRED", Tls.REFUSED_HERE),
        ("TLSV13_ALERT_CERTIFICATE_REQUIRED", Tls.REFUSED_HERE),
        ("TLSV1_ALERT_INTERNAL_ERROR", None),
        ("WRONG_VERSION_NUMBER", Tls.NONE),
        ("UNEXPECTED_EOF_WHILE_READING", None),
    ],
)
def test_how_tls_failed_is_told_by_its_number(reason: str, tls: Tls | None) -> None:
    error = ssl.SSLError(ssl.SSL_ERROR_SSL, "in whatever words")
    error.reason = reason
    found = failure(error)
    assert found.tls == tls and found == f"TLS: {reason.lower().replace('_', ' ')}"


@pytest.mark.parametrize(("number", "tls"), [(10, Tls.ENDED), (64, Tls.OTHER_NAME), (1, None)])
def test_why_a_certificate_is_refused_is_told_by_its_number(number: int, tls: Tls | None) -> None:
    error = ssl.SSLCertVerificationError(ssl.SSL_ERROR_SSL, "certificate is not yet valid")
    error.verify_code, error.verify_message = number, "certificate is not yet valid"
    assert failure(error).tls == tls
    assert failure(OSError(5, "expired")).tls is None
