"""Our client of gRPC where its server, its caller or the system does not do as it should."""

from __future__ import annotations

import errno
import os
import select
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from unittest.mock import Mock

import pytest
from helioc.lang.text.diagnostics import Refused
from helioc.runtime.channel import channel as channels
from helioc.runtime.channel import waiters
from helioc.runtime.channel.connect import Connect, connector
from helioc.runtime.client import Client
from helioc.runtime.http2 import nghttp2, session
from helioc.runtime.http2.client import ClientSession
from helioc.runtime.http2.codes import Code
from http2 import (
    DATA,
    END_HEADERS,
    END_STREAM,
    GOAWAY,
    HEADERS,
    RST_STREAM,
    SETTINGS,
    message,
    plain,
    raw,
)
from lab import until
from toy_server import Toy, failing, opened, rest, served

BEGUN = raw(HEADERS, END_HEADERS, 1, plain(
    ((":status", "200"), ("content-type", "application/grpc"))
))  # fmt: skip
WELL = raw(HEADERS, END_HEADERS | END_STREAM, 1, plain((("grpc-status", "0"),)))


def reset(stream: int, code: int) -> bytes:
    return raw(RST_STREAM, 0, stream, code.to_bytes(4, "big"))


@contextmanager
def answering(path: Path, *parts: bytes, pause: float = 0.0, asked: bool = True) -> Iterator[str]:
    """A server that sends these to its first client, each so many seconds after the other; not
    before that has said something, if it is to be `asked`."""
    over = threading.Event()
    with socket.socket(socket.AF_UNIX) as at:
        at.bind(str(path))
        at.listen()

        def answer() -> None:
            made, _ = at.accept()
            with made, suppress(BrokenPipeError):  # who has its answer may be gone
                if asked:
                    made.recv(1 << 16)
                pieces = (raw(SETTINGS, 0, 0), *parts)
                for each in pieces if pause else (b"".join(pieces),):
                    made.sendall(each)
                    over.wait(pause)
                over.wait(20)

        server = threading.Thread(target=answer)
        server.start()
        try:
            yield f"unix:{path}"
        finally:
            over.set()
            server.join()


@contextmanager
def crowded(path: Path) -> Iterator[socket.socket]:
    """A socket to which nobody can connect before one is accepted."""
    with socket.socket(socket.AF_UNIX) as at, socket.socket(socket.AF_UNIX) as first:
        at.bind(str(path))
        at.listen(0)
        first.connect(str(path))
        yield at


def test_a_message_that_is_cut_short_is_a_failure(tmp_path: Path) -> None:
    sent = BEGUN + raw(DATA, 0, 1, message(b"abc") + message(b"ab", length=7)) + WELL
    with answering(tmp_path / "at", sent) as address, opened(address) as channel:
        call = channel.call("/a/b", 20, b"")
        assert call.receive() == b"abc"
        error = failing(call.receive)
        assert (error.code, error.says) == (Code.INTERNAL, "its last message was cut short")


@pytest.mark.parametrize(
    "code, said",
    [(1, Code.INTERNAL), (8, Code.CANCELLED), (11, Code.RESOURCE_EXHAUSTED),
     (12, Code.PERMISSION_DENIED)],
)  # fmt: skip
def test_what_a_stream_was_reset_with(tmp_path: Path, code: int, said: Code) -> None:
    with (
        answering(tmp_path / "at", BEGUN + reset(1, code)) as address,
        opened(address) as channel,
    ):
        assert failing(lambda: channel.ask("/a/b", 20, b"")).code is said


def test_what_the_server_takes_back_is_asked_again_within_the_same_time(tmp_path: Path) -> None:
    refused = [reset(stream, 7) for stream in (1, 3, 5)]
    with (
        answering(tmp_path / "at", *refused, pause=0.4) as address,
        opened(address) as channel,
    ):
        begun = time.monotonic()
        assert failing(lambda: channel.ask("/a/b", 0.6, b"")).code is Code.DEADLINE_EXCEEDED
        assert time.monotonic() - begun < 0.9


def test_a_watch_that_the_server_cancels_says_so(tmp_path: Path) -> None:
    with (
        answering(tmp_path / "at", BEGUN, reset(1, 8), pause=0.1) as address,
        Client(address) as client, client.watch() as watch, pytest.raises(Refused),
    ):  # fmt: skip
        list(watch)


def test_a_watch_ends_with_its_client(tmp_path: Path) -> None:
    with answering(tmp_path / "at", BEGUN) as address, Client(address) as client:
        watch = client.watch()
        client.close()
        assert list(watch) == []


def test_what_calls_leave_unread_stops_nobody_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("helioc.runtime.http2.client._UNBOUNDED", 1 << 20)
    address = f"unix:{tmp_path / 'toy'}"
    with served(address, Toy()), opened(address) as channel:
        for _ in range(20):
            call = channel.call("/toy/Many", 20, b"1000 1000")
            assert call.receive() is not None and channel._link is not None
            link = channel._link
            until(lambda: link.do(link.leaving) or call._untaken > 100_000, "much came")  # noqa: B023
            call.cancel()
        assert len(rest(channel.call("/toy/Many", 20, b"1000 1000"))) == 1000


