"""What clients do to their connections: the others are served, and all is given back."""

from __future__ import annotations

import gc
import socket
import threading
import weakref
from contextlib import ExitStack
from dataclasses import replace
from fcntl import ioctl
from pathlib import Path
from termios import TIOCOUTQ

import pytest
from front_world import Caller, Ordered, method, ordered, server, started
from helioc.runtime.base.certs import make_authority
from helioc.runtime.base.source_limits import Bounds
from helioc.runtime.front import streams, threads
from helioc.runtime.front.budget import Budget
from helioc.runtime.front.calls import Call, Method
from helioc.runtime.http2.codes import Code
from hpack import Encoder
from http2 import (
    DATA,
    END_HEADERS,
    END_STREAM,
    HEADERS,
    PREFACE,
    SETTINGS,
    WINDOW_UPDATE,
    Closed,
    Peer,
    Target,
    headers,
    message,
    raw,
)
from lab import until

ECHO = "/t/Echo"
#: SETTINGS_INITIAL_WINDOW_SIZE.
WINDOW = 4


def echo(request: bytes) -> bytes:
    return request


def target(path: Path) -> Target:
    return Target(unix=str(path / "s"))


def asks(path: Path, request: bytes = b"x") -> bytes:
    with Peer(target(path)) as peer:
        return peer.wait(peer.call(headers(ECHO), message(request))).content


def test_what_comes_behind_the_end_of_a_connection_is_not_looked_at(tmp_path: Path) -> None:
    """The answer to the first call finds the client gone."""
    begun = list[bytes]()

    def note(request: bytes) -> bytes:
        begun.append(request)
        return request

    made = server(tmp_path / "s", {ECHO: method(echo), "/t/Note": method(note)})
    client = target(tmp_path).reach()
    block = [Encoder().encode(headers(path)) for path in (ECHO, "/t/Note")]
    parts = [PREFACE, raw(SETTINGS, 0, 0), raw(HEADERS, END_HEADERS, 1, block[0]),
             raw(DATA, 0, 1, message(b"", compressed=1))]  # fmt: skip
    for stream in range(3, 41, 2):
        parts += [raw(HEADERS, END_HEADERS, stream, block[1]),
                  raw(DATA, END_STREAM, stream, message(b"y"))]  # fmt: skip
    client.sendall(b"".join(parts))
    client.close()
    with started(made):
        assert asks(tmp_path) == message(b"x")
        until(lambda: not made._clients, "the connection is over")
    assert not begun


def test_a_request_that_comes_later_than_its_call_has_all_its_time(tmp_path: Path) -> None:
    begun, late = threading.Event(), threading.Event()

    def work(request: bytes) -> bytes:
        begun.set()
        assert late.wait(10)
        return request

    patience = 0.05
    made = server(tmp_path / "s", {ECHO: ordered(lambda r: lambda: work(r), True)}, patience)
    with started(made), Peer(target(tmp_path)) as peer:
        stream = peer.call(headers(ECHO), None)
        peer.send(raw(6, 0, 0, bytes(8)))  # PING: all before it has been read when it is answered
        assert any(each.type == 6 for each in peer.frames(10))
        peer.send(raw(DATA, END_STREAM, stream, message(b"x")))
        assert begun.wait(10)
        made._timers.after(2 * patience, late.set)
        assert peer.wait(stream).status == Code.OK


def test_answers_to_many_requests_wait_for_nothing(tmp_path: Path) -> None:
    """A client that has room for all of them says nothing while it reads."""
    count, size = 200, 1500
    made = server(tmp_path / "s", {ECHO: ordered(lambda r: lambda: bytes(size))})
    with started(made), Peer(target(tmp_path), {WINDOW: 1 << 20}) as peer:
        peer.send(raw(WINDOW_UPDATE, 0, 0, (1 << 20).to_bytes(4, "big")))
        stream = peer.call(headers(ECHO), None)
        peer.send(raw(DATA, 0, stream, message(b"x") * count))
        came = 0
        for each in peer.frames(10):
            came += len(each.data) if each.type == DATA else 0
            if came == count * len(message(bytes(size))):
                break
        assert came == count * len(message(bytes(size)))


class Settling(Ordered):
    """Takes as long for its records as the client for all that was sent."""

    def __init__(self, call: Call, size: int) -> None:
        super().__init__(lambda r: lambda: bytes(size))
        self.connection = call._connection

    def settle(self) -> None:
        until(lambda: ioctl(self.connection, TIOCOUTQ, bytes(4)) == bytes(4), "all was read")


