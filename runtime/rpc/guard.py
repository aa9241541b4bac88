"""Who may call what, and how much of it: the door in front of every method.

A slow or hostile client shall harm nobody else: each has so many calls at a time, so many requests
a second (whoever asks faster waits), and calls that keep something busy end after a while.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from threading import Lock, Semaphore
from typing import Any, NoReturn

import grpc
from google.protobuf.descriptor import MethodDescriptor, ServiceDescriptor
from google.protobuf.message import DecodeError, Message
from google.protobuf.message_factory import GetMessageClass
from grpc_health.v1 import health_pb2
from grpc_reflection.v1alpha import reflection_pb2

from ...lang.diagnostics import Refused
from ...lang.ending import diagnosed
from ..agent import faults
from ..agent.outcome import MovedOn
from ..certs import ROLES, Role
from ..faults import refused
from . import control_pb2 as pb
from .alarm import Alarm
from .audit import Audit
from .callers import Caller
from .failures import failure, status_code, trailer
from .methods import METHODS
from .recorded import Call
from .revoked import Revoked

Context = grpc.ServicerContext
_Taken = Callable[[bytes, Call, "_Client"], Message]

#: Services of gRPC's own.
_HEALTH: Any = health_pb2.DESCRIPTOR
_REFLECTION: Any = reflection_pb2.DESCRIPTOR
HEALTH: ServiceDescriptor = _HEALTH.services_by_name["Health"]
REFLECTION: ServiceDescriptor = _REFLECTION.services_by_name["ServerReflection"]
_REFLECT = "ServerReflection.ServerReflectionInfo"

#: The least role that a method takes (None: whoever TLS lets in); what is not named here is for
#: administrators.
NEEDED: dict[str, Role | None] = {
    **dict.fromkeys(("Get", "List", "Entries", "Stats", "Watch", "Status", "GetSchema"), "read"),
    **dict.fromkeys(("ListIntents", "ReportIntents", _REFLECT), "read"),
    **dict.fromkeys(("Apply", "Stream", "BulkApply", "Refresh"), "rules"),
    **dict.fromkeys(("ApplyIntent", "RemoveIntent"), "rules"),
    **dict.fromkeys(("Health.Check", "Health.List", "Health.Watch")),
}
#: Who may call what changes something.
_CHANGING = ("rules", "admin")
_LASTING = ("Stream", "Watch", "ReportIntents", _REFLECT, "Health.Watch")
#: Calls that end by themselves if the client lets them, and are ended after a while.
_TIMED = ("List", "Entries", "BulkApply")
#: As so many requests counts a call that only looks, or is refused at the door: it takes as long.
_DEAR = 20.0
#: Bytes that count as one request more: of requests that are read word by word, and of others.
_TEXTS, _TEXT, _BYTES = ("Apply", "Stream", "ApplyIntent"), 512, 16384
#: By how much less a client may ask for while another asks often, and how much of a second's may
#: come at once then. Often is so many requests in so many seconds: who only looks on slows nobody.
SHARED, AT_ONCE = 10.0, 0.01
OFTEN, _LATELY = 20, 1.0
_RECENT = 60.0  # seconds
_LOOKING = ("Get", "Stats", "Status", "GetSchema", "ListIntents", "Health.Check", "Health.List")


@dataclass(frozen=True)
class Limits:
    """`calls` of one client at a time, `timed` of them see `_TIMED` (fewer than the reader has
    slots), `lasting` streams and watches, `all_lasting` of all clients; `rate`: requests a second
    of one client, as many at once, and `SHARED` times fewer beside a busy one; `seconds`: of what
    is timed; `patience`: seconds from the beginning of a call to its request, where it has one."""

    calls: int = 32
    timed: int = 6
    lasting: int = 8
    all_lasting: int = 64
    rate: float = 10_000.0
    seconds: float = 120.0
    patience: float = 5.0


@dataclass
class _Client:
    calls: int = 0
    timed: int = 0
    lasting: int = 0
    tokens: float = 0.0
    filled: float = field(default_factory=lambda: time.monotonic())
    asked: deque[float] = field(default_factory=lambda: deque(maxlen=OFTEN))  # when, lately
    looking: Semaphore = field(default_factory=lambda: Semaphore(2))


class Guard:
    """Wraps methods: see `methods.handlers`."""

    def __init__(
        self, of: Callable[[str], Caller], limits: Limits = Limits(), audit: Audit | None = None
    ) -> None:
        """`of`: who calls, by what gRPC says of the peer. `audit`: of all methods."""
        self.limits, self.alarm, self._of = limits, Alarm(), of
        self._audit = audit or Audit()
        #: Of certificates that TLS lets in and we do not; without TLS there is none.
        self.revoked: Revoked | None = None
        self._clients: dict[str, _Client] = {}
        self._lasting = 0
        #: The last two clients that asked often, and when.
        self._busy: list[tuple[_Client | None, float]] = [(None, 0.0), (None, 0.0)]
        self._lock, self._refusing = Lock(), Lock()

    def __call__(
        self, described: MethodDescriptor, method: Callable[..., Any]
    ) -> Callable[..., Any]:
        """The method for those who may call it; errors are told as control.proto describes."""
        name = name_of(described)
        begin = partial(Call, self._audit, name, described, NEEDED.get(name, "admin") in _CHANGING)
        taken = partial(self._taken, name, GetMessageClass(described.input_type))
        read = partial(self._paced if described.client_streaming else self._only, taken)

        def once(requests: Iterable[Any], context: Context) -> Any:
            call = begin()
            try:
                with self._call(name, call, context) as client:
                    asked = read(requests, call, client, context)
                    with client.looking if name in _LOOKING else nullcontext():
                        return call.answered(method(asked, context))
            except Exception as error:
                self._refuse(error, call, context)

        def many(requests: Iterable[Any], context: Context) -> Iterator[Any]:
            call = begin()
            try:
                with self._call(name, call, context) as client:
                    asked = read(requests, call, client, context)
                    yield from call.answers(method(asked, context))
            except Exception as error:
                self._refuse(error, call, context)
            finally:
                call.over()

        return many if described.server_streaming else once

    def _refuse(self, error: Exception, call: Call, context: Context) -> NoReturn:
        """One after the other, so that who is refused all the time has no more than a turn."""
        with self._refusing:
            failed = failure_of(error)
            if isinstance(error, grpc.RpcError):  # the caller ended it
                call.over()
            else:
                call.refused(failed)
            _abort(failed, context)

    @contextmanager
    def _call(self, name: str, call: Call, context: Context) -> Iterator[_Client]:
        call.by(caller := self._of(context.peer()))
        needed = NEEDED.get(name, "admin")
        try:
            if self.revoked is not None and caller.fingerprint:
                self.revoked.need_valid(caller.fingerprint, name)
            if needed and not _may(caller.role, needed):
                raise refused(faults.not_allowed(name, caller.role or "", needed))
        except Refused:
            self._take(self._known(caller.name), _DEAR)
            raise
        timed, lasting = int(name in _TIMED), int(name in _LASTING)
        client = self._enter(caller.name, timed, lasting)
        seconds = self.limits.seconds
        try:
            with self.alarm.after(seconds, context.cancel) if timed else nullcontext():
                yield client
        finally:
            self._leave(caller.name, client, timed, lasting)

    def clients(self) -> int:
        """How many have a call going, or called in the last minute."""
        now = time.monotonic()
        with self._lock:
            return sum(c.calls > 0 or now - c.filled < _RECENT for c in self._clients.values())

    def _enter(self, who: str, timed: int, lasting: int) -> _Client:
        limits, client = self.limits, self._known(who)
        with self._lock:
            if client.calls >= limits.calls or client.lasting + lasting > limits.lasting:
                title = f"this client has {client.calls} calls at a time already"
                raise refused(faults.too_much(title, "end some, or send requests on one stream"))
            if client.timed + timed > limits.timed:
                title = f"this client has {client.timed} lists and bulk requests at a time already"
                raise refused(faults.too_much(title, "read one to its end, then ask for the next"))
            if self._lasting + lasting > limits.all_lasting:
                title = f"the agent has {self._lasting} streams and watches already"
                raise refused(faults.too_much(title, "try again later"))
            client.calls += 1
            client.timed += timed
            client.lasting += lasting
            self._lasting += lasting
        return client

    def _known(self, who: str) -> _Client:
        with self._lock:
            client = self._clients.get(who)
            if client is None:
                client = self._clients[who] = _Client(tokens=self.limits.rate)
        return client

    def _leave(self, who: str, client: _Client, timed: int, lasting: int) -> None:
        with self._lock:
            client.calls -= 1
            client.timed -= timed
            client.lasting -= lasting
            self._lasting -= lasting
            if len(self._clients) > 1000 and not client.calls:
                self._clients.pop(who, None)

    # ---- rates ------------------------------------------------------------------------------

    def _paced(
        self, taken: _Taken, requests: Iterable[bytes], call: Call, client: _Client,
        context: Context,
    ) -> Iterator[Message]:  # fmt: skip
        for request in requests:
            yield taken(request, call, client)

    def _only(
        self, taken: _Taken, requests: Iterable[bytes], call: Call, client: _Client,
        context: Context,
    ) -> Message:  # fmt: skip
        """The one request of a call; who does not send it holds a thread no longer than that."""
        with self.alarm.after(self.limits.patience, context.cancel):
            for request in requests:
                return taken(request, call, client)
        raise refused(faults.bad_message("the call ended without a request", "send one message"))

    def _taken(
        self, name: str, kind: type[Message], request: bytes, call: Call, client: _Client
    ) -> Message:
        """A request as it came in, once the client may have it carried out."""
        unit = _TEXT if name in _TEXTS else _BYTES
        self._take(client, (_DEAR if name in _LOOKING else 1.0) + len(request) / unit)
        try:
            message = kind.FromString(request)
        except DecodeError:
            title = f"what was sent for {name} is no {kind.DESCRIPTOR.full_name}"
            help_ = "is it made from this control.proto?"
            raise refused(faults.bad_message(title, help_)) from None
        call.asked(message, len(request))
        return message

    def _take(self, client: _Client, cost: float = 1.0) -> None:
        """One request more of this client: wait where it asks too fast."""
        now = time.monotonic()
        rate = most = self.limits.rate
        if self._beside(client, now):
            rate /= SHARED
            most = rate * AT_ONCE
        tokens = min(most, client.tokens + (now - client.filled) * rate) - cost
        tokens = max(tokens, -rate)  # nobody is in debt for long
        client.tokens, client.filled = tokens, now
        if tokens < 0:
            time.sleep(min(1.0, -tokens / rate))

    def _beside(self, client: _Client, now: float) -> bool:
        """Whether another client has asked often of late."""
        busy, asked = self._busy, client.asked
        other, when = busy[1] if busy[0][0] is client else busy[0]
        asked.append(now)
        if len(asked) == OFTEN and now - asked[0] < _LATELY:
            busy[:] = [(client, now), (other, when)]
        return other is not None and now - when < _LATELY


def name_of(described: MethodDescriptor) -> str:
    """That of a method of ours; of another's with its service's in front."""
    ours = METHODS.get(described.name) is described
    return described.name if ours else f"{described.containing_service.name}.{described.name}"


def _may(role: Role | None, needed: Role) -> bool:
    return role is not None and ROLES.index(role) >= ROLES.index(needed)


def need_client(context: Context) -> None:
    """Raises `Refused` where the call has ended."""
    if not context.is_active():
        raise refused(faults.given_up())


def failure_of(error: Exception) -> pb.Failure:
    """What is told of an error."""
    revision = error.revision if isinstance(error, MovedOn) else 0
    return failure(diagnosed(error, "heliod"), revision)


def _abort(failed: pb.Failure, context: Context) -> NoReturn:
    first = next(f for f in failed.findings if f.code)
    code, said = status_code(first.code), f"{first.code}: {first.title}"
    context.set_trailing_metadata(trailer(failed, code, said))
    context.abort(grpc.StatusCode[code.name], said)
