"""Limits what one source address may use of the agent: connections, handshakes, failures.

A source is an IPv4 address, or an IPv6 /64: who has one address of a /64 has all of them (RFC 4291
section 2.5.4). What is over a limit is refused before any cryptography is done for it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from ipaddress import IPv6Address, ip_address
from threading import RLock
from typing import Protocol


@dataclass(frozen=True)
class Bounds:
    """`connections` of one source, and of `all_connections`; `handshakes` of one source at a time,
    and of `all_handshakes`. `rate`: connections a second of one source, `burst` at once. A source
    with more than `refusals` a second beyond that, `refusals_burst` at once, is barred for
    `barred` seconds. `failures`: handshakes of a source that may fail in `forget` seconds; then it
    has to wait. `tokens`: a second of one source for its frames (frames.py), `tokens_burst` at
    once."""

    connections: int = 64
    all_connections: int = 1000
    handshakes: int = 16
    all_handshakes: int = 128
    rate: float = 50.0
    burst: float = 100.0
    refusals: float = 100.0
    refusals_burst: float = 1000.0
    barred: float = 1.0
    failures: float = 20.0
    forget: float = 60.0
    tokens: float = 4000.0
    tokens_burst: float = 500.0


@dataclass
class Bucket:
    """Holds `most` tokens, and gets `rate` a second."""

    most: float
    rate: float
    tokens: float
    filled: float

    def take(self, now: float) -> bool:
        self.fill(now)
        if self.tokens < 1:
            return False
        self.tokens -= 1
        return True

    def fill(self, now: float) -> None:
        self.tokens = min(self.most, self.tokens + (now - self.filled) * self.rate)
        self.filled = now


class Handshake(Protocol):
    """A handshake."""

    def end(self, why: str, surplus: bool = False) -> None: ...


@dataclass
class _Source:
    opened: Bucket
    refusals: Bucket
    failures: Bucket
    frames: Bucket
    connections: int = 0
    handshakes: dict[Handshake, float] = field(default_factory=dict)  # since when; oldest first

    def counts(self, now: float) -> bool:
        """Whether a new one in its place would be let in where this one is not."""
        self.failures.fill(now)
        return self.connections > 0 or self.failures.tokens < self.failures.most


class Sources:
    """The connections that there are, by source. `now` is in seconds of any clock that only goes
    forward. May be used by any thread."""

    def __init__(self, bounds: Bounds = Bounds()) -> None:
        self.bounds = bounds
        self._sources: dict[str, _Source] = {}
        self._barred: dict[str, float] = {}  # until when
        self._connections = self._handshakes = 0
        self._lock = RLock()

    def open(self, host: str, handshake: Handshake, now: float) -> str:
        """A connection came; its handshake begins. Returns why it is refused, or nothing."""
        with self._lock:
            bounds, source = self.bounds, self._of(host, now)
            if not source.opened.take(now):
                if not source.refusals.take(now):
                    self._bar(host, now)
                return f"more than {bounds.rate:g} connections a second"
            source.failures.fill(now)
            if source.failures.tokens < 1:
                return f"{bounds.failures:g} handshakes failed in {bounds.forget:g} s"
            if source.connections >= bounds.connections:
                return f"more than {bounds.connections} connections"
            if len(source.handshakes) >= bounds.handshakes:
                return f"more than {bounds.handshakes} handshakes at a time"
            if self.full:
                return f"all {bounds.all_connections} connections are taken"
            source.connections += 1
            source.handshakes[handshake] = now
            self._connections += 1
            self._handshakes += 1
            return ""

    @property
    def full(self) -> bool:
        """Nobody gets another connection."""
        return self._connections >= self.bounds.all_connections

    def barred(self, now: float) -> list[str]:
        """Sources of which nothing is taken now."""
        with self._lock:
            self._barred = {name: until for name, until in self._barred.items() if until > now}
            return list(self._barred)

    def _bar(self, host: str, now: float) -> None:
        self._barred[source_of(host)] = now + self.bounds.barred

    def surplus(self) -> Handshake | None:
        """The handshake to end where there are too many: the oldest of the source that has most; of
        several such sources the oldest of all. So one that comes from elsewhere always gets its
        turn."""
        with self._lock:
            if self._handshakes <= self.bounds.all_handshakes:
                return None
            pending = [each.handshakes for each in self._sources.values() if each.handshakes]
            most = max(pending, key=lambda each: (len(each), -next(iter(each.values()))))
            return next(iter(most))

    def shaken(
        self, host: str, handshake: Handshake, now: float, failed: bool, surplus: bool = False
    ) -> None:
        """A handshake is over. What failed is no connection any more; what was a `surplus` did not
        fail for its source."""
        with self._lock:
            source = self._of(host, now)
            del source.handshakes[handshake]
            self._handshakes -= 1
            if failed:
                self.close(host, now)
            if failed and not surplus:
                source.failures.take(now)

    def tokens(self, host: str, now: float) -> Bucket:
        """Of all its connections together."""
        with self._lock:
            return self._of(host, now).frames

    def close(self, host: str, now: float) -> None:
        """A connection is gone."""
        with self._lock:
            self._of(host, now).connections -= 1
            self._connections -= 1

    def _of(self, host: str, now: float) -> _Source:
        name, bounds = source_of(host), self.bounds
        if (found := self._sources.get(name)) is None:
            self._forget(now)
            found = self._sources[name] = _Source(
                Bucket(bounds.burst, bounds.rate, bounds.burst, now),
                Bucket(bounds.refusals_burst, bounds.refusals, bounds.refusals_burst, now),
                Bucket(bounds.failures, bounds.failures / bounds.forget, bounds.failures, now),
                Bucket(bounds.tokens_burst, bounds.tokens, bounds.tokens_burst, now),
            )
        return found

    def _forget(self, now: float) -> None:
        """Drop sources once there are many: those without a record first, then failures."""
        most = 4 * self.bounds.all_connections
        if len(self._sources) >= most:
            kept = {name: each for name, each in self._sources.items() if each.counts(now)}
            if len(kept) >= most // 2:
                kept = {name: each for name, each in kept.items() if each.connections}
            self._sources = kept


@lru_cache(4096)
def source_of(host: str) -> str:
    """`192.0.2.1`, `2001:db8:1:2::/64`; of an IPv4 address in IPv6 (RFC 4291 section 2.5.5.2) the
    IPv4 address."""
    address = ip_address(host.partition("%")[0])
    if not isinstance(address, IPv6Address):
        return str(address)
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return f"{IPv6Address(int(address) >> 64 << 64)}/64"
