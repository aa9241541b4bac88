"""A connection's streams as calls: each is carried out by a thread, or in its requests' order."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import Any

from ..http2 import grpc_wire as wire
from ..http2.codes import Code
from ..http2.session import Closed, Ended, Event, Headers, Received
from .budget import Budget, Share
from .calls import Call, Failed, Gone, Method
from .connection import Connection
from .lanes import Lane, serve
from .loop import Loop
from .threads import log_error
from .timers import Timers

#: Seconds; longer than anybody waits, and not too long for a lock. Bytes a second of a large
#: request that comes.
_LONGEST, _SLOWEST = 1e9, 1 << 20
_LATE = "a call whose request did not come in time"


@dataclass(frozen=True)
class Served:
    """What connections have in common. `submit`: have work carried out for a host. `loop`: whose
    threads have the sockets. `patience`: seconds that a call has for its request; `arriving`:
    memory for requests, of each host; `refused`: is told of a host whose call no method has seen,
    and why."""

    methods: Mapping[bytes, Method]
    submit: Callable[[str, Callable[[], object]], object]
    loop: Loop
    timers: Timers
    patience: float
    arriving: Budget
    refused: Callable[[str, str], None]


class Calls:
    """Those of one connection."""

    def __init__(
        self, connection: Connection, caller: Any, place: str, host: str, served: Served
    ) -> None:
        """`caller`: whose they are; `place`: where its calls wait for each other."""
        self._connection, self._caller, self._served = connection, caller, served
        self._place, self._host = place, host
        self._lock = connection.lock
        self._calls: dict[int, Call] = {}
        self._lanes: dict[int, Lane] = {}
        #: Calls of which no request came yet, those that a thread is to begin with, and lanes.
        self._new, self._starting, self._due = list[Call](), list[Call](), list[Lane]()

    def __len__(self) -> int:
        return len(self._calls)

    # ---- with the connection's lock ---------------------------------------------------------

    def on(self, event: Event) -> None:
        if type(event) is Headers:
            self._open(event)
            return
        call = self._calls.get(event.stream)
        if call is None:
            if type(event) is Received:
                self._connection.session.took(event.stream, len(event.data))
            return
        if type(event) is Received:
            try:
                call.receive(event.data)
            except Failed as error:
                self._served.refused(self._host, error.says)
                call.fail(error)
            if call.share.held and call.large:
                served = self._served
                call.hurry(served.timers, served.patience + call.method.longest / _SLOWEST)
        elif type(event) is Ended:
            call.end_requests()
        elif type(event) is Closed:
            del self._calls[event.stream]
            call.close()
        self._schedule(event.stream, call)
        if type(event) is Closed:
            self._lanes.pop(event.stream, None)

    def closed(self) -> None:
        for stream, call in self._calls.items():
            call.close()
            self._schedule(stream, call)
        self._calls.clear()
        self._lanes.clear()
        if self._due:  # nobody is served by the connection any more
            due, self._due = self._due, []
            self._submit(partial(serve, due))

    def _open(self, opened: Headers) -> None:
        stream, fields = opened
        if stream in self._calls:  # fields behind its requests
            return
        try:
            method, until = self._asked(fields)
        except Failed as error:
            self._served.refused(self._host, error.says)
            answer = wire.ANSWER + wire.status_fields(error.code, error.says)
            self._connection.session.refuse(stream, answer)
            return
        except ValueError:
            self._served.refused(self._host, "a call that is not gRPC's")
            self._connection.session.refuse(stream, wire.NO_GRPC)
            return
        call = self._calls[stream] = Call(
            self._connection, stream, method, self._caller, until,
            Share(self._served.arriving, self._place),
        )  # fmt: skip
        if method.ordered is not None:
            self._lanes[stream] = Lane(call, self._submit, self._served.timers)
        if method.single:
            self._new.append(call)
        self._schedule(stream, call)

    def _asked(self, fields: Mapping[bytes, bytes]) -> tuple[Method, float | None]:
        """Which method is called, and until when. Raises `Failed`, and ValueError where it is no
        call of gRPC."""
        if not fields.get(b"content-type", b"").startswith(b"application/grpc"):
            raise ValueError
        method = self._served.methods.get(fields.get(b":path", b""))
        if method is None or fields.get(b":method") != b"POST":
            raise Failed(Code.UNIMPLEMENTED, "there is no such method")
        if fields.get(b"grpc-encoding", b"identity") != b"identity":
            raise Failed(Code.UNIMPLEMENTED, "messages must not be compressed")
        timeout = fields.get(b"grpc-timeout")
        if timeout is None:
            return method, None
        if (seconds := wire.seconds_of(timeout)) is None:
            raise Failed(Code.INTERNAL, "grpc-timeout says no time")
        return method, time.monotonic() + min(seconds, _LONGEST)

    def _schedule(self, stream: int, call: Call) -> None:
        """What can go on now is done by `go_on`."""
        ready = call.asked or call.ended or not (call.method.single and call.open)
        lane = self._lanes.get(stream)
        if lane is not None:
            if ready and (not lane.going or (lane.blocked and lane.unblocked())):
                call.begin()
                lane.going = True
                self._due.append(lane)
        elif ready and call.open and not call.begun:
            call.begin()
            self._starting.append(call)

    # ---- without it -------------------------------------------------------------------------

    def go_on(self) -> bool:
        """By the thread that has the socket. Returns whether all was sent that there is."""
        with self._lock:
            for lane in self._lanes.values():
                if lane.blocked and lane.unblocked():
                    self._due.append(lane)
            due, self._due = self._due, []
            new, self._new = self._new, []
            starting, self._starting = self._starting, []
            for call in new:
                if not call.begun and call.open:
                    late = partial(self._served.refused, self._host, _LATE)
                    call.expect(self._served.timers, self._served.patience, late)
        for call in starting:
            self._submit(partial(self._run, call))
        if due and self._served.loop.idle:
            return serve(due, inline=True)
        if due:
            self._submit(partial(serve, due))
        return False

    def _submit(self, work: Callable[[], object]) -> None:
        self._served.submit(self._place, work)

    def _run(self, call: Call) -> None:
        """All of a call, by a thread of its own."""
        assert call.method.run is not None
        call.limit(self._served.timers)
        try:
            with closing(call.method.run(call.requests(), call)) as answers:
                for answer in answers:
                    call.send(answer)
            call.finish()
        except Failed as error:
            if error.wait:
                self._served.timers.after(error.wait, partial(call.fail, error))
            else:
                call.fail(error)
        except Gone:
            pass
        except Exception as error:
            log_error(error)
            call.fail(Failed(Code.INTERNAL, "the agent is at fault: its log says how"))
