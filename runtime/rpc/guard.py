"""Who may call what, and how much of it: the door in front of every method.

A slow or hostile client shall harm nobody else: the calls of each at a time are limited, and the
requests a second (a client that asks faster waits), and calls that keep something busy end after a
while.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from typing import Any

from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from ..base import agent_errors as faults
from ..base.errors import refused
from ..front import calls
from ..front.calls import Failed
from ..front.timers import Timers
from .access import ALONE, LOOKING, NEEDED, TIMED, may, name_of
from .admission import Admission
from .audit import Audit
from .callers import Caller
from .clients import Client, Limits
from .decoding import bytes_of, no_request, parsed
from .methods import LARGE, LISTING, LISTINGS, LONGEST, SHORT, SMALL
from .ordered import Begin, OrderedCall
from .recorded import Call

Context = calls.Call
_Taken = Callable[[bytes, Call, "Client"], Message]
#: Seconds that a list may wait for its client while others wait for a place with the reader.
_STALLED = 2.0


def _gate(name: str, client: Client) -> AbstractContextManager[object]:
    """What a call waits for while others of its client go on."""
    if name in LOOKING:
        return client.looking
    return client.holding if name in ALONE else nullcontext()


class Guard(Admission):
    """Makes methods of what a service has."""

    def __init__(self, limits: Limits = Limits(), audit: Audit | None = None) -> None:  # noqa: B008
        """`audit`: of all methods."""
        super().__init__(limits, audit)
        self._timers = Timers()
        self._lists: dict[Context, Call] = {}

    def method(self, described: MethodDescriptor, method: Callable[..., Any]) -> calls.Method:
        """One for those who may call it: of requests, or of the only one, and the call. It gives
        messages, or their bytes; errors are told as control.proto describes."""
        name = name_of(described)
        read = self._paced if described.client_streaming else self._only
        taken = partial(self._taken, name, GetMessageClass(described.input_type))

        def run(requests: Iterable[bytes], context: Context) -> Generator[bytes, None, None]:
            call = self.call_of(name, described)
            try:
                with self._call(name, call, context) as client, self._working(name, client):
                    asked = read(taken, requests, call, client)
                    # to its end: an answer may be large, and nobody reads it
                    with _gate(name, client):
                        if described.server_streaming:
                            yield from map(bytes_of, call.answers(method(asked, context)))
                        else:
                            reply = method(asked, context)
                            yield bytes_of(call.answered(reply, context.note))
            except Exception as error:
                raise self.failed(error, call) from None
            finally:
                call.over()

        return self._method(described, run, None)

    def ordered(
        self, described: MethodDescriptor, begin: Callable[[Context], Begin]
    ) -> calls.Method:
        """One whose requests are made in their order."""
        kind = GetMessageClass(described.input_type)
        return self._method(described, None, partial(OrderedCall, self, described, kind, begin))

    def _method(self, described: MethodDescriptor, run: Any, ordered: Any) -> calls.Method:
        needed = NEEDED.get(name_of(described), "admin")
        longest = LONGEST if described.name in LARGE else SMALL if needed else SHORT

        def admits(caller: Caller) -> bool:
            return not needed or may(caller.role, needed)

        return calls.Method(run, ordered, not described.client_streaming, longest, admits)

    @contextmanager
    def _call(self, name: str, call: Call, context: Context) -> Iterator[Client]:
        client = self.let_in(name, call, context.caller)
        ends = name in TIMED or name in LOOKING
        timer = self._timers.after(self.limits.seconds, context.cancel) if ends else None
        try:
            with self._listing(context, call) if name in LISTING else nullcontext():
                yield client
        except Exception as error:
            self.charge_for(client, error)
            raise
        finally:
            if timer is not None:
                timer.stop()
            self.leave(name, context.caller, client)

    @contextmanager
    def _listing(self, context: Context, call: Call) -> Iterator[None]:
        """One of those that wait for the reader."""
        with self._lock:
            self._lists[context] = call
            wait = len(self._lists) > LISTINGS
        if wait:
            self._timers.after(_STALLED, self._end_stalled)
        try:
            yield
        finally:
            with self._lock:
                del self._lists[context]

    def _end_stalled(self) -> None:
        """Lists whose clients do not read them, as many as others need places."""
        with self._lock:
            going = [*self._lists.items()]
        excess = len(going) - LISTINGS
        stalled = [each for each in going if each[0].stalled() > _STALLED]
        stalled.sort(key=lambda each: -each[0].stalled())
        for context, call in stalled[: max(0, excess)]:
            title = f"nothing of this list was read for {_STALLED:g} s, and others wait"
            ended = self.failed(refused(faults.too_much(title, "read it as it comes")), call)
            if isinstance(ended, Failed):
                context.fail(ended)
        if excess > len(stalled):
            self._timers.after(1.0, self._end_stalled)

    def _paced(
        self, taken: _Taken, requests: Iterable[bytes], call: Call, client: Client
    ) -> Iterator[Message]:
        for request in requests:
            yield taken(request, call, client)

    def _only(
        self, taken: _Taken, requests: Iterable[bytes], call: Call, client: Client
    ) -> Message:
        for request in requests:
            return taken(request, call, client)
        raise refused(no_request())

    def _taken(
        self, name: str, kind: type[Message], request: bytes, call: Call, client: Client
    ) -> Message:
        """A request as it came in, once the client may have it carried out."""
        if wait := self._cost(name, client, len(request)):
            time.sleep(wait)
        return parsed(name, kind, request, call)


def need_client(context: Context) -> None:
    """Raises `Refused` where the call has ended."""
    if not context.is_active():
        raise refused(faults.given_up())
