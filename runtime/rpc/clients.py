"""How many calls a client has at a time, and how many requests a second."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Lock, Semaphore

from ...lang.text.diagnostics import Refused
from ..base import agent_errors as faults
from ..base.errors import refused
from .access import COSTS, DEAR, LASTING, TIMED, price
from .callers import Caller

#: Clients that ask often share the rate equally, but each has this part of it at least; and so much
#: of its second may come at once then. Often is OFTEN requests in _LATELY seconds, other than for
#: the agent's health: who only looks on slows nobody.
SHARED, AT_ONCE = 10.0, 0.01
OFTEN, _LATELY = 20, 1.0
#: Seconds after which a client is forgotten, where _KNOWN are known.
_RECENT, _KNOWN = 60.0, 1000


@dataclass(frozen=True)
class Limits:
    """`calls` of one client at a time, `timed` of them see `TIMED` (fewer than the reader has
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
class Client:
    calls: int = 0
    timed: int = 0
    lasting: int = 0
    tokens: float = 0.0
    filled: float = field(default_factory=lambda: time.monotonic())
    asked: deque[float] = field(default_factory=lambda: deque(maxlen=OFTEN))  # when, lately
    looking: Semaphore = field(default_factory=lambda: Semaphore(2))
    holding: Semaphore = field(default_factory=lambda: Semaphore(2))
    refusing: Lock = field(default_factory=Lock)


class Clients:
    """Those that have a call going, or had one of late, and what each has of the agent."""

    def __init__(self, limits: Limits = Limits()) -> None:
        self.limits = limits
        self._clients: dict[Hashable, Client] = {}
        self._lasting = Counter[str]()  # by host
        #: Clients that asked often of late, and when; who did so last is the last.
        self._busy: dict[Client, float] = {}
        self._lock = Lock()

    def clients(self) -> int:
        """How many have a call going, or called in the last minute."""
        now = time.monotonic()
        with self._lock:
            return sum(c.calls > 0 or now - c.filled < _RECENT for c in self._clients.values())

    def _enter(self, caller: Caller, timed: int, lasting: int) -> Client:
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
                self._count_lasting(share_of(caller))
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

    def _known(self, who: Hashable) -> Client:
        with self._lock:
            return self._client(who)

    def _client(self, who: Hashable) -> Client:
        """Called with the lock held."""
        client = self._clients.get(who)
        if client is None:
            if len(self._clients) >= _KNOWN:
                self._forget()
            client = self._clients[who] = Client(tokens=self.limits.rate)
        return client

    def _forget(self) -> None:
        """Clients of which nothing was heard for long. The lock is had."""
        now = time.monotonic()
        self._clients = {
            who: each for who, each in self._clients.items()
            if each.calls or now - each.filled < _RECENT
        }  # fmt: skip

    def leave(self, name: str, caller: Caller, client: Client) -> None:
        with self._lock:
            client.calls -= 1
            client.timed -= name in TIMED
            if name in LASTING:
                client.lasting -= 1
                host = share_of(caller)
                self._lasting[host] -= 1
                if not self._lasting[host]:
                    del self._lasting[host]

    # ---- rates ------------------------------------------------------------------------------

    def _cost(self, name: str, client: Client, size: int) -> float:
        """Seconds that a request of `size` bytes has to wait."""
        base, unit, counts = price(name)
        return self.take(client, base + size / unit, counts)

    def charge_for(self, client: Client, error: Exception) -> None:
        """What is wrong took long to find and to say: it counts for the requests that follow."""
        if isinstance(error, Refused):
            self.owe(client, len(error.diagnostics))

    def owe(self, client: Client, findings: int) -> None:
        rate = self.limits.rate
        self._charge(client, DEAR * findings, rate / SHARED, rate)

    @contextmanager
    def _working(self, name: str, client: Client) -> Iterator[None]:
        """What takes longer than was paid for counts for the requests that follow."""
        rate, begun = self.limits.rate, time.thread_time()
        try:
            yield
        finally:
            took = (time.thread_time() - begun) * rate - COSTS.get(name, 1.0)
            self._charge(client, max(0.0, took), rate, rate)

    def _turned_away(self, whose: Hashable) -> float:
        """Seconds that it has to wait for that. It asks often, but is busy with nothing."""
        rate = self.limits.rate
        return self._charge(self._known(whose), DEAR, rate, rate)

    def take(self, client: Client, cost: float = 1.0, counts: bool = True) -> float:
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
        self, client: Client, cost: float, rate: float, most: float, now: float = 0.0
    ) -> float:
        """The same, with `rate` tokens a second, and `most` at once."""
        now = now or time.monotonic()
        tokens = client.tokens + (now - client.filled) * rate
        client.tokens = tokens = (most if tokens > most else tokens) - cost
        client.filled = now
        if tokens >= 0:
            return 0.0
        client.tokens = tokens = max(tokens, -rate)  # nobody is in debt for long
        return min(1.0, -tokens / rate)

    def _beside(self, client: Client, now: float) -> int:
        """How many other clients have asked often of late; called with the lock held."""
        busy = self._busy
        while busy:
            first = next(iter(busy))
            if now - busy[first] < _LATELY:
                break
            del busy[first]
        return len(busy) - (client in busy)


def share_of(caller: Caller) -> str:
    """Whose streams and watches count together: of those without a role all."""
    return caller.place if caller.known else ""
