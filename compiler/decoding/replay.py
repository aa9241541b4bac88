"""A capture's packets through a whole pipeline, on the reference interpreter, which lives by the
capture's own clock."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from ipaddress import IPv4Address, IPv6Address

from ..captures.faults import link_name
from ..captures.packets import ETHERNET, Captured
from ..interpret import Interpreter
from ..interpreter.environment import Environment, Outcome, Port
from ..model import Pipeline
from ..requests.rulebook import RuleBook
from ..tracing.steps import Trace
from ..tracing.text import TraceText


class EveryNeighbour(Mapping[tuple[int, int], bytes]):
    """A MAC address for every next hop: 02:00 and the last four octets of its address."""

    def __getitem__(self, key: tuple[int, int]) -> bytes:
        return b"\x02\x00" + (key[1] & 0xFFFFFFFF).to_bytes(4, "big")

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return iter(())

    def __len__(self) -> int:
        return 0


#: The IPv4 dummy address (RFC 7600), which is no host's.
DUMMY = int(IPv4Address("192.0.0.8"))
DUMMY6 = int(IPv6Address("2001:db8::"))


def with_addresses(port: Port) -> Port:
    """The port, with addresses to answer from where it has none: 192.0.0.8 and 2001:db8::N, N its
    number. No packet is taken to be for them."""
    address6 = port.address6 or DUMMY6 | port.number
    return replace(port, address=port.address or DUMMY, address6=address6)


def surroundings(said: Environment, neighbours: bool) -> Environment:
    """What was said, and what has to be assumed beside it: addresses of ports, and unless
    `neighbours` says which are known, all next hops."""
    assumed = replace(said, ports=tuple(with_addresses(port) for port in said.ports))
    if neighbours:
        return assumed
    return replace(assumed, neighbours=EveryNeighbour(), neighbours6=EveryNeighbour())


@dataclass(frozen=True)
class Replayed:
    """What became of a packet. `outcome` is None of one that is no Ethernet frame."""

    packet: Captured
    port: Port
    outcome: Outcome | None
    egress: str
    counted: tuple[str, ...]

    @property
    def verdict(self) -> str:
        return self.outcome.verdict if self.outcome else "foreign"

    @property
    def frame(self) -> bytes | None:
        """The packet as it leaves, or is handed to the kernel."""
        return self.outcome.frame if self.outcome and self.verdict != "drop" else None

    @property
    def events(self) -> list[str]:
        """What was counted of it, but for the verdict."""
        if self.outcome is None:
            return [link_name(self.packet.link)]
        return [f"{group}: {what}" for group, what in self.outcome.events if group != "verdict"]

    @property
    def trace(self) -> Trace | None:
        """Its way, step by step; None of one that is no Ethernet frame."""
        if self.outcome is None:
            return None
        o, length = self.outcome, len(self.packet.octets)
        return Trace(self.port.number, length, o.parsed, o.trace, o.verdict, o.egress)

    def to_json(self) -> str:
        """On one line."""
        return json.dumps(
            {
                "number": self.packet.number,
                "port": self.port.name,
                "verdict": self.verdict,
                "egress": self.egress or None,
                "queue": self.outcome.queue if self.outcome else None,
                "events": self.events,
                "counted": list(self.counted),
                "packet": self.frame.hex() if self.frame is not None else None,
            }
        )

    def to_text(self) -> str:
        """For people: a line, and the packet's octets where they are others than they were."""
        by = f" by {self.egress}" if self.egress else ""
        if self.outcome and self.outcome.queue is not None:
            by = f" to queue {self.outcome.queue}"
        told = "".join(f"; {event}" for event in self.events)
        counted = f"; counted {', '.join(self.counted)}" if self.counted else ""
        first = (
            f"packet {self.packet.number} on {self.port.name}: {self.verdict}{by}{told}{counted}"
        )
        if self.frame is None or self.frame == self.packet.octets:
            return first
        return f"{first}\n  {self.frame.hex()}"


class Replay:
    """One pipeline under rules. Packets come by `port`, unless the capture names the interface of
    another: `interfaces` are ports by those names."""

    def __init__(
        self,
        pipeline: Pipeline,
        environment: Environment,
        book: RuleBook,
        port: Port,
        interfaces: Mapping[str, Port],
    ) -> None:
        self._interpreter = Interpreter(pipeline, environment)
        self._environment, self._book = environment, book
        self._port, self._interfaces = port, interfaces
        self._rules = {
            (rule.kind, rule.sequence): f"{rule.kind} {rule.name or rule.id}"
            for kind in book.kinds
            for rule in book.rules(kind)
        }

    def traces(self, colour: bool = False) -> TraceText:
        """What says the traces of its packets."""
        return TraceText({p.number: p.name for p in self._environment.ports}, colour)

    def run(self, packet: Captured) -> Replayed:
        port = self._interfaces.get(packet.interface, self._port)
        if packet.link != ETHERNET:
            return Replayed(packet, port, None, "", ())
        if packet.time is not None:  # of packets out of order, the latest: clocks do not go back
            states = self._interpreter.states
            states.now = max(states.now, packet.time / 1_000_000_000)
        outcome = self._interpreter.run(self._book, packet.octets, port.number)
        out = self._environment.port(outcome.egress) if outcome.egress is not None else None
        counted = tuple(self._rules[rule] for rule in outcome.counted)
        return Replayed(packet, port, outcome, out.name if out else "", counted)
