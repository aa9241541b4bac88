"""HTTP/2 (RFC 9113), the server's side: bytes of one connection to what they say, and back.

By libnghttp2: nothing of the protocol is done here. A connection's thread feeds what came, looks at
`events`, and sends what `unsent` gives; none of it waits, and only one thread may do it at a time.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

from . import nghttp2 as ng

#: Streams that a client may have open; bytes that it may send ahead on one, and on all of them.
STREAMS, WINDOW, ALL_WINDOWS = 64, 256 << 10, 1 << 20
#: Bytes of a stream's header fields, with what RFC 9113 section 6.5.2 adds for each.
HEADERS, _EACH = 32 << 10, 32
_PREFACE_ERROR = "it does not speak HTTP/2"

Fields = tuple[tuple[bytes, bytes], ...]


class Broken(Exception):
    """What came is no HTTP/2; the connection has to end."""


class Opened(NamedTuple):
    """A stream began, by these fields; `ended`: nothing follows them."""

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
    """It is over: both sides have ended it, or one has reset it."""

    stream: int


Event = Opened | Received | Ended | Closed


class _Reply:
    """What is to be sent on a stream: bytes, and fields at their end."""

    __slots__ = ("data", "trailer", "waits")

    def __init__(self) -> None:
        self.data, self.waits = bytearray(), True
        self.trailer: Fields | None = None


class Session:
    """A connection."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self._opening: dict[bytes, bytes] = {}
        self._size = 0
        self._replies: dict[int, _Reply] = {}
        self._answered = set[int]()  # to their end, while their clients may send more
        self._lib, self._number = ng.library(), next(_numbers)
        made = self._session = ng.server_session(_callbacks(), self._number)
        _sessions[self._number] = self
        settings = ng.settings(
            (ng.MAX_CONCURRENT_STREAMS, STREAMS), (ng.INITIAL_WINDOW_SIZE, WINDOW),
            (ng.MAX_HEADER_LIST_SIZE, HEADERS),
        )  # fmt: skip
        self._lib.submit_settings(made, 0, settings, len(settings))
        self._lib.session_set_local_window_size(made, 0, 0, ALL_WINDOWS)

    def close(self) -> None:
        """Nothing may be called after it."""
        del _sessions[self._number]
        self._lib.session_del(self._session)

    # ---- what comes -------------------------------------------------------------------------

    def feed(self, data: bytes) -> None:
        """Adds to `events`. Raises `Broken`."""
        if self._lib.session_mem_recv(self._session, data, len(data)) != len(data):
            raise Broken(_PREFACE_ERROR)

    def took(self, stream: int, count: int) -> None:
        """So many bytes of a stream take no room any more: the client may send as many again."""
        self._lib.session_consume_stream(self._session, stream, count)
        self._lib.session_consume_connection(self._session, count)

    @property
    def over(self) -> bool:
        """Nothing is to be read or sent any more."""
        lib, session = self._lib, self._session
        return not (lib.session_want_read(session) or lib.session_want_write(session))

    # ---- what is sent -----------------------------------------------------------------------

    def answer(self, stream: int, fields: Fields) -> None:
        """The fields in front of what is sent on it."""
        self._replies[stream] = _Reply()
        made = ng.fields(fields)
        self._lib.submit_response(self._session, stream, made, len(made), _callbacks().provider)

    def send(self, stream: int, data: bytes) -> None:
        if (reply := self._replies.get(stream)) is not None:
            reply.data += data
            self._go_on(stream, reply)

    def end(self, stream: int, trailer: Fields) -> None:
        """With these fields behind what was sent."""
        if (reply := self._replies.get(stream)) is not None:
            reply.trailer = trailer
            self._go_on(stream, reply)

    def refuse(self, stream: int, fields: Fields) -> None:
        """Answer by fields alone."""
        made = ng.fields(fields)
        self._lib.submit_response(self._session, stream, made, len(made), None)
        self._answered.add(stream)

    def reset(self, stream: int, code: int) -> None:
        self._lib.submit_rst_stream(self._session, 0, stream, code)

    def waiting(self, stream: int) -> int:
        """Bytes that are to be sent on it, and the client does not take yet."""
        reply = self._replies.get(stream)
        return len(reply.data) if reply is not None else 0

    def say_goodbye(self) -> None:
        """Streams go on to their end; new ones are refused."""
        last = self._lib.session_get_last_proc_stream_id(self._session)
        self._lib.submit_goaway(self._session, 0, last, ng.NO_ERROR, None, 0)

    def ping(self) -> None:
        self._lib.submit_ping(self._session, 0, None)

    def unsent(self) -> bytes:
        """Bytes for the client, once."""
        parts = list[bytes]()
        while True:
            parts += ng.frames_to_send(self._session)
            if not self._answered:
                return b"".join(parts)
            # who was answered need send no more (RFC 9113 section 8.1)
            for stream in self._answered:
                self.reset(stream, ng.NO_ERROR)
            self._answered.clear()

    def _go_on(self, stream: int, reply: _Reply) -> None:
        if reply.waits:
            reply.waits = False
            self._lib.session_resume_data(self._session, stream)

    # ---- called by the library --------------------------------------------------------------

    def on_header(self, name: bytes, value: bytes) -> int:
        self._size += len(name) + len(value) + _EACH
        if self._size > HEADERS:
            return ng.ERR_TEMPORAL_CALLBACK_FAILURE
        self._opening[name] = value
        return 0

    def on_begin(self) -> None:
        self._opening, self._size = {}, 0

    def on_frame(self, stream: int, kind: int, flags: int) -> None:
        if kind == ng.HEADERS and self._opening:
            self.events.append(Opened(stream, self._opening))
            self._opening = {}
        if flags & ng.END_STREAM and kind <= ng.HEADERS:
            self.events.append(Ended(stream))

    def on_close(self, stream: int) -> None:
        self._replies.pop(stream, None)
        self._answered.discard(stream)
        self.events.append(Closed(stream))

    def read(self, stream: int, into: int, room: int, flags: Any) -> int:
        reply = self._replies[stream]
        count = min(room, len(reply.data))
        if not count and reply.trailer is None:
            reply.waits = True
            return ng.ERR_DEFERRED
        ng.copy(into, bytes(reply.data[:count]))
        del reply.data[:count]
        if reply.trailer is not None and not reply.data:
            flags[0] = ng.DATA_EOF | ng.DATA_NO_END_STREAM
            made = ng.fields(reply.trailer)
            self._lib.submit_trailer(self._session, stream, made, len(made))
            self._answered.add(stream)
        return count


