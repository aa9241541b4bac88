"""Who may call what, and how much of it: the door in front of every method.

A slow or hostile client shall harm nobody else: each has so many calls at a time, so many requests
a second (whoever asks faster waits), and calls that keep something busy end after a while.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Generator, Hashable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import cache, partial
from threading import Lock, Semaphore
from typing import Any, NamedTuple

from google.protobuf.descriptor import Descriptor, MethodDescriptor, ServiceDescriptor
from google.protobuf.message import DecodeError, Message
from google.protobuf.message_factory import GetMessageClass
from grpc_health.v1 import health_pb2
from grpc_reflection.v1alpha import reflection_pb2

from ...lang.text.diagnostics import Diagnostic, Refused
from ...lang.text.exit_status import diagnosed
from ..base import agent_errors as faults
from ..base.errors import refused
from ..base.identity import ROLES, Role
from ..base.outcome import Outcome, RevisionConflict
from ..base.revoked import Revoked
from ..front import calls
from ..front.calls import Failed, Gone, bare
from ..front.timers import Timers
from . import control_pb2 as pb
from .audit import Audit
from .callers import Caller
from .failures import failure, status_code, trailer
from .methods import (
    LARGE,
    LISTING,
    LISTINGS,
    LONGEST,
    METHODS,
    REQUEST,
    REQUESTS,
    SHORT,
    SMALL,
)
from .recorded import Call

Context = calls.Call
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
_TIMED = (*LISTING, "BulkApply")
#: Seconds that a list may wait for its client while others wait for a place with the reader.
_STALLED = 2.0
#: As so many requests counts a call that only looks, or is refused at the door, and each thing
#: that a client is told to be wrong: it takes as long.
_DEAR = 20.0
#: Bytes that count as one request more: of requests that are read word by word, and of others.
_TEXT, _BYTES = 512, 16384
#: Bytes of a name, key or digest; of what diagnostics are to call a text, often a path; and texts.
_NAME, _CALLED = 256, 4096
_CALLS = ("config_name", "mapping_name", "ApplyIntentRequest.name")
_CONTENTS = ("text", "config", "mapping")
#: Clients that ask often share the rate equally, but each has this part of it at least; and so much
#: of its second may come at once then. Often is so many requests in so many seconds, other than for
#: the agent's health: who only looks on slows nobody.
SHARED, AT_ONCE = 10.0, 0.01
OFTEN, _LATELY = 20, 1.0
#: Seconds after which a client is forgotten, where so many are known.
_RECENT, _KNOWN = 60.0, 1000
_LOOKING = ("Get", "Stats", "Status", "GetSchema", "ListIntents", "Health.Check", "Health.List")
#: What a call costs by its method, if not 1. Those that hold the pipeline, or all of them, while
#: they look at the kernel or the disk cost most.
_HOLDING = ("Refresh", "Repair", "Load", "Upgrade", "Unload", "Backup")
_COSTS = {
    **dict.fromkeys((*_LOOKING, *LISTING, "ApplyIntent", "RemoveIntent"), _DEAR),
    **dict.fromkeys(_HOLDING, 5 * _DEAR),
}
#: Calls of these a client has two at a time, apart from its looks, and the others wait. Not of
#: Backup, which lasts as long as somebody reads it.
_ALONE = ("Refresh", "Repair", "Load", "Upgrade", "Unload")


@dataclass(frozen=True)
class Limits:
    """`calls` of one client at a time, `timed` of them see `_TIMED` (fewer than the reader has
    slots), `lasting` streams and watches, `host_lasting` of all clients of one host, and
    `all_lasting` of all; `rate`: requests a second of one client, as many at once, and an equal
    share beside busy ones; `seconds`: of what is timed; `patience`: seconds from the beginning of a
    call to its request, where it has one."""

    calls: int = 32
    timed: int = 6
    lasting: int = 8
    host_lasting: int = 24
    all_lasting: int = 64
    rate: float = 10_000.0
    seconds: float = 120.0
    patience: float = 5.0


@dataclass(eq=False)
class _Client:
    calls: int = 0
    timed: int = 0
    lasting: int = 0
    tokens: float = 0.0
    filled: float = field(default_factory=lambda: time.monotonic())
    asked: deque[float] = field(default_factory=lambda: deque(maxlen=OFTEN))  # when, lately
    looking: Semaphore = field(default_factory=lambda: Semaphore(2))
    holding: Semaphore = field(default_factory=lambda: Semaphore(2))
    refusing: Lock = field(default_factory=Lock)


def _gate(name: str, client: _Client) -> AbstractContextManager[object]:
    """What a call waits for while others of its client go on."""
    if name in _LOOKING:
        return client.looking
    return client.holding if name in _ALONE else nullcontext()


class Begun(NamedTuple):
    """A request that is in force, or that has so many `findings`. `reply` is its answer once `wait`
    has returned, if that gives nothing in its place; `settle` does what comes behind the answer.
    `outcome`: what the reply says."""

    reply: Message
    outcome: Outcome | None = None
    wait: Callable[[], Begun | None] | None = None
    settle: Callable[[], object] | None = None
    findings: int = 0


#: Of a call: what makes one request in force.
_Begin = Callable[[Any], Begun]


class Guard:
    """Makes methods of what a service has."""

    def __init__(self, limits: Limits = Limits(), audit: Audit | None = None) -> None:
        """`audit`: of all methods."""
        self.limits, self._timers, self._audit = limits, Timers(), audit or Audit()
        #: Of certificates that TLS lets in and we do not; without TLS there is none.
        self.revoked: Revoked | None = None
        self._clients: dict[Hashable, _Client] = {}
        self._lists: dict[Context, Call] = {}
        self._lasting = Counter[str]()  # by host
        #: Clients that asked often of late, and when; who did so last is the last.
        self._busy: dict[_Client, float] = {}
        self._lock = Lock()

    def method(self, described: MethodDescriptor, method: Callable[..., Any]) -> calls.Method:
        """One for those who may call it: of requests, or of the only one, and the call. It gives
        messages, or their bytes; errors are told as control.proto describes."""
        name = name_of(described)
        read = self._paced if described.client_streaming else self._only
        taken = partial(self._taken, name, GetMessageClass(described.input_type))

        def run(requests: Iterable[bytes], context: Context) -> Generator[bytes, None, None]:
            call = self._begin(name, described)
            try:
                with self._call(name, call, context) as client, self._working(name, client):
                    asked = read(taken, requests, call, client)
                    # to its end: an answer may be large, and nobody reads it
                    with _gate(name, client):
                        if described.server_streaming:
                            yield from map(_bytes, call.answers(method(asked, context)))
                        else:
                            reply = method(asked, context)
                            yield _bytes(call.answered(reply, context.note))
            except Exception as error:
                raise self._failed(error, call) from None
            finally:
                call.over()

        return self._method(described, run, None)

    def ordered(
        self, described: MethodDescriptor, begin: Callable[[Context], _Begin]
    ) -> calls.Method:
        """One whose requests are made in their order."""
        kind = GetMessageClass(described.input_type)
        return self._method(described, None, partial(_Requests, self, described, kind, begin))

    def _method(self, described: MethodDescriptor, run: Any, ordered: Any) -> calls.Method:
        needed = NEEDED.get(name_of(described), "admin")
        longest = LONGEST if described.name in LARGE else SMALL if needed else SHORT

        def admits(caller: Caller) -> bool:
            return not needed or _may(caller.role, needed)

        return calls.Method(run, ordered, not described.client_streaming, longest, admits)

    def _begin(self, name: str, described: MethodDescriptor) -> Call:
        return Call(self._audit, name, described, NEEDED.get(name, "admin") in _CHANGING)

    def _failed(self, error: Exception, call: Call) -> Failed | Gone:
        """What ends a call. Those of a client one after the other, so that who is refused all the
        time has no more than a turn."""
        if isinstance(error, Failed | Gone):
            call.over()
            return bare(error)
        away = error if isinstance(error, _TurnedAway) else None
        wait, whose = (away.wait, away.whose) if away else (0.0, call.caller.whose)
        with self._known(whose).refusing:
            failed = failure_of(error)
            call.refused(failed)
            first = next(f for f in failed.findings if f.code)
            code, said = status_code(first.code), f"{first.code}: {first.title}"
            return Failed(code, said, trailer(failed, code, said), wait)

    @contextmanager
    def _call(self, name: str, call: Call, context: Context) -> Iterator[_Client]:
        client = self._let_in(name, call, context.caller)
        ends = name in _TIMED or name in _LOOKING
        timer = self._timers.after(self.limits.seconds, context.cancel) if ends else None
        try:
            with self._listing(context, call) if name in LISTING else nullcontext():
                yield client
        except Exception as error:
            self._charge_for(client, error)
            raise
        finally:
            if timer is not None:
                timer.stop()
            self._leave(name, context.caller, client)

    def _let_in(self, name: str, call: Call, caller: Caller) -> _Client:
        """Then comes `_leave`. Raises `_TurnedAway`."""
        call.by(caller)
        known = False
        try:
            self._need_let_in(name, caller)
            known = True
            return self._enter(caller, int(name in _TIMED), int(name in _LASTING))
        except Refused as error:
            whose = caller.whose if known else caller.itself
            raise _TurnedAway(error, whose, self._turned_away(whose)) from None

    def _need_let_in(self, name: str, caller: Caller) -> None:
        """Raises `Refused` where its certificate does not allow the call."""
        needed = NEEDED.get(name, "admin")
        if caller.ends <= time.time():
            raise refused(faults.certificate_ended(name))
        if self.revoked is not None and caller.fingerprint:
            self.revoked.need_valid(caller.fingerprint, name)
        if needed and not _may(caller.role, needed):
            raise refused(faults.not_allowed(name, caller.role or "", needed))

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
        wanted = len(going) - LISTINGS
        stalled = [each for each in going if each[0].stalled() > _STALLED]
        stalled.sort(key=lambda each: -each[0].stalled())
        for context, call in stalled[: max(0, wanted)]:
            title = f"nothing of this list was read for {_STALLED:g} s, and others wait"
            ended = self._failed(refused(faults.too_much(title, "read it as it comes")), call)
            if isinstance(ended, Failed):
                context.fail(ended)
        if wanted > len(stalled):
            self._timers.after(1.0, self._end_stalled)

    def clients(self) -> int:
        """How many have a call going, or called in the last minute."""
        now = time.monotonic()
        with self._lock:
            return sum(c.calls > 0 or now - c.filled < _RECENT for c in self._clients.values())

    def _enter(self, caller: Caller, timed: int, lasting: int) -> _Client:
        limits, whose = self.limits, caller.whose
        with self._lock:
            client = self._client(whose)
            if client.calls >= limits.calls or client.lasting + lasting > limits.lasting:
                title = f"this client has {client.calls} calls at a time already"
                raise refused(faults.too_much(title, "end some, or send requests on one stream"))
            if client.timed + timed > limits.timed:
                title = f"this client has {client.timed} lists and bulk requests at a time already"
                raise refused(faults.too_much(title, "read one to its end, then ask for the next"))
            if lasting:
                self._count_lasting(_share_of(caller))
            client.calls += 1
            client.timed += timed
            client.lasting += lasting
        return client

    def _count_lasting(self, host: str) -> None:
        """Called with the lock held."""
        limits, count = self.limits, self._lasting.total()
        if count >= limits.all_lasting:
            title = f"the agent has {count} streams and watches already"
            raise refused(faults.too_much(title, "try again later"))
        if self._lasting[host] >= limits.host_lasting:
            title = f"this host has {self._lasting[host]} streams and watches already"
            raise refused(faults.too_much(title, "end some: its other calls need threads, too"))
        self._lasting[host] += 1

    def _known(self, who: Hashable) -> _Client:
        with self._lock:
            return self._client(who)

    def _client(self, who: Hashable) -> _Client:
        """Called with the lock held."""
        client = self._clients.get(who)
        if client is None:
            if len(self._clients) >= _KNOWN:
                self._forget()
            client = self._clients[who] = _Client(tokens=self.limits.rate)
        return client

    def _forget(self) -> None:
        """Clients of which nothing was heard for long. The lock is had."""
        now = time.monotonic()
        self._clients = {
            who: each for who, each in self._clients.items()
            if each.calls or now - each.filled < _RECENT
        }  # fmt: skip

    def _leave(self, name: str, caller: Caller, client: _Client) -> None:
        with self._lock:
            client.calls -= 1
            client.timed -= name in _TIMED
            if name in _LASTING:
                client.lasting -= 1
                host = _share_of(caller)
                self._lasting[host] -= 1
                if not self._lasting[host]:
                    del self._lasting[host]

    # ---- rates ------------------------------------------------------------------------------

    def _paced(
        self, taken: _Taken, requests: Iterable[bytes], call: Call, client: _Client
    ) -> Iterator[Message]:
        for request in requests:
            yield taken(request, call, client)

    def _only(
        self, taken: _Taken, requests: Iterable[bytes], call: Call, client: _Client
    ) -> Message:
        for request in requests:
            return taken(request, call, client)
        raise refused(_no_request())

    def _taken(
        self, name: str, kind: type[Message], request: bytes, call: Call, client: _Client
    ) -> Message:
        """A request as it came in, once the client may have it carried out."""
        if wait := self._cost(name, client, len(request)):
            time.sleep(wait)
        return _parsed(name, kind, request, call)

    def _cost(self, name: str, client: _Client, size: int) -> float:
        """Seconds that a request of so many bytes has to wait."""
        base, unit, counts = _price(name)
        return self._take(client, base + size / unit, counts)

    def _charge_for(self, client: _Client, error: Exception) -> None:
        """What is wrong took long to find and to say: it counts for the requests that follow."""
        if isinstance(error, Refused):
            self._owe(client, len(error.diagnostics))

    def _owe(self, client: _Client, findings: int) -> None:
        rate = self.limits.rate
        self._charge(client, _DEAR * findings, rate / SHARED, rate)

    @contextmanager
    def _working(self, name: str, client: _Client) -> Iterator[None]:
        """What takes longer than was paid for counts for the requests that follow."""
        rate, begun = self.limits.rate, time.thread_time()
        try:
            yield
        finally:
            took = (time.thread_time() - begun) * rate - _COSTS.get(name, 1.0)
            self._charge(client, max(0.0, took), rate, rate)

    def _turned_away(self, whose: Hashable) -> float:
        """Seconds that it has to wait for that. It asks often, but is busy with nothing."""
        rate = self.limits.rate
        return self._charge(self._known(whose), _DEAR, rate, rate)

    def _take(self, client: _Client, cost: float = 1.0, counts: bool = True) -> float:
        """One request more of this client: how many seconds it has to wait. `counts`: for others'
        shares."""
        now, rate, others = time.monotonic(), self.limits.rate, 0
        most, busy = rate, self._busy
        with self._lock:
            if counts:
                client.asked.append(now)
                if len(client.asked) == OFTEN and now - client.asked[0] < _LATELY:
                    busy.pop(client, None)
                    busy[client] = now
            if len(busy) > (client in busy):
                others = self._beside(client, now)
        if others:
            rate /= min(SHARED, others + 1)
            most = rate * AT_ONCE
        return self._charge(client, cost, rate, most, now)

    def _charge(
        self, client: _Client, cost: float, rate: float, most: float, now: float = 0.0
    ) -> float:
        """The same, with so many tokens a second, and `most` at once."""
        now = now or time.monotonic()
        tokens = client.tokens + (now - client.filled) * rate
        client.tokens = tokens = (most if tokens > most else tokens) - cost
        client.filled = now
        if tokens >= 0:
            return 0.0
        client.tokens = tokens = max(tokens, -rate)  # nobody is in debt for long
        return min(1.0, -tokens / rate)

    def _beside(self, client: _Client, now: float) -> int:
        """How many other clients have asked often of late; called with the lock held."""
        busy = self._busy
        while busy:
            first = next(iter(busy))
            if now - busy[first] < _LATELY:
                break
            del busy[first]
        return len(busy) - (client in busy)


class _TurnedAway(Refused):
    """At the door; it is told after `wait` seconds. `whose`: who was charged for it."""

    def __init__(self, why: Refused, whose: Hashable, wait: float) -> None:
        super().__init__(why.diagnostics)
        self.whose, self.wait = whose, wait


class _Requests:
    """A call whose requests are made in their order (front/calls.py, `Ordered`)."""

    over = _asked = False

    def __init__(
        self, guard: Guard, described: MethodDescriptor, kind: type[Message],
        begin: Callable[[Context], _Begin], context: Context,
    ) -> None:  # fmt: skip
        self._guard, self._name, self._kind = guard, name_of(described), kind
        self._unsaid: list[Begun] = []
        self._call, self._caller = guard._begin(self._name, described), context.caller
        self._price, self._unit, self._counts = _price(self._name)
        self._single = not described.client_streaming
        try:
            self._client = guard._let_in(self._name, self._call, self._caller)
        except Exception as error:
            raise guard._failed(error, self._call) from None
        self._begin = begin(context)  # of a service, which asks for nothing yet

    def cost(self, request: bytes) -> float:
        price = self._price + len(request) / self._unit
        return self._guard._take(self._client, price, self._counts)

    def begin(self, request: bytes) -> Callable[[], bytes | Failed | Gone]:
        self._asked = True
        try:
            message = _parsed(self._name, self._kind, request, self._call)
            begun = self._begin(message)
            # Made before it is waited for: the disk has work meanwhile.
            return partial(self._finish, begun, _bytes(begun.reply))
        except Exception as error:
            self.over = True
            return partial(self._refuse, _kept(error))  # when those before it are answered

    def _finish(self, begun: Begun, data: bytes) -> bytes | Failed | Gone:
        try:
            if begun.wait is not None and (instead := begun.wait()) is not None:
                begun, data = instead, _bytes(instead.reply)
            if begun.findings:
                self._guard._owe(self._client, begun.findings)
            self._unsaid.append(begun)
            return data
        except Exception as error:
            return self._refuse(error)

    def settle(self) -> None:
        """What was answered comes on record."""
        unsaid, self._unsaid = self._unsaid, []
        for begun in unsaid:
            self._call.answered(begun.reply, begun.outcome)
            if begun.settle is not None:
                begun.settle()

    def _refuse(self, error: Exception) -> Failed | Gone:
        self.settle()
        self._guard._charge_for(self._client, error)
        return self._guard._failed(error, self._call)

    def close(self) -> None:
        self.settle()
        self._guard._leave(self._name, self._caller, self._client)
        if self._single and not self._asked:
            raise self._guard._failed(refused(_no_request()), self._call)
        self._call.over()


@cache
def _price(name: str) -> tuple[float, int, bool]:
    """What one of its requests costs; how many bytes cost one more; and whether it counts for
    others' shares."""
    unit = _TEXT if name in REQUESTS else _BYTES
    return _COSTS.get(name, 1.0), unit, NEEDED.get(name, "admin") is not None


