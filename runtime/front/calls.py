"""`Call`: a gRPC call as its method sees it: its requests, its answers, its end."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, TypeVar

from ..http2 import grpc_wire as wire
from ..http2.codes import Code
from ..http2.grpc_wire import Compressed, Messages, TooLong
from ..http2.session import Fields
from .budget import Full, Share
from .connection import AHEAD, Connection
from .timers import Timer, Timers

#: Bytes of requests that a call may always have waiting.
_FEW = 4 << 10

Ended = TypeVar("Ended", bound=Exception)


class Failed(Exception):
    """The call ends by this status; the client is told after `wait` seconds."""

    def __init__(
        self, code: Code, says: str, trailer: Iterable[tuple[str, bytes]] = (), wait: float = 0.0
    ) -> None:
        super().__init__(says)
        self.code, self.says, self.trailer, self.wait = code, says, tuple(trailer), wait


class Gone(Exception):
    """Nobody waits for the call any more."""


def bare(error: Ended) -> Ended:
    """For who keeps it: its frames hold the request, and often who keeps it. That would be a cycle,
    and no collection looks at what is older than a large request (gc_pause.py)."""
    error.__traceback__ = error.__context__ = error.__cause__ = None
    return error


class Ordered(Protocol):
    """A call whose requests are made in their order."""

    def cost(self, request: bytes) -> float:
        """Seconds that the next request has to wait."""

    def begin(self, request: bytes) -> Callable[[], bytes | Failed | Gone]:
        """Make it. What that returns waits for its answer, or says how the call ends."""

    def settle(self) -> None:
        """Do what nobody waits for, behind the answers."""

    @property
    def over(self) -> bool:
        """No more requests are to be made."""

    def close(self) -> None:
        """There are no more requests; those that were not answered never will be. May raise
        `Failed`."""


@dataclass(frozen=True)
class Method:
    """`run` gives the answers to the requests of a call, and may raise `Failed`; or the method is
    `ordered`. `single`: it has one request. `longest`: bytes of one. `admits`: whether somebody may
    call it at all; of who may not no request is read, and the method answers without one."""

    run: Callable[[Iterator[bytes], Call], Generator[bytes, None, None]] | None
    ordered: Callable[[Call], Ordered] | None
    single: bool
    longest: int
    admits: Callable[[Any], bool]


class Call:
    """A call. Methods may ask it by any thread."""

    #: What the method has to say of its last answer, for who has it on record.
    note: Any = None
    #: A thread is at work on it, or will be; it is not over.
    begun, open = False, True
    _held = 0  # bytes of requests that are not taken
    _untaken = 0  # and those that the client may not send again yet: of its window only a few
    _came = 0  # requests
    _answered = False
    _stalled = 0.0
    _timer: Timer | None = None
    _arriving: Timer | None = None

    def __init__(
        self, connection: Connection, stream: int, method: Method, caller: Any,
        until: float | None, share: Share,
    ) -> None:  # fmt: skip
        """`until`: the time on time.monotonic() at which nobody waits for it any more; `share`: of
        the memory for requests."""
        self.method, self.caller, self.until, self.lock = method, caller, until, connection.lock
        #: Nothing more will be asked.
        self.ended = self._turned_away = not method.admits(caller)
        self._connection, self._stream = connection, stream
        #: Requests that are there, and what they hold if they are large.
        self.asked, self.share = deque[bytes](), share
        self._messages = Messages(method.longest)
        self._callbacks: list[Callable[[], object]] = []

    # ---- asked by methods -------------------------------------------------------------------

    def is_active(self) -> bool:
        return self.open and (self.until is None or time.monotonic() < self.until)

    def time_remaining(self) -> float | None:
        """Seconds."""
        return None if self.until is None else max(0.0, self.until - time.monotonic())

    def add_callback(self, work: Callable[[], object]) -> bool:
        """Do it when the call ends; it must not wait. False where it has ended."""
        with self.lock:
            if self.open:
                self._callbacks.append(work)
            return self.open

    def begin_answer(self) -> None:
        """Tell the client that the call was taken."""
        with self.lock:
            self._answer()
            self._connection.flush()

    def requests(self) -> Iterator[bytes]:
        """As they come. Raises `Gone`."""
        while True:
            with self.lock:
                while not self.asked and not self.ended and self.is_active():
                    self._connection.wait(self.time_remaining())
                if self.asked:
                    request = self.take()
                    # the client may wait to be told that it may send more
                    self._connection.flush()
                elif self.ended and self.open:
                    return
                else:
                    raise Gone
            yield request

    def stalled(self) -> float:
        """Seconds for which its client has not taken what was sent."""
        since = self._stalled
        return time.monotonic() - since if since else 0.0

    def cancel(self) -> None:
        self.fail(Failed(Code.CANCELLED, "it took too long"))

    # ---- answered ---------------------------------------------------------------------------

    def send(self, message: bytes) -> None:
        """Returns when the client has taken most of what was sent before. Raises `Gone`."""
        with self.lock:
            self.put(message)
            self._connection.flush()
            self._stalled = time.monotonic()
            while self.open and not self.room:
                if not self.is_active():
                    raise Gone
                self._connection.wait(self.time_remaining())
            self._stalled = 0.0

    def put(self, message: bytes) -> None:
        """The same, without waiting and flushing; the lock is had."""
        if not self.open:
            raise Gone
        if not self._answered:
            self._answer()
        self._connection.session.send(self._stream, wire.framed(message))

    def finish(self, flush: bool = True) -> None:
        """Successfully."""
        self._end(wire.DONE, flush)

    def fail(self, why: Failed, flush: bool = True) -> None:
        self._end(wire.status_fields(why.code, why.says, why.trailer), flush)

    def _answer(self) -> None:
        if not self._answered and self.open:
            self._answered = True
            self._connection.session.answer(self._stream, wire.ANSWER)

    def _end(self, fields: Fields, flush: bool) -> None:
        with self.lock:
            if not self.open:
                return
            session = self._connection.session
            if self._answered:
                session.end(self._stream, fields)
            else:
                session.refuse(self._stream, wire.ANSWER + fields)
            self.close()
            if flush:
                self._connection.flush()

    # ---- by the connection, with its lock ---------------------------------------------------

    def receive(self, data: bytes) -> None:
        """Raises `Failed`."""
        if not self.open or self._turned_away:
            self._connection.session.took(self._stream, len(data))
            return
        self._untaken += len(data)
        try:
            held = self._held + len(data)
            if held > _FEW or self.share.held:
                self._hold(held)
            self._held = held
            whole = self._messages.feed(data)
            self.asked += whole
            self._came += len(whole)
        except TooLong as error:
            raise Failed(Code.RESOURCE_EXHAUSTED, str(error)) from None
        except Compressed:
            raise Failed(Code.UNIMPLEMENTED, "messages must not be compressed") from None
        except Full as full:
            whose = "from this host" if full.each else "from all hosts together"
            raise Failed(
                Code.RESOURCE_EXHAUSTED, f"too much arrives at a time {whose}: send it again"
            ) from None
        if not self.asked:  # a part of one: the rest has to come
            self._took()

    def take(self) -> bytes:
        """The next request; there must be one."""
        request = self.asked.popleft()
        held = self._held - len(request) - wire.PREFIX
        if self.share.held:
            self._hold(held)
        self._held = held
        if self._untaken > _FEW and not self.asked:
            self._took()
        return request

    def _hold(self, count: int) -> None:
        """So many bytes of requests; only many are of the budget. Raises `Full`."""
        self.share.hold(count if count > _FEW else 0)

    def _took(self) -> None:
        if self._untaken and self._connection.alive:
            self._connection.session.took(self._stream, self._untaken)
        self._untaken = 0

    @property
    def room(self) -> bool:
        """Whether more may be answered before some has gone."""
        connection = self._connection
        return connection.session.waiting(self._stream) + len(connection.unsent) < AHEAD

    def want_room(self) -> None:
        """Who makes some has the connection's streams looked at."""
        self._connection.room_wanted = True

    def flush(self) -> None:
        self._connection.flush()

    def end_requests(self) -> None:
        self.ended = True
        self._connection.tell()

    def expect(self, timers: Timers, seconds: float, late: Callable[[], None]) -> None:
        """A request, within that time. `late`: is called where it does not come."""
        self._timer = timers.after(seconds, partial(self._give_up, late))

    @property
    def large(self) -> bool:
        """Much of a request has come that nobody sees to."""
        return self.share.held > 0 and self._arriving is None

    def hurry(self, timers: Timers, seconds: float) -> None:
        """The rest of its request, within that time."""
        came = self._came

        def look() -> None:
            with self.lock:
                self._arriving = None
                if self.large and came == self._came and not self.asked:
                    self.cancel()
                elif self.large:
                    self.hurry(timers, seconds)

        self._arriving = timers.after(seconds, look)

    def begin(self) -> None:
        """A thread is to be at work on it: it has a request, or needs none."""
        self.begun = True
        if self._timer is not None:
            self._timer.stop()

    def limit(self, timers: Timers) -> None:
        """It ends at its time."""
        with self.lock:
            if (seconds := self.time_remaining()) is not None and self.open:
                self._timer = timers.after(seconds, self._give_up)

    def _give_up(self, late: Callable[[], None] = lambda: None) -> None:
        with self.lock:
            if self.until is not None and time.monotonic() >= self.until:
                self.fail(Failed(Code.DEADLINE_EXCEEDED, "its time is over"))
            elif not self.begun:
                late()
                self.cancel()

    def close(self) -> None:
        """It is over. May be called again."""
        if not self.open:
            return
        self.open = False
        if self._timer is not None:
            self._timer.stop()
        if self._arriving is not None:
            self._arriving.stop()
        self.asked.clear()
        self._messages.clear()
        self.share.hold(0)
        self._held = 0
        self._took()
        for work in self._callbacks:
            work()
        self._callbacks.clear()
        self._connection.tell()