def test_what_is_sent_behind_the_records_makes_room(tmp_path: Path) -> None:
    """The client has read all that was sent, and says nothing."""
    count, size = 100, 5000
    slow = Method(None, lambda call: Settling(call, size), False, 1 << 20, lambda _: True)
    made, expected = server(tmp_path / "s", {ECHO: slow}), count * len(message(bytes(size)))
    with started(made), Peer(target(tmp_path), {WINDOW: 1 << 20}) as peer:
        peer.send(raw(WINDOW_UPDATE, 0, 0, (1 << 20).to_bytes(4, "big")))
        stream = peer.call(headers(ECHO), None)
        peer.send(raw(DATA, 0, stream, message(b"x") * count))
        came = 0
        for each in peer.frames(10):
            came += len(each.data) if each.type == DATA else 0
            if came == expected:
                break
        assert came == expected


def test_messages_that_are_refused_take_no_window(tmp_path: Path) -> None:
    """More of them than a connection's window has room for."""
    made = server(tmp_path / "s", {ECHO: method(echo)})
    with started(made), Peer(target(tmp_path)) as peer:
        for _ in range(80):
            stream = peer.call(headers(ECHO), message(bytes(16 << 10), compressed=1))
            assert peer.wait(stream).status == Code.UNIMPLEMENTED


def test_parts_of_requests_are_bounded(tmp_path: Path) -> None:
    """Those of a host together, and given back when their calls end."""
    made = server(tmp_path / "s", {ECHO: method(echo)}, arriving=Budget(200 << 10, 1 << 20))
    with started(made):
        with Peer(target(tmp_path)) as peer:
            assert peer.wait(peer.call(headers(ECHO), message(b"x"))).ended  # it knows our window
            first, other = (peer.call(headers(ECHO), None) for _ in range(2))
            part = message(bytes(100 << 10), length=900 << 10)
            for stream in (first, other):
                for at in range(0, len(part), 16 << 10):
                    peer.send(raw(DATA, 0, stream, part[at : at + (16 << 10)]))
            assert peer.wait(other).status == Code.RESOURCE_EXHAUSTED
        until(lambda: not made._clients, "the connection is over")
        with Peer(target(tmp_path)) as peer:
            assert peer.wait(peer.call(headers(ECHO), message(b"x"))).ended
            large = message(bytes(190 << 10))
            assert peer.wait(peer.call(headers(ECHO), large)).content == large


def test_who_may_not_call_is_answered_before_its_request(tmp_path: Path) -> None:
    made = server(tmp_path / "s", {ECHO: method(echo, admits=False)})
    with started(made), Peer(target(tmp_path)) as peer:
        assert peer.wait(peer.call(headers(ECHO), None)).content == message(b"none")


def test_a_connection_that_is_over_takes_no_memory(tmp_path: Path) -> None:
    """Not until a collection: what was there when rules came is never looked at by one."""
    made = server(tmp_path / "s", {ECHO: method(echo)})
    with started(made):
        gc.disable()
        try:
            with Peer(target(tmp_path)) as peer:
                peer.wait(peer.call(headers(ECHO), message(b"x")))
                (connection,) = (weakref.ref(each) for each in made._clients)
            until(lambda: connection() is None, "nothing holds the connection")
        finally:
            gc.enable()


def test_a_time_that_no_clock_has(tmp_path: Path) -> None:
    """A thread waits for the request."""
    made = server(tmp_path / "s", {ECHO: method(echo, single=False)})
    with started(made), Peer(target(tmp_path)) as peer:
        stream = peer.call(headers(ECHO, grpc_timeout="99999999H"), None)
        until(lambda: made._threads._going, "a thread waits")
        peer.send(raw(DATA, END_STREAM, stream, message(b"x")))
        assert peer.wait(stream).content == message(b"x")


def test_who_has_no_call_gives_way(tmp_path: Path) -> None:
    """First who may do nothing, then who has most; among those who have as many nobody does."""
    stranger, other = "127.0.0.9", "127.0.0.2"
    made = server(
        tmp_path / "s", {ECHO: method(echo)},
        caller=lambda peer: Caller(peer.host, peer.host != stranger),
    )  # fmt: skip
    at = socket.create_server(("127.0.0.1", 0))
    made.listen([at])
    made._sources.bounds = replace(Bounds(), all_connections=6)

    def client(host: str) -> Peer:
        peer = Peer(Target(port=at.getsockname()[1], source=host))
        owned.enter_context(peer)
        assert peer.wait(peer.call(headers(ECHO), message(b"x"))).content == message(b"x")
        return peer

    with started(made), ExitStack() as owned:
        first = [client(host) for host in (stranger, other) * 3]
        for number in range(3, 8):
            client(f"127.0.0.{number}")
            until(lambda: made._sources._connections == 6, "one gave way")
        assert [gone(each) for each in first[::2]] == [True, True, True]
        # Which one stays is the last that was heard: it may be the acknowledgement of a setting.
        assert sum(gone(each) for each in first[1::2]) == 2
        with pytest.raises(Closed):
            client("127.0.0.8")


