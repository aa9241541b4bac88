"""The host around a running pipeline (ports, addresses, neighbours), and outcomes of packets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

from ..rules.rules import Rule
from ..trace.steps import Step

Fate = Literal["pass", "drop", "redirect", "tx"]


@dataclass(frozen=True)
class Port:
    """A port instance. `mtu` in bytes of the network layer; `mac` 6 bytes; `address` IPv4 and
    `address6` IPv6 (0: none); `vlan` the tag that frames leave with (0: untagged)."""

    number: int
    name: str
    role: str
    ifindex: int
    mtu: int
    mac: bytes
    address: int = 0
    vlan: int = 0
    address6: int = 0

    @property
    def tag(self) -> bytes:
        """What stands between the MAC addresses and the type of frames that leave by it."""
        return b"\x81\x00" + self.vlan.to_bytes(2, "big") if self.vlan else b""


@dataclass(frozen=True)
class Limit:
    """How many ICMP errors there may be: `rate` a second in the long run, `burst` at once."""

    rate: int
    burst: int

    @property
    def interval(self) -> int:
        """Nanoseconds from one to the next."""
        return 1_000_000_000 // self.rate


@dataclass(frozen=True)
class Environment:
    """`local`: the host's IPv4 addresses and their directed broadcast addresses. `neighbours`: MAC
    address by port number and IPv4 address. `local6`, `neighbours6`: the same of IPv6. `default`:
    in place of the pipeline's, if given. `icmp`: of the errors it sends; None: no limit."""

    ports: tuple[Port, ...]
    local: frozenset[int] = frozenset()
    neighbours: Mapping[tuple[int, int], bytes] = field(default_factory=dict)
    default: Literal["pass", "drop"] | None = None
    local6: frozenset[int] = frozenset()
    neighbours6: Mapping[tuple[int, int], bytes] = field(default_factory=dict)
    icmp: Limit | None = None

    def port(self, number: int) -> Port | None:
        return next((p for p in self.ports if p.number == number), None)

    def named(self, name: str) -> Port | None:
        return next((p for p in self.ports if p.name == name), None)

    def is_local(self, address: int, kind: str = "ip4") -> bool:
        if kind == "ip6":
            return is_group(kind, address) or address in self.local6
        return is_multicast(address) or is_broadcast(address) or address in self.local

    def neighbour(self, port: int, address: int, kind: str) -> bytes | None:
        """The MAC address of a neighbour, if it is known."""
        known = self.neighbours6 if kind == "ip6" else self.neighbours
        return known.get((port, address))


def is_multicast(address: int) -> bool:
    """224.0.0.0/4 (RFC 1112)."""
    return address >> 28 == 0xE


def is_group(kind: str, address: int) -> bool:
    """Whether a MAC, IPv4 or IPv6 address is that of a group."""
    if kind == "mac":
        return bool(address >> 40 & 1)
    return is_multicast(address) if kind == "ip4" else address >> 120 == 0xFF


def is_broadcast(address: int) -> bool:
    """255.255.255.255 (RFC 919)."""
    return address == 0xFFFFFFFF


_Entry = tuple[tuple[int, ...], float]  # what it holds, and when it was remembered


class States:
    """What packets left behind: entries of the state tables by key, and how far ICMP errors are
    ahead of their limit. `now` is the clock, in seconds. Here nothing gives way to new entries:
    when a table is full is the kernel's to know."""

    def __init__(self) -> None:
        self.now = 0.0
        self._due = 0  # ns: when the next ICMP error would come if all came evenly
        self._entries: dict[str, dict[tuple[int, ...], _Entry]] = {}
        self._before: list[tuple[str, tuple[int, ...], _Entry | None]] = []
        self._due_before = 0

    def begin(self) -> None:
        """A packet begins: `undo` leads back here."""
        self._before.clear()
        self._due_before = self._due

    def undo(self) -> None:
        """Nothing that the packet did is left."""
        self._due = self._due_before
        for state, key, entry in reversed(self._before):
            if entry is None:
                del self._entries[state][key]
            else:
                self._entries[state][key] = entry

    def remember(self, state: str, key: tuple[int, ...], values: tuple[int, ...]) -> None:
        entries = self._entries.setdefault(state, {})
        self._before.append((state, key, entries.get(key)))
        entries[key] = values, self.now

    def recall(self, state: str, key: tuple[int, ...], ages: int) -> tuple[int, ...] | None:
        """What the entry of that key holds, if it is not older than `ages` seconds (0: any)."""
        values, seen = self._entries.get(state, {}).get(key, (None, 0.0))
        return None if ages and self.now - seen > ages else values

    def may_answer(self, limit: Limit) -> bool:
        """Whether another ICMP error may be sent now; if so it counts as sent."""
        now = int(self.now * 1_000_000_000)
        due = max(self._due, now)
        if due - now > (limit.burst - 1) * limit.interval:
            return False
        self._due = due + limit.interval
        return True


class Rules(Protocol):
    """What the interpreter asks of a rule store."""

    def rules(self, kind: str) -> Iterable[Rule]:
        """The live rules of a kind."""


@dataclass(frozen=True)
class Outcome:
    """What became of a frame. `frame`: as handed to the kernel or sent; None if dropped.
    `egress`: number of the port it leaves by, if it does. `events`: (group, reason) as
    docs/semantics.md names them; `counted`: (kind, sequence) of the rules that were counted;
    `parsed`: (node, offset); `queue`: the receive queue that a packet which passes was given. A
    backend that does not know them leaves `parsed` and `trace` empty."""

    verdict: Fate
    frame: bytes | None
    egress: int | None = None
    events: tuple[tuple[str, str], ...] = ()
    counted: tuple[tuple[str, int], ...] = ()
    parsed: tuple[tuple[str, int], ...] = ()
    trace: tuple[Step, ...] = ()
    queue: int | None = None