@cache
def name_of(described: MethodDescriptor) -> str:
    """That of a method of ours; of another's with its service's in front."""
    ours = METHODS.get(described.name) is described
    return described.name if ours else f"{described.containing_service.name}.{described.name}"


def _share_of(caller: Caller) -> str:
    """Whose streams and watches count together: of those without a role all."""
    return caller.place if caller.known else ""


@cache
def _may(role: Role | None, needed: Role) -> bool:
    return role is not None and ROLES.index(role) >= ROLES.index(needed)


def need_client(context: Context) -> None:
    """Raises `Refused` where the call has ended."""
    if not context.is_active():
        raise refused(faults.given_up())


def failure_of(error: Exception) -> pb.Failure:
    """What is told of an error."""
    revision = error.revision if isinstance(error, RevisionConflict) else 0
    return failure(diagnosed(error, "heliod"), revision)


def _kept(error: Exception) -> Exception:
    """What is to be told of it later, without its frames."""
    if not isinstance(error, Refused | Failed | Gone):
        return Refused(diagnosed(error, "heliod"))
    return bare(error)


def _parsed(name: str, kind: type[Message], request: bytes, call: Call) -> Message:
    """Raises `Refused`."""
    if name in REQUESTS and len(request) > REQUEST:
        call.asked(kind(), len(request))
        title = f"the request has more than {REQUEST >> 20} MiB"
        raise refused(faults.too_much(title, "split it, or send packed columns (BulkApply)"))
    try:
        message = kind.FromString(request)
    except DecodeError:
        title = f"what was sent for {name} is no {kind.DESCRIPTOR.full_name}"
        raise refused(faults.bad_message(title, "is it made from this control.proto?")) from None
    call.asked(message, len(request))
    if len(request) > _NAME:  # else nothing in it is longer
        _need_short(message.begin if isinstance(message, pb.BulkPart) else message)
    return message


def _need_short(message: Message) -> None:
    """Raises `Refused` where a name is too long."""
    for name, most in _names(message.DESCRIPTOR):
        if (size := len(getattr(message, name).encode())) > most:
            title = f"`{name}` has {size:,} bytes"
            raise refused(faults.bad_message(title, f"at most {most:,} bytes of UTF-8"))


@cache
def _names(described: Descriptor) -> list[tuple[str, int]]:
    """A message's fields that name something, and the bytes that each may have."""
    texts = [f.name for f in described.fields if f.type == f.TYPE_STRING and not f.is_repeated]
    named = [each for each in texts if each not in _CONTENTS]
    return [
        (each, _CALLED if {each, f"{described.name}.{each}"} & {*_CALLS} else _NAME)
        for each in named
    ]


def _no_request() -> Diagnostic:
    return faults.bad_message("the call ended without a request", "send one message")


def _bytes(message: Any) -> bytes:
    made: bytes = message if type(message) is bytes else message.SerializeToString()
    return made
