"""A capture's packets through a whole pipeline, on the reference interpreter, which lives by the
capture's own clock."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from ipaddress import IPv4Address, IPv6Address
from typing import Literal, Protocol

from ...lang.contract.rules.rulebook import RuleBook
from ...lang.contract.trace.steps import Trace
from ...lang.contract.trace.text import TraceText
from ...lang.contract.world.bare_packets import ETHERNET as LINK
from ...lang.contract.world.bare_packets import framed
from ...lang.contract.world.emitted import Namer, as_text
from ...lang.contract.world.environment import Environment, Outcome, Port
from ...lang.contract.world.moment import Moment
from ..captures.links import link_name
from ..captures.packets import ETHERNET, Captured
from ..interpret.packet import Interpreter
from ..interpret.packet_fields import NotCaptured
from ..interpret.parse_packet import PacketParser
from ..model import Pipeline
from ..packettests.emits import kinds_of
from ..packettests.runs import disagreements


class EveryNeighbour(Mapping[tuple[int, int], bytes]):
    """A MAC address for every next hop: 02:00 and the last four bytes of its address. It holds
    those that were asked for."""

    def __init__(self) -> None:
        self.asked: dict[tuple[int, int], bytes] = {}

    def __getitem__(self, key: tuple[int, int]) -> bytes:
        self.asked[key] = b"\x02\x00" + (key[1] & 0xFFFFFFFF).to_bytes(4, "big")
        return self.asked[key]

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return iter(self.asked)

    def __len__(self) -> int:
        return len(self.asked)


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
    """What became of a packet. `outcome` is None of one that was not run, `left_out` says why:
    `foreign` is no Ethernet frame; of one that is `cut` bytes were not captured that the parser
    or `reply icmp` asks for (`reason` says which); `refused` cannot be run by the kernel that is
    compared with. `differences`: of the kernel; None where it was not asked. `emits`: the
    events that it raised."""

    packet: Captured
    port: Port
    outcome: Outcome | None = None
    egress: str = ""
    counted: tuple[str, ...] = ()
    left_out: Literal["", "foreign", "cut", "refused"] = ""
    reason: str = ""
    differences: tuple[str, ...] | None = None
    emits: tuple[str, ...] = ()

    @property
    def verdict(self) -> str:
        return self.outcome.verdict if self.outcome else self.left_out

    @property
    def whole(self) -> bytes | None:
        """The packet as it leaves, or is handed to the kernel, zeros at the end in place of what
        was not captured."""
        return self.outcome.frame if self.outcome and self.verdict != "drop" else None

    @property
    def frame(self) -> bytes | None:
        """The same without these zeros."""
        frame = self.whole
        if frame is None:
            return None
        zeros = len(frame) - len(frame.rstrip(b"\0"))  # an ICMP error ends elsewhere
        return frame[: len(frame) - min(zeros, self.packet.missing)]

    @property
    def events(self) -> list[str]:
        """What was counted of it, but for the verdict."""
        if self.outcome is None:
            foreign = self.left_out == "foreign"
            return [self.reason if foreign else f"{self.left_out}: {self.reason}"]
        return [f"{group}: {what}" for group, what in self.outcome.events if group != "verdict"]

    @property
    def trace(self) -> Trace | None:
        """Its way, step by step; None of one that was not run."""
        if self.outcome is None:
            return None
        o, length = self.outcome, len(self.packet.whole)
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
                "emits": list(self.emits),
                "packet": None if self.frame is None else self.frame.hex(),
                "length": None if self.whole is None else len(self.whole),
                "notes": list(self.packet.notes),
                "differences": None if self.differences is None else list(self.differences),
            }
        )

    def to_text(self) -> str:
        """For people: a line, and the packet's bytes where they are others than they were."""
        by = f" by {self.egress}" if self.egress else ""
        if self.outcome and self.outcome.queue is not None:
            by = f" to queue {self.outcome.queue}"
        events = "".join(f"; {event}" for event in (*self.events, *self.packet.notes))
        counted = f"; counted {', '.join(self.counted)}" if self.counted else ""
        first = (
            f"packet {self.packet.number} on {self.port.name}: {self.verdict}{by}{events}{counted}"
        )
        emits = [f"  emits {each}" for each in self.emits]
        if self.frame is None or self.frame == self.packet.data:
            return "\n".join([first, *emits, *self.kernel_lines])
        return "\n".join([first, *emits, f"  {self.frame.hex()}", *self.kernel_lines])

    @property
    def kernel_lines(self) -> list[str]:
        """In what the kernel differs, for people."""
        return [f"  interpreter and kernel: {line}" for line in self.differences or ()]


class Kernel(Protocol):
    """What runs packets through compiled programs: `runtime.testrun.PrivateRun`."""

    def set_neighbours(self, environment: Environment) -> None: ...

    def set_moment(self, moment: Moment) -> None: ...

    def run(self, frame: bytes, port: int) -> Outcome: ...


