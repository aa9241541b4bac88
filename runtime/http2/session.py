"""`Session`: HTTP/2 (RFC 9113) of one connection, bytes to events and back.

By libnghttp2: nothing of the protocol is done here. Who has the connection feeds what came, looks
at `events`, and sends what `unsent` gives; none of it waits, and only one thread may do it at a
time.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple, NoReturn

from . import nghttp2 as ng

#: Streams that a client may have open; bytes that may come ahead on one, and on all of a client's.
STREAMS, WINDOW, ALL_WINDOWS = 64, 256 << 10, 1 << 20
#: Bytes of a stream's header fields, with what RFC 9113 section 6.5.2 adds for each.
HEADERS, _EACH = 32 << 10, 32

Fields = tuple[tuple[bytes, bytes], ...]
_new = tuple.__new__  # a third of what a named tuple's own takes


class Broken(Exception):
    """What came is no HTTP/2; the connection has to end."""


class Headers(NamedTuple):
    """Fields that came on a stream: those that it begins with, or its trailer."""

    stream: int
    fields: dict[bytes, bytes]


class Received(NamedTuple):
    """Bytes came on it. They take room until `Session.took` is told."""

    stream: int
    data: bytes


class Ended(NamedTuple):
    """Nothing more comes on it."""

    stream: int


class Closed(NamedTuple):
    """It is over: both sides have ended it, or one has reset it with this code (RFC 9113
    section 7)."""

    stream: int
    code: int


Event = Headers | Received | Ended | Closed


class Body:
    """What is to be sent on a stream: bytes, and fields at their end."""

    __slots__ = ("data", "ended", "trailer", "waits")

    def __init__(self) -> None:
        """`waits`: nothing is asked of it before there is more."""
        self.data, self.trailer = bytearray(), Fields()
        self.ended = self.waits = False


class Session:
    """A connection; see `ClientSession` (client.py) and `ServerSession`."""

    def __init__(
        self, make: Callable[[ng.Callbacks, int], Any], window: int, *settings: tuple[int, int]
    ) -> None:
        number, callbacks = next(_numbers), _callbacks()
        made = make(callbacks, number)
        self.events: list[Event] = []
        #: The other side takes no new streams.
        self.leaving = False
        self._fields: dict[bytes, bytes] = {}
        self._size = 0
        self._raised: BaseException | None = None
        #: Streams that were answered to their end while their clients may send more, which they
        #: need not (RFC 9113 section 8.1).
        self._answered = set[int]()
        self._bodies: dict[int, Body] = {}
        self._lib, self._number, self._session = ng.library(), number, made
        self._callbacks = callbacks  # two threads' first sessions may have made two
        self._frame, self._to_frame = ng.place()
        _sessions[number] = self
        found = ng.settings(
            (ng.INITIAL_WINDOW_SIZE, WINDOW), (ng.MAX_HEADER_LIST_SIZE, HEADERS), *settings
        )
        self._lib.submit_settings(made, 0, found, len(found))
        self._lib.session_set_local_window_size(made, 0, 0, window)

    def close(self) -> None:
        """What is called after it raises `Broken`."""
        del _sessions[self._number]
        self._lib.session_del(self._session)
        self._lib = _CLOSED

    # ---- what comes -------------------------------------------------------------------------

    def feed(self, data: bytes) -> None:
        """Adds to `events`. Raises `Broken`."""
        taken = self._lib.session_mem_recv(self._session, data, len(data))
        if self._raised is not None:
            raise self._raised
        if taken != len(data):
            raise Broken("it does not speak HTTP/2")

    def took(self, stream: int, count: int) -> None:
        """So many bytes of a stream take no room any more: as many may come again."""
        self._lib.session_consume(self._session, stream, count)

    @property
    def over(self) -> bool:
        """Nothing is to be read or sent any more."""
        lib, session = self._lib, self._session
        return not (lib.session_want_read(session) or lib.session_want_write(session))

    # ---- what is sent -----------------------------------------------------------------------

    def send(self, stream: int, data: bytes) -> None:
        if (body := self._bodies.get(stream)) is not None:
            body.data += data
            if body.waits:
                self._go_on(stream, body)

    def end(self, stream: int, trailer: Fields = ()) -> None:
        """With these fields behind what was sent."""
        if (body := self._bodies.get(stream)) is not None:
            body.ended, body.trailer = True, trailer
            if body.waits:
                self._go_on(stream, body)

    def ended(self, stream: int) -> bool:
        """Whether nothing more is to be sent on it."""
        body = self._bodies.get(stream)
        return body is None or body.ended

    def reset(self, stream: int, code: int) -> None:
        self._lib.submit_rst_stream(self._session, 0, stream, code)

    def waiting(self, stream: int) -> int:
        """Bytes that are to be sent on it, and the other side does not take yet."""
        body = self._bodies.get(stream)
        return len(body.data) if body is not None else 0

    def ping(self) -> None:
        self._lib.submit_ping(self._session, 0, None)

    def unsent(self) -> bytes:
        """Bytes for the other side, once."""
        send, found = self._lib.session_mem_send, b""
        while True:
            while (size := send(self._session, self._to_frame)) > 0:
                found += ng.bytes_at(self._frame, size)
            if self._raised is not None:  # as the library called: nobody knows what it missed
                raise self._raised
            ng.need(size)
            if not self._answered:
                return found
            for stream in self._answered:
                self.reset(stream, ng.NO_ERROR)
            self._answered.clear()

    def _go_on(self, stream: int, body: Body) -> None:
        body.waits = False
        self._lib.session_resume_data(self._session, stream)

    # ---- called by the library --------------------------------------------------------------

    def on_header(self, name: bytes, value: bytes) -> int:
        self._size += len(name) + len(value) + _EACH
        if self._size > HEADERS:
            return ng.ERR_TEMPORAL_CALLBACK_FAILURE
        self._fields[name] = value
        return 0

    def on_begin(self) -> None:
        self._fields, self._size = {}, 0

    def on_frame(self, stream: int, kind: int, flags: int) -> None:
        if kind == ng.HEADERS and self._fields:
            self.events.append(_new(Headers, (stream, self._fields)))
            self._fields = {}
        elif kind == ng.GOAWAY:
            self.leaving = True
        if flags & ng.END_STREAM and kind <= ng.HEADERS:
            self.events.append(_new(Ended, (stream,)))

    def on_close(self, stream: int, code: int) -> None:
        self._bodies.pop(stream, None)
        self.events.append(_new(Closed, (stream, code)))

    def read(self, stream: int, into: int, room: int, flags: Any) -> int:
        body = self._bodies[stream]
        data = body.data
        count = min(room, len(data))
        if not count and not body.ended:
            body.waits = True
            return ng.ERR_DEFERRED
        ng.copy(into, bytes(data) if count == len(data) else bytes(data[:count]), count)
        del data[:count]
        if body.ended and not data:
            flags[0] = ng.DATA_EOF
            if body.trailer:
                flags[0] |= ng.DATA_NO_END_STREAM
                made = ng.fields(body.trailer)
                self._lib.submit_trailer(self._session, stream, made, len(made))
            self.on_sent(stream)
        return count

    def on_sent(self, stream: int) -> None:
        """All that there is for it goes with the next `unsent`."""

    def on_raised(self, error: BaseException) -> int:
        self._raised = error
        return ng.ERR_CALLBACK_FAILURE


class ServerSession(Session):
    """The side that answers."""

    def __init__(self) -> None:
        super().__init__(ng.server_session, ALL_WINDOWS, (ng.MAX_CONCURRENT_STREAMS, STREAMS))

    def answer(self, stream: int, fields: Fields) -> None:
        """The fields in front of what is sent on it."""
        self._bodies[stream] = Body()
        made = ng.fields(fields)
        self._lib.submit_response(self._session, stream, made, len(made), self._callbacks.provider)

    def refuse(self, stream: int, fields: Fields) -> None:
        """Answer by fields alone."""
        made = ng.fields(fields)
        self._lib.submit_response(self._session, stream, made, len(made), None)
        self._answered.add(stream)

    def say_goodbye(self) -> None:
        """Streams go on to their end; new ones are refused."""
        last = self._lib.session_get_last_proc_stream_id(self._session)
        self._lib.submit_goaway(self._session, 0, last, ng.NO_ERROR, None, 0)

    def on_sent(self, stream: int) -> None:
        self._answered.add(stream)

    def on_close(self, stream: int, code: int) -> None:
        self._answered.discard(stream)
        super().on_close(stream, code)


class _Closed:
    """In the place of the library where it has no session any more."""

    def __getattr__(self, name: str) -> NoReturn:
        raise Broken("the session was closed")


_CLOSED = _Closed()
_sessions: dict[int, Session] = {}
_numbers = iter(range(1, 1 << 62))


def _on_begin_headers(_: Any, frame: Any, mine: int) -> int:
    try:
        _sessions[mine].on_begin()
    except BaseException as error:
        return _sessions[mine].on_raised(error)
    return 0


def _on_header(
    _: Any, frame: Any, name: bytes, n: int, value: bytes, v: int, flags: int, mine: int
) -> int:
    try:
        return _sessions[mine].on_header(name, value)
    except BaseException as error:
        return _sessions[mine].on_raised(error)


def _on_chunk(_: Any, flags: int, stream: int, data: int, size: int, mine: int) -> int:
    try:
        _sessions[mine].events.append(_new(Received, (stream, ng.bytes_at(data, size))))
    except BaseException as error:
        return _sessions[mine].on_raised(error)
    return 0


def _on_frame(_: Any, frame: Any, mine: int) -> int:
    try:
        head = frame[0]
        kind, flags = head.type, head.flags
        if kind or flags & ng.END_STREAM:  # DATA is 0
            _sessions[mine].on_frame(head.stream_id, kind, flags)
    except BaseException as error:
        return _sessions[mine].on_raised(error)
    return 0


def _on_close(_: Any, stream: int, code: int, mine: int) -> int:
    try:
        _sessions[mine].on_close(stream, code)
    except BaseException as error:
        return _sessions[mine].on_raised(error)
    return 0


def _read(_: Any, stream: int, into: int, room: int, flags: Any, source: Any, mine: int) -> int:
    try:
        return _sessions[mine].read(stream, into, room, flags)
    except BaseException as error:
        return _sessions[mine].on_raised(error)


@cache
def _callbacks() -> ng.Callbacks:
    return ng.Callbacks(
        begin_headers=_on_begin_headers, header=_on_header, chunk=_on_chunk, frame=_on_frame,
        close=_on_close, read=_read,
    )  # fmt: skip
