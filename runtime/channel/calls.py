"""A gRPC call as its client sees it."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping
from functools import partial
from typing import TypeVar

from ..http2 import grpc_wire as wire
from ..http2 import nghttp2 as ng
from ..http2.codes import Code
from ..http2.grpc_wire import Compressed, Messages, TooLong
from ..http2.session import Closed, Ended, Event, Fields, Headers, Received
from .failures import Failed, Stopped
from .link import Link
from .waiters import ROOM

_T = TypeVar("_T")

#: What a stream was reset with says so much of the call (PROTOCOL-HTTP2.md of gRPC, "Errors").
_RESETS = {
    ng.REFUSED_STREAM: Code.UNAVAILABLE, ng.CANCEL: Code.CANCELLED,
    ng.ENHANCE_YOUR_CALM: Code.RESOURCE_EXHAUSTED, ng.INADEQUATE_SECURITY: Code.PERMISSION_DENIED,
}  # fmt: skip
#: And so much an answer that is not gRPC's (doc/http-grpc-status-mapping.md of gRPC).
_STATUSES = {
    b"400": Code.INTERNAL, b"401": Code.UNAUTHENTICATED, b"403": Code.PERMISSION_DENIED,
    b"404": Code.UNIMPLEMENTED, b"429": Code.UNAVAILABLE, b"502": Code.UNAVAILABLE,
    b"503": Code.UNAVAILABLE, b"504": Code.UNAVAILABLE,
}  # fmt: skip
_DETAILS = b"grpc-status-details-bin"


class Call:
    """What is sent and what is received may be two threads' work; any may cancel it. At the end of
    a `with`, and when nobody has it any more, it is cancelled if it is not over."""

    _over = True  # before there is anything to cancel

    def __init__(self, link: Link, longest: int, until: float | None) -> None:
        """`longest`: bytes of a message. `until`: its deadline on time.monotonic()."""
        self._link, self._until, self._longest = link, until, longest
        self._stream = 0
        self._messages, self._queue = Messages(longest), deque[bytes]()
        self._untaken = 0  # bytes of what waits
        self._fields: Mapping[bytes, bytes] | None = None  # the newest
        self._why: Failed | None = None
        self._over = False

    def __enter__(self) -> Call:
        return self

    def __exit__(self, *_: object) -> None:
        self.cancel()

    def __del__(self) -> None:
        self.cancel()

    def begin(self, fields: Fields, message: bytes | None = None) -> bool:
        """With the only message that there is, or none. False where the connection takes no more
        calls."""
        if message is not None:
            self._need_short(message)
        return self._link.do(partial(self._begin, fields, message))

    def send(self, message: bytes, wait: bool = False) -> None:
        """`wait`: until most of what was sent before is gone. Raises `Failed` then if the call is
        over, which otherwise `receive` does."""
        self._need_short(message)
        if wait:
            self._wait(partial(self._send_in_turn, message), ROOM, self._until)
        else:
            self._link.do(partial(self._send, message))

    def end(self) -> None:
        """Nothing more is sent."""
        self._link.do(self._end)

    def answered(self, seconds: float) -> None:
        """Wait so long until the server has taken the call. Raises `Failed`."""
        self._wait(self._taken, self._stream, time.monotonic() + seconds)

    def receive(self) -> bytes | None:
        """The next message; None after the last. Raises `Failed`."""
        return self._wait(self._received, self._stream, self._until)[0]

    def only(self) -> bytes:
        """The only message. Raises `Failed`."""
        message = self.receive()
        if message is None or self.receive() is not None:
            raise Failed(Code.INTERNAL, "the server gave not one message")
        return message

    def cancel(self) -> None:
        """May be called again, also when it is over, and at any time."""
        if not self._over:
            self._link.soon(partial(self._stop, Stopped(Code.CANCELLED, "it was cancelled")))

    def _wait(self, work: Callable[[], _T | None], stream: int, until: float | None) -> _T:
        """What `work` gives, which it does when the call is over: at that time at the latest."""

        def found() -> _T | None:
            if not (given := work()) and until is not None and time.monotonic() >= until:
                self._stop(Failed(Code.DEADLINE_EXCEEDED, "its time is over"))
                return work()
            return given

        return self._link.wait(found, stream, until)

    # ---- with the lock ----------------------------------------------------------------------

    def _begin(self, fields: Fields, message: bytes | None) -> bool:
        stream = self._link.open(fields, self)
        if stream is None:
            self._over = True
            return False
        self._stream = stream
        if message is not None:
            self._link.send(stream, wire.framed(message))
            self._link.end(stream)
        self._link.flush()
        return True

    def _send(self, message: bytes) -> None:
        link = self._link
        link.send(self._stream, wire.framed(message))
        link.flush()
        if not link.can_send(self._stream):
            link.look()  # the server may have said that it takes more

    def _send_in_turn(self, message: bytes) -> bool:
        self._need_well()
        if not (self._over or self._link.can_send(self._stream)):
            return False
        self._send(message)
        return True

    def _end(self) -> None:
        self._link.end(self._stream)
        self._link.flush()

    def _taken(self) -> bool:
        self._need_well()
        return self._over or self._fields is not None

    def _received(self) -> tuple[bytes | None] | None:
        if self._queue:
            message = self._queue.popleft()
            if not self._queue:
                self._took()
                self._link.flush()
            return (message,)
        self._need_well()
        return (None,) if self._over else None

    def _need_well(self) -> None:
        if self._why is not None:
            raise self._why

    def on(self, event: Event) -> None:
        if type(event) is Headers:
            self._begun(event.fields)
        elif type(event) is Received:
            self._receive(event.data)
        elif type(event) is Ended:
            self._finish(self._told())
        elif type(event) is Closed:
            code = _RESETS.get(event.code, Code.INTERNAL)
            untouched = event.code == ng.REFUSED_STREAM
            says = f"the server ended it (HTTP/2 error {event.code})"
            self._finish(Failed(code, says, untouched=untouched))

    def lost(self, why: Failed) -> None:
        self._finish(why)

    def _begun(self, fields: Mapping[bytes, bytes]) -> None:
        """An answer begins, or ends with these."""
        status = fields.get(b":status", b"")
        if status.startswith(b"1"):  # it comes later
            return
        self._fields = fields
        grpc = fields.get(b"content-type", b"").startswith(b"application/grpc")
        if status and not grpc and b"grpc-status" not in fields:
            code = _STATUSES.get(status, Code.UNKNOWN)
            says = status[:3].decode("ascii", "replace")
            self._cancel(Failed(code, f"it answers by HTTP's status {says}, not by gRPC"))

    def _told(self) -> Failed | None:
        """What the server said of how it ended."""
        fields = self._fields or {}
        found = wire.status_of(fields)
        if found is None:
            return Failed(Code.INTERNAL, "the server gave no status of gRPC")
        if found[0] == Code.OK:
            short = len(self._messages) > 0
            return Failed(Code.INTERNAL, "its last message was cut short") if short else None
        return Failed(*found, wire.bytes_of(fields, _DETAILS))

    def _receive(self, data: bytes) -> None:
        if self._over:
            return
        self._untaken += len(data)
        try:
            self._queue += self._messages.feed(data)
        except (TooLong, Compressed) as error:
            long = isinstance(error, TooLong)
            code = Code.RESOURCE_EXHAUSTED if long else Code.UNIMPLEMENTED
            self._cancel(Failed(code, str(error) or "its messages are compressed"))
        if not self._queue:  # a part of one: the rest has to come
            self._took()

    def _took(self) -> None:
        self._link.took(self._stream, self._untaken)
        self._untaken = 0

    def _finish(self, why: Failed | None) -> None:
        if not self._over:
            self._over, self._why = True, why

    def _cancel(self, why: Failed) -> None:
        if self._over:
            return
        self._finish(why)
        self._queue.clear()
        self._link.cancel(self._stream)

    def _stop(self, why: Failed) -> None:
        self._cancel(why)
        self._link.flush()

    def _need_short(self, message: bytes) -> None:
        if len(message) > self._longest:
            raise Failed(Code.RESOURCE_EXHAUSTED, str(TooLong(len(message), self._longest)))
