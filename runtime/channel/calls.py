"""A call of gRPC, as its client sees it."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from threading import Thread

from ..http2 import grpc_wire as wire
from ..http2 import nghttp2 as ng
from ..http2.codes import Code
from ..http2.grpc_wire import Compressed, Messages, TooLong
from ..http2.session import Closed, Ended, Event, Fields, Headers, Received
from .link import Link

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


class Failed(Exception):
    """A call ended so. `details`: google.rpc.Status in octets, if the server gave one. `untouched`:
    the server has not begun it, so it can be made again."""

    def __init__(
        self, code: Code, says: str, details: bytes = b"", untouched: bool = False
    ) -> None:
        super().__init__(says)
        self.code, self.says, self.details, self.untouched = code, says, details, untouched


class Stopped(Failed):
    """This side ended it."""


class Call:
    """What is sent and what is received may be two threads' work; any may cancel it."""

    def __init__(self, link: Link, longest: int, until: float | None) -> None:
        """`longest`: bytes of a message. `until`: its deadline on time.monotonic()."""
        self._link, self._until, self._longest = link, until, longest
        self._stream = 0
        self._messages, self._queue = Messages(longest), deque[bytes]()
        self._untaken = 0  # bytes of what waits
        self._fields: Mapping[bytes, bytes] | None = None  # the newest
        self._over = False
        self._why: Failed | None = None

    def begin(self, fields: Fields, message: bytes | None = None) -> bool:
        """With the only message that there is, or none. False where the connection takes no more
        calls."""
        if message is not None:
            self._need_short(message)
        link = self._link
        with link.lock:
            stream = link.open(fields, self)
            if stream is None:
                return False
            self._stream = stream
            if message is not None:
                link.send(stream, wire.framed(message))
                link.end(stream)
            link.flush()
            return True

    def send(self, message: bytes, wait: bool = False) -> None:
        """`wait`: until most of what was sent before is gone. Raises `Failed` then if the call is
        over, which otherwise `receive` does."""
        self._need_short(message)
        link = self._link
        with link.lock:
            if wait and not link.wait(lambda: self._over or link.room(self._stream), self._until):
                self._late()
            if self._over:
                if wait and self._why is not None:
                    raise self._why
                return
            link.send(self._stream, wire.framed(message))
            link.flush()
            if not link.room(self._stream):
                link.look()  # the server may have said that it takes more

    def end(self) -> None:
        """Nothing more is sent."""
        with self._link.lock:
            self._link.end(self._stream)
            self._link.flush()

    def answered(self, seconds: float) -> None:
        """Wait so long until the server has taken the call. Raises `Failed`."""
        until = time.monotonic() + seconds
        with self._link.lock:
            if not self._link.wait(lambda: self._over or self._fields is not None, until):
                self._late()
            if self._why is not None:
                raise self._why

    def receive(self) -> bytes | None:
        """The next message; None after the last. Raises `Failed`."""
        with self._link.lock:
            if not self._link.wait(lambda: self._over or self._queue, self._until):
                self._late()
            if self._queue:
                message = self._queue.popleft()
                if not self._queue:
                    self._took()
                    self._link.flush()
                return message
            if self._why is not None:
                raise self._why
            return None

    def only(self) -> bytes:
        """The only message. Raises `Failed`."""
        message = self.receive()
        if message is None or self.receive() is not None:
            raise Failed(Code.INTERNAL, "the server gave not one message")
        return message

    def cancel(self) -> None:
        """May be called again, also when it is over."""
        if self._link.lock.acquire(blocking=False):
            try:
                self._end()
            finally:
                self._link.lock.release()
        else:  # it may be this thread's: what nobody can reach is ended at any time
            Thread(target=self._cancel_later, daemon=True).start()

    # ---- with the lock ----------------------------------------------------------------------

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

    def lost(self, code: Code, why: str) -> None:
        kind = Stopped if code is Code.CANCELLED else Failed
        self._finish(kind(code, f"the connection is lost: {why}"))

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
        return Failed(*found, wire.octets_of(fields, _DETAILS))

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

    def _cancel_later(self) -> None:
        with self._link.lock:
            self._end()

    def _end(self) -> None:
        self._cancel(Stopped(Code.CANCELLED, "it was cancelled"))
        self._link.flush()

    def _late(self) -> None:
        self._cancel(Failed(Code.DEADLINE_EXCEEDED, "its time is over"))
        self._link.flush()

    def _need_short(self, message: bytes) -> None:
        if len(message) > self._longest:
            raise Failed(Code.RESOURCE_EXHAUSTED, str(TooLong(len(message), self._longest)))


@contextmanager
def ended(call: Call) -> Iterator[Call]:
    """It is cancelled at the end, if it is not over."""
    try:
        yield call
    finally:
        call.cancel()