@dataclass(frozen=True)
class Beside:
    """The kernel, set up as the interpreter is; it runs frames of `shortest` to `longest` bytes."""

    kernel: Kernel
    shortest: int
    longest: int


@dataclass(frozen=True)
class _Arrived:
    environment: Environment
    port: int


@dataclass(frozen=True)
class _Names(Namer):
    rules: Mapping[tuple[str, int], str]
    ports: Mapping[int, str]

    def rule(self, kind: str, sequence: int, id_: int) -> str:
        return self.rules.get((kind, sequence), f"{kind} {id_}")

    def port(self, number: int) -> str:
        return self.ports.get(number, str(number))


class Replay:
    """One pipeline under rules. Packets come by `port`, unless the capture names the interface of
    another: `interfaces` are ports by those names. With `beside` the kernel runs them as well."""

    def __init__(
        self,
        pipeline: Pipeline,
        environment: Environment,
        book: RuleBook,
        port: Port,
        interfaces: Mapping[str, Port],
    ) -> None:
        self._interpreter = Interpreter(pipeline, environment)
        self._parser = PacketParser(pipeline.graph)
        self.pipeline, self.environment, self.book = pipeline, environment, book
        self._port, self._interfaces, self._kinds = port, interfaces, kinds_of(pipeline)
        self._rules = {
            (rule.kind, rule.sequence): f"{rule.kind} {rule.name or rule.id}"
            for kind in book.kinds
            for rule in book.rules(kind)
        }
        self.beside: Beside | None = None
        self._moment, self._started = Moment(), False

    def traces(self, colour: bool = False) -> TraceText:
        """What says the traces of its packets."""
        return TraceText({p.number: p.name for p in self.environment.ports}, colour)

    def run(self, packet: Captured) -> Replayed:
        port = self._interfaces.get(packet.interface, self._port)
        if left_out := self._left_out(packet, port):
            return left_out
        self._set_clock(packet)
        known = [n for n in self._neighbours() if isinstance(n, EveryNeighbour)]
        for each in known:
            each.asked.clear()
        frame = packet.whole[LINK:] if self._is_bare(port) else packet.whole
        try:
            outcome = self._interpreter.run(self.book, frame, port.number, packet.missing)
        except NotCaptured as error:
            return Replayed(packet, port, left_out="cut", reason=str(error))
        out = self.environment.port(outcome.egress) if outcome.egress is not None else None
        counted = tuple(self._rules[rule] for rule in outcome.counted)
        differences = None
        if self.beside is not None:
            if any(each.asked for each in known):
                self.beside.kernel.set_neighbours(self.environment)
            got = self.beside.kernel.run(frame, port.number)
            arrived = _Arrived(self.environment, port.number)
            differences = tuple(disagreements(self.pipeline, arrived, outcome, got))
        egress = out.name if out else ""
        if outcome.frame is not None and self._is_bare(out or port):
            outcome = replace(outcome, frame=framed(outcome.frame))  # captures have Ethernet frames
        return Replayed(
            packet, port, outcome, egress, counted, "", "", differences, self._emits(outcome)
        )

    def _is_bare(self, port: Port) -> bool:
        """Whether its packets have no link header."""
        return port.role in self.pipeline.bare

    def _emits(self, outcome: Outcome) -> tuple[str, ...]:
        names = _Names(self._rules, {p.number: p.name for p in self.environment.ports})
        return tuple(as_text(self._kinds[e.event], e.values, names) for e in outcome.emitted)

    def _left_out(self, packet: Captured, port: Port) -> Replayed | None:
        """What is not run, neither here nor there: or states would hold other entries."""
        if packet.link != ETHERNET:
            return Replayed(packet, port, left_out="foreign", reason=link_name(packet.link))
        if self._is_bare(port) and packet.data[12:14] not in (b"\x08\x00", b"\x86\xdd"):
            return Replayed(packet, port, left_out="foreign", reason="neither IPv4 nor IPv6")
        if packet.is_cut:
            parsed = self._parser.parse(port.role, packet.whole, len(packet.data))
            if parsed.result == "cut":
                return Replayed(packet, port, left_out="cut", reason=parsed.reason)
        beside = self.beside
        if beside and not beside.shortest <= len(packet.whole) <= beside.longest:
            reason = f"the kernel test-runs frames of {beside.shortest} to {beside.longest:,} bytes"
            return Replayed(packet, port, left_out="refused", reason=reason)
        return None

    def _set_clock(self, packet: Captured) -> None:
        """The capture's own; of packets out of order, the latest: clocks do not go back."""
        utc = self._moment.utc if packet.time is None else packet.time
        if self._started:
            self._moment = self._moment.later(max(0, utc - self._moment.utc))
        else:
            self._moment = replace(self._moment, utc=utc)
        self._started = self._started or packet.time is not None
        self._interpreter.set_moment(self._moment)
        if self.beside is not None:
            self.beside.kernel.set_moment(self._moment)

    def _neighbours(self) -> tuple[Mapping[tuple[int, int], bytes], ...]:
        return self.environment.neighbours, self.environment.neighbours6
