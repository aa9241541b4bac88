"""`ClientSession`: the client's side of an HTTP/2 connection (`session.py`).

In the main thread Python raises what a signal's handler does (as that of Ctrl-C) between any two
instructions: also as the library calls, before the `try` of what it calls. The library learns
nothing of it, and goes on; the exception is given to `sys.unraisablehook` alone.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from threading import current_thread, main_thread
from typing import TypeVar

from . import nghttp2 as ng
from .session import Body, Fields, Received, Session

_T = TypeVar("_T")
#: A client does not have one stream wait for another: more than its streams may take.
_UNBOUNDED = (1 << 31) - 1


class ClientSession(Session):
    """The side that asks. `feed` and `unsent` raise what a signal's handler does, wherever that is;
    nobody knows then what was missed."""

    def __init__(self) -> None:
        super().__init__(ng.client_session, _UNBOUNDED, (ng.ENABLE_PUSH, 0))

    def feed(self, data: bytes) -> None:
        """Streams alone make the server wait: what nobody takes of one stops no other."""
        _raising(partial(super().feed, data))
        came = sum(len(event.data) for event in self.events if type(event) is Received)
        if came:
            self._lib.session_consume_connection(self._session, came)

    def unsent(self) -> bytes:
        return _raising(super().unsent)

    def took(self, stream: int, count: int) -> None:
        self._lib.session_consume_stream(self._session, stream, count)

    def open(self, fields: Fields) -> int | None:
        """A new stream, on which is sent; None where the connection takes none any more."""
        made = ng.fields(fields)
        stream: int = self._lib.submit_request(
            self._session, None, made, len(made), self._callbacks.provider, None
        )
        if stream < 0:
            return None
        self._bodies[stream] = Body()
        return stream


def _raising(work: Callable[[], _T]) -> _T:
    """What it gives. Raises what the library did not learn of."""
    if current_thread() is not main_thread():  # no handler is run
        return work()
    hook = sys.unraisablehook
    found: list[sys.UnraisableHookArgs] = []
    try:
        sys.unraisablehook = found.append  # itself in C: no handler is run in it
        return work()
    finally:
        sys.unraisablehook = hook
        _raise(found, hook)


def _raise(
    found: list[sys.UnraisableHookArgs], hook: Callable[[sys.UnraisableHookArgs], object]
) -> None:
    """What is of our own; the rest is for `hook`."""
    missed = None
    for each in found:
        trace = each.exc_traceback
        if trace is not None and trace.tb_frame.f_globals["__name__"] == Session.__module__:
            missed = each.exc_value
        else:
            hook(each)
    if missed is not None:
        raise missed