def test_who_waits_to_be_accepted_is_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "crowded"
    connect, _ = connector(f"unix:{path}", None)
    with crowded(path) as at:
        with pytest.raises(TimeoutError):
            connect(0.05)
        accepting = threading.Timer(0.1, lambda: at.accept()[0].close())
        accepting.start()
        connect(20).close()
        accepting.join()


def test_a_crowded_agent_is_reported_in_time(tmp_path: Path) -> None:
    """Its socket may be opened, so nothing is said of rights."""
    path, said = tmp_path / "crowded", list[str]()

    def ask() -> None:
        with Client(f"unix:{path}", timeout=0.1) as client, pytest.raises(Refused) as error:
            client.status()
        said.append(str(error.value))

    with crowded(path):
        asking = threading.Thread(target=ask, daemon=True)
        asking.start()
        asking.join(20)
        assert not asking.is_alive()
    assert len(said) == 1 and "no answer in time" in said[0]


def test_the_addresses_of_a_host_share_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    hosts = [f"127.0.0.{number}" for number in (2, 3, 4)]
    made = list[socket.socket]()
    try:
        port = 0
        for host in hosts:
            made.append(socket.create_server((host, port), backlog=0))
            port = made[-1].getsockname()[1]
            for _ in range(3):
                made.append(socket.socket())
                made[-1].setblocking(False)
                made[-1].connect_ex((host, port))
        found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (host, port)) for host in hosts]
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
        begun = time.monotonic()
        with opened(f"three:{port}") as channel:
            assert failing(lambda: channel.ask("/a/b", 0.6, b"")).code is Code.UNAVAILABLE
        assert time.monotonic() - begun < 1.2
    finally:
        for each in made:
            each.close()


def test_sessions_keep_what_the_library_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where each has made its own: two threads' first ones."""
    monkeypatch.setattr(session, "_callbacks", session._callbacks.__wrapped__)
    ours, theirs = ClientSession(), session.ServerSession()
    kept = [nghttp2.OnFrame(lambda *_: 0) for _ in range(50)]  # in the place of what was freed
    stream = ours.open(((b":method", b"POST"), (b":scheme", b"http"), (b":path", b"/"),
                        (b":authority", b"a")))  # fmt: skip
    assert stream is not None and kept
    ours.send(stream, b"all")
    theirs.feed(ours.unsent())
    assert [type(event).__name__ for event in theirs.events] == ["Headers", "Received"]
    for each in (ours, theirs):
        each.close()


def test_a_call_with_more_answers_than_one_is_ended(tmp_path: Path) -> None:
    toy, address = Toy(), f"unix:{tmp_path / 'toy'}"
    with served(address, toy), opened(address) as channel:
        error = failing(lambda: channel.ask("/toy/Many", 20, b"100000 100"))
        assert (error.code, error.says) == (Code.INTERNAL, "the server gave not one message")
        assert channel._link is not None and not channel._link._calls


def test_calls_are_made_where_no_thread_can_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next connection tries again to have one."""
    looking = channels._IdleReader()
    monkeypatch.setattr(channels, "_looking", looking)
    with served(f"unix:{tmp_path / 'toy'}", Toy()):
        with monkeypatch.context() as patch, opened(f"unix:{tmp_path / 'toy'}") as channel:
            patch.setattr(channels, "Thread", Mock(side_effect=RuntimeError("no more threads")))
            assert channel.ask("/toy/Echo", 20, b"on") == b"on"
        assert not looking._running
        with opened(f"unix:{tmp_path / 'toy'}") as channel:
            assert channel.ask("/toy/Echo", 20, b"on") == b"on"
            assert looking._running


def test_what_cannot_be_made_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = len(session._sessions)
    with served(f"unix:{tmp_path / 'toy'}", Toy()), opened(f"unix:{tmp_path / 'toy'}") as channel:
        with monkeypatch.context() as patch:
            none = Mock(side_effect=OSError(errno.EMFILE, os.strerror(errno.EMFILE)))
            patch.setattr(waiters, "_self_connected", none)
            error = failing(lambda: channel.ask("/toy/Echo", 20, b""))
            assert (error.code, error.says) == (Code.UNAVAILABLE, "too many open files")
        assert len(session._sessions) == before
        assert channel.ask("/toy/Echo", 20, b"on") == b"on"


def test_a_server_that_takes_no_calls(tmp_path: Path) -> None:
    """It says so before the first."""
    goodbye = raw(GOAWAY, 0, 0, bytes(8))
    with (
        answering(tmp_path / "at", goodbye, asked=False) as address,
        opened(address) as channel,
    ):
        channel._connect = waiting_for_more(channel._connect)
        error = failing(lambda: channel.ask("/a/b", 20, b""))
        said = "the connection is lost: the server ended it"
        assert (error.code, error.says) == (Code.UNAVAILABLE, said)


def waiting_for_more(connect: Connect) -> Connect:
    """The server's first words are there when it is given."""

    def connected(seconds: float) -> socket.socket:
        made = connect(seconds)
        select.select([made], [], [])
        return made

    return connected