@pytest.mark.parametrize("asks", [[], ["http/1.1"], ["http/1.1", "h2"]])
def test_tls_is_for_http2(tmp_path: Path, asks: list[str]) -> None:
    """Who asks for something else, or does not say, is told so at the handshake; on record."""
    make_authority(tmp_path, [])
    said = list[str]()
    made = server(tmp_path / "s", {}, refused=lambda host, why, count: said.append(why))
    at, client = socket.create_server(("127.0.0.1", 0)), str(tmp_path / "admin")
    made.listen([at], tmp_path / "agent")
    context = Target(secure=True, identity=client).context()
    context.set_alpn_protocols(asks)
    with started(made), context.wrap_socket(Target(port=at.getsockname()[1]).reach()) as tls:
        if "h2" in asks:
            assert tls.recv(9)[3] == SETTINGS
        else:
            assert tls.recv(1) == b""
            until(lambda: said, "it is on record")
    assert said == ([] if "h2" in asks else ["its handshake does not ask for h2"])


def gone(peer: Peer) -> bool:
    try:
        peer.listen(0.1)
    except Closed:
        return True
    return False


def test_a_large_request_has_to_come(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also on a stream, whatever came before it."""
    monkeypatch.setattr(streams, "_SLOWEST", 100 << 20)
    made = server(tmp_path / "s", {ECHO: ordered(lambda r: lambda: b"taken")}, patience=1.0)
    whole, answer = message(bytes(100 << 10)), message(b"taken")
    parts = [raw(DATA, 0, 1, whole[at : at + 16384]) for at in range(0, len(whole), 16384)]
    with started(made), Peer(target(tmp_path)) as peer:
        assert peer.call(headers(ECHO), None) == 1
        peer.send(raw(DATA, 0, 1, message(b"x")))
        until(lambda: came(peer) == answer, "it has read the settings")
        for number in range(2, 5):
            for part in parts:
                peer.send(part)
            until(lambda: came(peer) == answer * number, "it is answered")  # noqa: B023
        for part in parts[:-1]:
            peer.send(part)
        found = peer.wait(1)
        assert (found.status, found.content) == (Code.CANCELLED, answer * 4)
        until(lambda: not made._served.arriving._all, "its memory is given back")


def came(peer: Peer) -> bytes:
    peer.listen(0.01)
    return peer.answers[1].content if 1 in peer.answers else b""


def test_a_method_that_raises_ends_its_call(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(request: bytes) -> bytes:
        raise UnicodeError

    with started(server(tmp_path / "s", {ECHO: method(fails)})), Peer(target(tmp_path)) as peer:
        found = peer.wait(peer.call(headers(ECHO), message(b"x")))
        assert found.status == Code.INTERNAL and "H9999" in caplog.text


def test_what_no_method_sees_is_on_record(tmp_path: Path) -> None:
    said = list[tuple[str, str]]()
    made = server(tmp_path / "s", {ECHO: method(echo)}, patience=0.2)
    made._served = replace(made._served, refused=lambda *found: said.append(found))
    with started(made), Peer(target(tmp_path)) as peer:
        for fields, body in (
            (headers("/t/None"), message(b"x")),
            (headers(ECHO, __method="GET"), message(b"x")),
            (headers(ECHO, content_type="text/html"), message(b"x")),
            (headers(ECHO, grpc_encoding="gzip"), message(b"x")),
            (headers(ECHO, grpc_timeout="1y"), message(b"x")),
            (headers(ECHO), message(b"x", compressed=1)),
            (headers(ECHO), message(b"x", length=(1 << 20) + 1)),
            (headers(ECHO), None),
        ):
            assert peer.wait(peer.call(fields, body)).ended
    assert [host for host, _ in said] == ["unix"] * 8
    for (_, why), word in zip(
        said, ("method", "method", "gRPC", "compressed", "timeout", "compressed", "bytes", "time"),
        strict=True,
    ):  # fmt: skip
        assert word in why


def test_threads_that_have_nothing_to_do_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "IDLE", 0.05)
    pool, done, go_on = threads.Threads(8, 8), threading.Semaphore(0), threading.Event()

    def work() -> None:
        go_on.wait(10)
        done.release()

    for _ in range(2):
        go_on.clear()
        for _ in range(5):
            pool.submit("here", work)
        assert pool._started == 5
        go_on.set()
        for _ in range(5):
            assert done.acquire(timeout=10)
        until(lambda: (pool._started, pool._free) == (0, 0), "they have ended")
    pool.stop()
