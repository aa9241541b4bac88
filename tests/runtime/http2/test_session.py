"""Both sides of HTTP/2 by libnghttp2: what one sends the other gets, however it is cut."""

from __future__ import annotations

import ctypes
import gc
import signal
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from functools import partial
from operator import call
from typing import Any, NamedTuple

import pytest
from helioc.runtime.http2 import nghttp2 as ng
from helioc.runtime.http2.client import ClientSession
from helioc.runtime.http2.session import (
    HEADERS,
    STREAMS,
    WINDOW,
    Broken,
    Closed,
    Ended,
    Event,
    Headers,
    Received,
    ServerSession,
    Session,
)
from hypothesis import given, settings
from hypothesis import strategies as st

ASKED = ((b":method", b"POST"), (b":scheme", b"http"), (b":path", b"/a/B"), (b":authority", b"a"))
ANSWER = ((b":status", b"200"), (b"x", b"y"))
TRAILER = ((b"grpc-status", b"0"),)


class Way(NamedTuple):
    """One side, what came to it by stream, and how it ended."""

    session: Session
    fields: dict[int, list[dict[bytes, bytes]]]
    octets: dict[int, bytearray]
    ended: set[int]
    closed: dict[int, int]

    def take(self) -> None:
        for event in self.session.events:
            self._take(event)
        self.session.events = []

    def _take(self, event: Event) -> None:
        if isinstance(event, Headers):
            self.fields.setdefault(event.stream, []).append(event.fields)
        elif isinstance(event, Received):
            self.octets.setdefault(event.stream, bytearray()).extend(event.data)
            self.session.took(event.stream, len(event.data))
        elif isinstance(event, Ended):
            self.ended.add(event.stream)
        elif isinstance(event, Closed):
            self.closed[event.stream] = event.code


def way(session: Session) -> Way:
    return Way(session, {}, {}, set(), {})


def begin(session: ClientSession) -> int:
    stream = session.open(ASKED)
    assert stream is not None
    return stream


def carry(one: Way, other: Way, cuts: Iterator[int]) -> bool:
    """What one side has for the other, in pieces; whether there was something."""
    data = one.session.unsent()
    at = 0
    while at < len(data):
        size = next(cuts)
        other.session.feed(data[at : at + size])
        other.take()
        at += size
    one.take()
    return bool(data)


def carry_all(one: Way, other: Way, cuts: Iterator[int]) -> None:
    while carry(one, other, cuts) | carry(other, one, cuts):
        pass


def cutting(data: st.DataObject) -> Iterator[int]:
    """Small ones at first."""
    yield from data.draw(st.lists(st.integers(1, 100), max_size=200), label="cuts")
    while True:
        yield 60_000


BODIES = st.lists(
    st.one_of(st.integers(0, 200), st.just(2 * WINDOW)).map(lambda size: bytes([size % 251]) * size)
)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(BODIES, BODIES), min_size=1, max_size=6), st.data())
def test_what_is_sent_arrives(
    calls: list[tuple[list[bytes], list[bytes]]], data: st.DataObject
) -> None:
    cuts = cutting(data)
    with closing(ClientSession()) as asking, closing(ServerSession()) as answering:
        client, server = way(asking), way(answering)
        streams = [begin(asking) for _ in calls]
        for stream, (asked, _) in zip(streams, calls, strict=True):
            for part in asked:
                asking.send(stream, part)
                if data.draw(st.booleans()):
                    carry(client, server, cuts)
            asking.end(stream)
        carry_all(client, server, cuts)
        for stream, (_, answered) in zip(streams, calls, strict=True):
            assert stream in server.ended and server.fields[stream] == [dict(ASKED)]
            answering.answer(stream, ANSWER)
            for part in answered:
                answering.send(stream, part)
            answering.end(stream, TRAILER)
        carry_all(client, server, cuts)
        for stream, (asked, answered) in zip(streams, calls, strict=True):
            assert server.octets.get(stream, b"") == b"".join(asked)
            assert client.octets.get(stream, b"") == b"".join(answered)
            assert client.fields[stream] == [dict(ANSWER), dict(TRAILER)]
            assert client.closed[stream] == server.closed[stream] == ng.NO_ERROR


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=200), st.integers(0, 400), st.booleans())
def test_bytes_that_are_none_harm_nobody(junk: bytes, at: int, server: bool) -> None:
    """In the midst of what is right: an error, or another call; not a crash."""
    with closing(ClientSession()) as asking, closing(ServerSession()) as answering:
        stream = begin(asking)
        asking.send(stream, bytes(100))
        sender, receiver = (asking, answering) if server else (answering, asking)
        data = sender.unsent()
        with suppress(Broken):
            receiver.feed(data[:at] + junk + data[at:])
        assert len(receiver.events) <= 40 and receiver.unsent() is not None