_sessions: dict[int, Session] = {}
_numbers = iter(range(1, 1 << 62))


def _on_begin_headers(_: Any, frame: Any, mine: int) -> int:
    _sessions[mine].on_begin()
    return 0


def _on_header(
    _: Any, frame: Any, name: Any, n: int, value: Any, v: int, flags: int, mine: int
) -> int:
    return _sessions[mine].on_header(name[:n], value[:v])


def _on_chunk(_: Any, flags: int, stream: int, data: int, size: int, mine: int) -> int:
    _sessions[mine].events.append(Received(stream, ng.bytes_at(data, size)))
    return 0


def _on_frame(_: Any, frame: Any, mine: int) -> int:
    head = frame[0]
    _sessions[mine].on_frame(head.stream_id, head.type, head.flags)
    return 0


def _on_close(_: Any, stream: int, code: int, mine: int) -> int:
    _sessions[mine].on_close(stream)
    return 0


def _read(_: Any, stream: int, into: int, room: int, flags: Any, source: Any, mine: int) -> int:
    return _sessions[mine].read(stream, into, room, flags)


@cache
def _callbacks() -> ng.Callbacks:
    return ng.Callbacks(
        begin_headers=_on_begin_headers, header=_on_header, chunk=_on_chunk, frame=_on_frame,
        close=_on_close, read=_read,
    )  # fmt: skip
