"""A connection to a server: a thread that waits for something on it reads for all.

Its lock is held only while bytes are moved, never during a wait.
"""

from __future__ import annotations

import socket
import time
from collections import deque
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from threading import Lock
from typing import Protocol, TypeVar
from weakref import finalize, ref

from ..http2 import nghttp2 as ng
from ..http2.client import ClientSession
from ..http2.codes import Code
from ..http2.session import Broken, Closed, Ended, Event, Fields
from ..http2.sockets import AGAIN, Why, failure, receive
from .failures import Failed, Stopped
from .waiters import Waiter, Waiters

#: Bytes that are read at a time; that a call may have waiting before it has to wait itself.
_AT_ONCE, _AHEAD = 64 << 10, 256 << 10
_T = TypeVar("_T")


class Served(Protocol):
    """A call, as the connection sees it. Called with the lock."""

    def on(self, event: Event) -> None: ...

    def lost(self, why: Failed) -> None:
        """The connection is gone; nothing more comes."""


class Link:
    """Any thread may call `do`, `soon`, `wait`, `attend` and `close`."""

    def __init__(self, made: socket.socket) -> None:
        """`made`: connected, this one's to close."""
        self._lock, self._later = Lock(), deque[Callable[[], object]]()
        self._calls = dict[int, ref[Served]]()  # who drops one wants no more of it
        self._unsent = memoryview(b"")
        self._lost: Callable[[], Failed] | None = None
        with ExitStack() as owned:
            owned.callback(made.close)
            made.setblocking(False)
            self._socket, self._session = made, ClientSession()
            owned.callback(self._session.close)
            self._waiters = Waiters(made)
            owned.callback(self._waiters.close)
            self._free = finalize(self, owned.pop_all().close)
            self._free.atexit = False

    def do(self, work: Callable[[], _T]) -> _T:
        """With the lock. If it raises something else than `Failed`, nobody knows how far it came:
        the connection is lost."""
        try:
            return self._locked(work)
        finally:
            self._catch_up()

    def soon(self, work: Callable[[], object]) -> None:
        """With the lock, by whoever has it next. Never waits for who has it: may be called at any
        time, also by handlers of signals and by finalizers."""
        self._later.append(work)
        self._catch_up()

    def wait(self, work: Callable[[], _T | None], stream: int, until: float | None) -> _T:
        """What `work` gives, as soon as it gives anything. It is called with the lock: at once,
        after what happens on the stream, and at that time on time.monotonic()."""
        waiter = Waiter(stream)
        try:
            while not (found := self.do(partial(self._turn, waiter, work))):
                self._waiters.sleep(waiter, None if until is None else until - time.monotonic())
            return found
        finally:
            try:
                self._leave(waiter)
            except BaseException:  # Ctrl-C as it begins
                self._leave(waiter)
                raise

    @property
    def there(self) -> bool:
        return self._lost is None

    def attend(self) -> None:
        """Read what has come, where nobody else does."""
        self.do(self.look)

    def close(self) -> None:
        """May be called again."""
        self.soon(partial(self._lose, "its client closed it", Stopped, Code.CANCELLED))

    def forked(self) -> None:
        """In a child of `fork`: the connection is its parent's. Another thread may have been at
        work on it, so nothing of it is used, but its descriptors closed."""
        self._free.detach()
        self._lock, self._later = Lock(), deque()
        self._waiters.reader = None
        self._lose("it is the parent process's")  # which wakes the parent's reader, too
        self._waiters.close()
        self._socket.close()

    # ---- with the lock ----------------------------------------------------------------------

    def leaving(self) -> bool:
        """Whether it takes no more calls, as far as the server has said."""
        self.look()
        return not self.there or self._session.leaving

    def open(self, fields: Fields, call: Served) -> int | None:
        """Begin a call: its stream, or None where there can be no more."""
        if self.leaving():
            return None
        stream = self._session.open(fields)
        if stream is None:
            self._session.leaving = True
        else:
            self._calls[stream] = ref(call)
        return stream

    def refusal(self) -> Failed:
        """Why there can be no more."""
        if self._lost is not None:
            return self._lost()
        return Failed(Code.UNAVAILABLE, "the server takes no calls")

    def send(self, stream: int, data: bytes) -> None:
        if self.there:
            self._session.send(stream, data)

    def end(self, stream: int) -> None:
        if self.there:
            self._session.end(stream)

    def took(self, stream: int, count: int) -> None:
        if self.there:
            self._session.took(stream, count)

    def cancel(self, stream: int) -> None:
        """The call gets no more events."""
        if self._calls.pop(stream, None) is not None and self.there:
            self._session.reset(stream, ng.CANCEL)
        self._waiters.wake(stream)

    def can_send(self, stream: int) -> bool:
        """Whether more may be sent on it before some has gone."""
        return self._session.waiting(stream) + len(self._unsent) < _AHEAD

    def flush(self) -> None:
        """Send what there is, as far as it is taken."""
        while self.there:
            if not self._unsent:
                self._unsent = memoryview(self._session.unsent())
                self._tell()
            if not self._unsent:
                return
            try:
                self._unsent = self._unsent[self._socket.send(self._unsent) :]
                self._waiters.wake()
            except AGAIN:
                self._waiters.wake_reader()  # who waits for the socket waits for this, too
                return
            except OSError as error:
                self._read()  # the other side may have said why
                self._lose(failure(error))

    def look(self) -> None:
        """Read what has come, where nobody waits for it."""
        if self._waiters.reader is None:
            self._read()
            self.flush()

    def _locked(self, work: Callable[[], _T]) -> _T:
        with self._lock:
            try:
                try:
                    return work()
                finally:
                    while self._later:
                        self._later.popleft()()
                    self._sweep()
            except Failed:
                raise
            except BaseException as error:
                self._lost = self._lost or partial(_interrupted, error)
                self._sweep()
                raise

    def _catch_up(self) -> None:
        while self._later and not self._lock.locked():
            self._locked(self._sweep)

    def _turn(self, waiter: Waiter, work: Callable[[], _T | None]) -> _T | None:
        if self._waiters.reader is waiter:
            self._read()
            self.flush()
        found = work()
        if found:
            self._waiters.remove(waiter)
        else:
            self._waiters.add(waiter, bool(self._unsent))
        return found

    def _leave(self, waiter: Waiter) -> None:
        if waiter in self._waiters:
            self.do(partial(self._waiters.remove, waiter))

    def _read(self) -> None:
        ended = ""
        while self.there and not ended:
            data, ended = receive(self._socket, _AT_ONCE)
            try:
                self._session.feed(data)
            except Broken as error:
                ended = str(error)
            self._tell()
            if ended:
                self._lose(ended)
            if len(data) < _AT_ONCE:
                return

    def _tell(self) -> None:
        events, self._session.events = self._session.events, []
        for event in events:
            if (found := self._calls.get(event.stream)) is not None:
                if (call := found()) is not None:
                    call.on(event)
                if type(event) is Closed:
                    self._calls.pop(event.stream, None)
                elif type(event) is Ended and not self._session.ended(event.stream):
                    self._session.reset(event.stream, ng.NO_ERROR)  # nobody wants the rest
        if events:
            self._waiters.wake(*{event.stream for event in events})
        if self.there and not self._calls and self._session.over:
            self._lose("the server ended it")

    def _lose(self, why: str, kind: type[Failed] = Failed, code: Code = Code.UNAVAILABLE) -> None:
        tls = why.tls if isinstance(why, Why) else None
        self._lost = self._lost or partial(kind, code, f"the connection is lost: {why}", tls=tls)
        self._sweep()

    def _sweep(self) -> None:
        """If the connection is lost: end its calls, and free what nobody waits for any more."""
        if self._lost is None:
            return
        while self._calls:
            _, found = self._calls.popitem()
            if (call := found()) is not None:
                call.lost(self._lost())
        self._waiters.wake_all()
        if self._waiters.reader is None:
            self._free()


def _interrupted(error: BaseException) -> Failed:
    return Failed(Code.UNAVAILABLE, f"the connection is lost: {type(error).__name__} in a call")
