"""Requests that are no calls of ours, or hardly: each is answered, or its connection is ended."""

from __future__ import annotations

import pytest
from agent_world import World
from helioc.runtime.rpc.methods import path
from http2 import (
    CONTINUATION,
    END_HEADERS,
    END_STREAM,
    HEADERS,
    Closed,
    Peer,
    Target,
    headers,
    message,
    plain,
    raw,
)

pytestmark = pytest.mark.usefixtures("kernel")

STATUS = path("Status")
REQUESTS = {
    "another method": headers("/helio.control.v1.Control/Nothing"),
    "another service": headers("/a.B/c"),
    "no method": headers("/"),
    "an empty path": headers(""),
    "a path of 8 KB": headers("/" + "x" * 8000),
    "a path that climbs": headers("/../../etc/passwd"),
    "a path that is not ASCII": headers("/helio.control.v1.Control/\xe9\xff"),
    "a NUL": headers("/helio.control.v1.Control/Status\0"),
    "GET": headers(STATUS, __method="GET"),
    "CONNECT": headers(STATUS, __method="CONNECT"),
    "no such verb": headers(STATUS, __method="x" * 100),
    "HTML": headers(STATUS, content_type="text/html"),
    "no content type": headers(STATUS, content_type=""),
    "gRPC-web": headers(STATUS, content_type="application/grpc-web+proto"),
    "JSON in gRPC": headers(STATUS, content_type="application/grpc+json"),
    "no trailers": headers(STATUS, te="gzip"),
    "another scheme": headers(STATUS, __scheme="ftp"),
    "an encoding that nobody knows": headers(STATUS, grpc_encoding="snappy"),
    "an encoding that it has not": headers(STATUS, grpc_encoding="gzip"),
    "a binary header that is none": headers(STATUS, x_bin="***"),
    "a header in capitals": [*headers(STATUS), ("X-Capital", "a")],
    "connection: close": headers(STATUS, connection="close"),
    "two paths": [*headers(STATUS), (":path", "/b")],
    "a pseudo-header of no kind": [(":nothing", "a"), *headers(STATUS)],
    "no path": [pair for pair in headers(STATUS) if pair[0] != ":path"],
    "no headers": [],
    **{
        f"a timeout of {said!r}": headers(STATUS, grpc_timeout=said)
        for said in (
            "",
            "0n",
            "1n",
            "-1S",
            "1",
            "S",
            "99999999H",
            "9" * 50 + "S",
            "1x",
            "\xff",
            " 1S",
        )
    },
}


@pytest.fixture
def target(secure: World) -> Target:
    return Target(unix=str(secure.socket))


def serves(target: Target) -> None:
    with Peer(target) as peer:
        answer = peer.wait(peer.call(headers(STATUS), message(b"")))
        assert answer.status == 0 and answer.content


def test_each_is_answered(target: Target) -> None:
    unanswered = []
    for what, fields in REQUESTS.items():
        with Peer(target) as peer:
            try:
                answer = peer.wait(peer.call(fields, message(b"")), 5)
            except Closed:
                continue
            if not answer.ended:
                unanswered.append(what)
            assert answer.status in (None, 0, 1, 3, 4, 12, 13, 2), (what, answer)
    assert not unanswered
    serves(target)


def test_nobody_waits_for_who_reads_the_log(secure: World, target: Target) -> None:
    """The log is a pipe of 64 KiB: a line for each of these calls would fill it."""
    fields = plain([*headers(STATUS), *[("x" * 20, "y" * 100)] * 100])
    more = plain([("x" * 20, "y" * 100)] * 120)
    with Peer(target) as peer:
        for _ in range(600):
            stream = peer.stream()
            parts = raw(CONTINUATION, 0, stream, more) * 4
            last = raw(CONTINUATION, END_HEADERS, stream)
            peer.send(raw(HEADERS, END_STREAM, stream, fields) + parts + last)
            assert peer.wait(stream).ended
    serves(target)