def test_more_streams_than_the_server_has_wait_for_their_turn() -> None:
    with closing(ClientSession()) as asking, closing(ServerSession()) as answering:
        client, server, cuts = way(asking), way(answering), iter(lambda: 1 << 16, 0)
        carry_all(client, server, cuts)
        streams = [begin(asking) for _ in range(STREAMS + 10)]
        for _ in range(2):
            carry_all(client, server, cuts)
            for stream in server.fields.keys() - server.closed.keys():
                answering.refuse(stream, ANSWER)
        carry_all(client, server, cuts)
        assert list(server.fields) == streams and client.closed.keys() == set(streams)


def test_headers_are_bounded() -> None:
    with closing(ClientSession()) as asking, closing(ServerSession()) as answering:
        client, server, cuts = way(asking), way(answering), iter(lambda: 1 << 16, 0)
        for size in (HEADERS - 400, HEADERS):
            stream = asking.open((*ASKED, (b"a", bytes(b"b" * size))))
            carry_all(client, server, cuts)
            assert (stream in server.fields) == (size < HEADERS)


def test_after_a_goodbye_no_streams_are_begun() -> None:
    with closing(ClientSession()) as asking, closing(ServerSession()) as answering:
        client, server, cuts = way(asking), way(answering), iter(lambda: 1 << 16, 0)
        first = begin(asking)
        carry_all(client, server, cuts)
        answering.say_goodbye()
        late = begin(asking)  # on its way, when the goodbye comes
        carry_all(client, server, cuts)
        assert asking.leaving
        assert client.closed == {late: ng.REFUSED_STREAM}
        third = asking.open(ASKED)
        carry_all(client, server, cuts)
        assert third is None or client.closed[third] == ng.REFUSED_STREAM
        answering.refuse(first, ANSWER)
        asking.end(first)
        carry_all(client, server, cuts)
        assert client.fields[first] == [dict(ANSWER)] and asking.over


# ---- signals --------------------------------------------------------------------------------


@pytest.fixture
def interrupting() -> Iterator[None]:
    """What SIGUSR1 does. No collector's callback, such as hypothesis has, may come before ours: it
    would get the exception."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGUSR1, interrupt)
    gc.disable()
    yield
    gc.enable()
    signal.signal(signal.SIGUSR1, before)


def interrupted(monkeypatch: pytest.MonkeyPatch, name: str, work: Callable[[], object]) -> None:
    """A signal comes as the library begins to do this: Python can raise it in a callback first."""
    lib, send = ng.library(), partial(getattr(ctypes.PyDLL(None), "raise"), signal.SIGUSR1)
    does = getattr(lib, name)

    def both(*given: Any) -> Any:
        _, found = map(call, (send, partial(does, *given)))
        return found

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(lib, name, both)
        work()


def answered() -> bytes:
    """All that a client gets to its call."""
    with closing(ClientSession()) as asking, closing(ServerSession()) as answering:
        stream = begin(asking)
        asking.end(stream)
        answering.feed(asking.unsent())
        answering.answer(stream, ANSWER)
        answering.send(stream, b"all")
        answering.end(stream, TRAILER)
        return answering.unsent()


@pytest.mark.usefixtures("interrupting")
def test_a_signal_that_comes_before_a_callback_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    data = answered()
    for at in range(len(data)):
        with closing(ClientSession()) as asking:
            asking.end(begin(asking))
            asking.unsent()
            asking.feed(data[:at])
            interrupted(monkeypatch, "session_mem_recv", partial(asking.feed, data[at:]))
    with closing(ClientSession()) as asking:
        stream = begin(asking)
        asking.unsent()
        asking.send(stream, b"all")
        interrupted(monkeypatch, "session_mem_send", asking.unsent)


def test_errors_of_others_are_reported_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that nobody can be told of, also where the library calls."""

    class Failing:
        def __del__(self) -> None:
            raise ValueError

    found = list[Any]()
    monkeypatch.setattr("sys.unraisablehook", found.append)
    monkeypatch.setattr(ClientSession, "on_begin", lambda _: Failing())
    with closing(ClientSession()) as asking:
        asking.end(begin(asking))
        asking.unsent()
        asking.feed(answered())
    assert [each.exc_type for each in found] == [ValueError] * 2
