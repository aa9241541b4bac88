"""The host around a running pipeline (ports, addresses, neighbours), and outcomes of packets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, Protocol

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
    in place of the pipeline's, if given. `icmp`: of the errors it sends; None: no limit.
    `limits_events`: those of events hold from packet to packet, and not within each alone."""

    ports: tuple[Port, ...]
    local: frozenset[int] = frozenset()
    neighbours: Mapping[tuple[int, int], bytes] = field(default_factory=dict)
    default: Literal["pass", "drop"] | None = None
    local6: frozenset[int] = frozenset()
    neighbours6: Mapping[tuple[int, int], bytes] = field(default_factory=dict)
    icmp: Limit | None = None
    limits_events: bool = False

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


class Rules(Protocol):
    """What the interpreter asks of a rule store."""

    def rules(self, kind: str) -> Iterable[Rule]:
        """The live rules of a kind."""


class Emitted(NamedTuple):
    """An event that a packet raised, and the values of its fields in the order declared; of a
    rule: `world.emitted.identity`."""

    event: str
    values: tuple[int, ...]


@dataclass(frozen=True)
class Outcome:
    """What became of a frame. `frame`: as handed to the kernel or sent; None if dropped.
    `egress`: number of the port it leaves by, if it does. `events`: (group, reason) as
    docs/semantics.md names them; `counted`: (kind, sequence) of the rules that were counted;
    `parsed`: (node, offset); `queue`: the receive queue that a packet which passes was given;
    `emitted`: the events that it raised, in order; `copies`: of the packet, which port each left by
    and its frame, in order. A
    backend that does not know them leaves `parsed` and `trace` empty."""

    verdict: Fate
    frame: bytes | None
    egress: int | None = None
    events: tuple[tuple[str, str], ...] = ()
    counted: tuple[tuple[str, int], ...] = ()
    parsed: tuple[tuple[str, int], ...] = ()
    trace: tuple[Step, ...] = ()
    queue: int | None = None
    emitted: tuple[Emitted, ...] = ()
    copies: tuple[tuple[int, bytes], ...] = ()
