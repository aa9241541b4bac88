"""Delays measured by STAMP: a reflector and a collector in XDP, and the kernel's seg6 between them.

    .venv/bin/python examples/stamp/demo.py [--prefix stamp-]

Needs root. Everything happens in network namespaces whose names begin with the prefix; they, and
what is loaded into the kernel, are gone at the end, also after Ctrl-C or a failure. Every fact
that is printed was measured: if one does not hold the demo says so, stops, and exits with 1.
"""

from __future__ import annotations

import json
import socket
import struct
import sys
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).parents[1]))

from account import Account
from edges import Edge, agent_in, compile_pipeline, hear_answers, running
from lab import Lab, Namespace, until
from scapy.contrib.stamp import STAMPSessionReflectorTestUnauthenticated
from showing import Demo, run
from traffic import drain, ping, udp_socket

HERE = Path(__file__).parent
TITLE = "delays measured by STAMP"
PICTURE = """
  sender 192.0.2.2 ── wan0 ══ [linux: seg6, End fc00:c::e] ══ wan0 ── 198.51.100.2 reflector
         fc00:a::2                                                    fc00:b::2"""
SENDER4, SENDER6, REFLECTOR4, REFLECTOR6 = "192.0.2.2", "fc00:a::2", "198.51.100.2", "fc00:b::2"
STAMP = 862
COUNT = 20
INTERVAL = 0.005  # seconds
NTP = 2208988800  # seconds from 1900 to 1970


@dataclass(frozen=True)
class World:
    sender: Namespace
    linux: Namespace
    reflector: Namespace


def build(lab: Lab) -> World:
    world = World(*(lab.namespace(name) for name in ("sender", "linux", "reflector")))
    lab.wire(world.linux, "a0", world.sender, "wan0")
    lab.wire(world.linux, "b0", world.reflector, "wan0")
    world.sender.address("wan0", f"{SENDER4}/30", f"{SENDER6}/64")
    world.reflector.address("wan0", f"{REFLECTOR4}/30", f"{REFLECTOR6}/64")
    world.linux.address("a0", "192.0.2.1/30", "fc00:a::1/64")
    world.linux.address("b0", "198.51.100.1/30", "fc00:b::1/64")
    for room, site4, site6 in (
        (world.sender, "192.0.2.1", "fc00:a::1"),
        (world.reflector, "198.51.100.1", "fc00:b::1"),
    ):
        room.route("default", site4)
        room.route("default", site6)
    for name in ("ipv4.ip_forward", "ipv6.conf.all.forwarding", "ipv6.conf.all.seg6_enabled",
                 "ipv6.conf.a0.seg6_enabled", "ipv6.conf.b0.seg6_enabled"):  # fmt: skip
        world.linux.sysctl(f"net.{name}", 1)
    world.linux.ip(*"-6 route add fc00:c::e/128 encap seg6local action End dev a0".split())
    for address in (SENDER4, SENDER6, REFLECTOR4, REFLECTOR6):
        until(partial(reached, world.linux, address), f"{address} answers")
    hear_answers([(world.linux, "a0"), (world.linux, "b0")])
    return world


def reached(room: Namespace, address: str) -> bool:
    return ping(room, address, 1).lost == 0


# ---- the Session-Sender, and what its edge recorded ----------------------------------------------


class Sender:
    """Test packets of 44 bytes (RFC 8762 section 4.2.1), by the kernel's own UDP and routes."""

    def __init__(self, room: Namespace, four: socket.socket, six: socket.socket) -> None:
        self.room, self.four, self.six = room, four, six

    def send(self, ssid: int, to: str = REFLECTOR6, count: int = COUNT, ptp: bool = False) -> None:
        sock = self.six if ":" in to else self.four
        for number in range(count):
            time.sleep(INTERVAL)
            sock.sendto(test_packet(number, ssid, ptp), (to, STAMP))

    def steer(self, how: str) -> None:
        """What goes to the reflector's IPv6 address goes by this from now on."""
        way = f"-6 route replace {REFLECTOR6}/128 {how} via fc00:a::1 dev wan0"
        self.room.ip(*way.split())


def test_packet(number: int, ssid: int, ptp: bool = False) -> bytes:
    """One that leaves now, by a clock that nothing synchronises."""
    return struct.pack("!IQHH28x", number, moment(ptp), 0x7FFF if ptp else 0x3FFF, ssid)


def moment(ptp: bool) -> int:
    """Now, in the format of NTP (RFC 5905 section 6) or in the truncated one of IEEE 1588."""
    clock = time.CLOCK_TAI if ptp else time.CLOCK_REALTIME
    seconds, ns = divmod(time.clock_gettime_ns(clock), 10**9)
    return seconds << 32 | ns if ptp else seconds + NTP << 32 | (ns << 32) // 10**9


def ns_of(timestamp: int, ptp: bool) -> int:
    seconds, rest = divmod(timestamp, 1 << 32)
    return seconds * 10**9 + (rest if ptp else rest * 10**9 >> 32)


@dataclass(frozen=True)
class Record:
    """An answer: its numbers and its four times, in ns."""

    session: str
    sequence: int
    reflected: int
    ttl: int
    times: tuple[int, ...]

    @property
    def there(self) -> int:
        return self.times[1] - self.times[0]

    @property
    def back(self) -> int:
        return self.times[3] - self.times[2]


class Collector:
    """What the sender's edge recorded, by its agent."""

    def __init__(self, edge: Edge) -> None:
        self.edge, self._seen = edge, 0

    def records(self, count: int = COUNT, ptp: bool = False) -> list[Record]:
        """The next ones, oldest first. Raises LabError if they do not come."""

        def arrived() -> list[str]:
            lines = self.edge.control("events", "RECORD", "--json").splitlines()[self._seen :]
            return lines if len(lines) >= count else []

        found = [json.loads(line)["fields"] for line in until(arrived, f"{count} records")]
        self._seen += len(found)
        return [
            Record(
                each["session"]["name"], each["sequence"], each["reflected"], each["ttl"],
                tuple(ns_of(each[f"t{n}"], ptp) for n in range(1, 5)),
            )
            for each in found
        ]  # fmt: skip


@dataclass(frozen=True)
class Ends:
    """Both ends of the paths."""

    say: Account
    sender: Sender
    collector: Collector
    edge: Edge  # of the reflector

    def measured(self, ssid: int, name: str, to: str = REFLECTOR6, ptp: bool = False) -> None:
        """Send a session's packets, and say what came of it."""
        self.sender.send(ssid, to, ptp=ptp)
        found = self.collector.records(ptp=ptp)
        self.say.fact(
            [(r.session, r.sequence) for r in found] == [(name, n) for n in range(COUNT)],
            f"{COUNT} sent, {len(found)} answers recorded, in order",
        )
        there, back = (median(getattr(r, way) for r in found) / 1000 for way in ("there", "back"))
        in_order = all(list(r.times) == sorted(r.times) for r in found)
        self.say.fact(in_order, f"T1 <= T2 <= T3 <= T4: {there:.1f} us there, {back:.1f} us back")


# ---- what is shown -------------------------------------------------------------------------------


def at_once(ends: Ends) -> None:
    ends.say.step("Answered in XDP: IPv4 and IPv6, by the clocks of NTP and PTP")
    ends.measured(1, "ipv4", REFLECTOR4)
    ends.measured(2, "ipv6")
    ends.measured(5, "ptp", REFLECTOR4, ptp=True)


def by_segments(ends: Ends) -> None:
    say = ends.say
    say.step("The kernel's seg6 inserts an SRH; the router's End takes it on")
    ends.sender.steer("encap seg6 mode inline segs fc00:c::e")
    ends.measured(2, "ipv6")
    say.step("The answer has an SRH of its own, through the same End")
    ends.measured(4, "own_srh")
    say.step("Both ways in a tunnel: H.Encaps by the kernel, H.Encaps by the reflector")
    ends.sender.steer(f"encap seg6 mode encap segs fc00:c::e,{REFLECTOR6}")
    ends.measured(3, "encaps")


def lost(ends: Ends) -> None:
    say = ends.say
    say.step("A stateful reflector tells on which way packets were lost")
    ends.sender.six.sendto(test_packet(90, 2), (REFLECTOR6, STAMP))
    ends.sender.six.sendto(test_packet(92, 2), (REFLECTOR6, STAMP))  # 91 never left
    first, second = ends.collector.records(2)
    numbers = first.sequence, second.sequence, second.reflected - first.reflected
    say.fact(numbers == (90, 92, 1), "91 did not arrive there: the reflector's numbers have no gap")


def heard(ends: Ends) -> None:
    say = ends.say
    say.step("What scapy reads of an answer that nobody records")
    with udp_socket(ends.sender.room, SENDER4, 40000) as sock:
        tlv = bytes.fromhex("80010004deadbeef")  # extra padding (RFC 8972 section 4.1)
        sock.sendto(test_packet(7, 9) + tlv, (REFLECTOR4, STAMP))
        ((data, source),) = drain(sock, 1)
    answer = STAMPSessionReflectorTestUnauthenticated(data)
    say.fact(source == (REFLECTOR4, STAMP), "it comes from where the test packet went")
    numbers = answer.seq, answer.ssid, answer.seq_sender, answer.ttl_sender
    say.fact(numbers == (7, 9, 7, 63), "sequence number 7 twice, session 9, one hop behind us")
    say.fact(data[44:] == tlv, "the TLV behind it as it was sent: unrecognized")


def refused(ends: Ends) -> None:
    say = ends.say
    say.step("What is not answered")
    before = [ends.edge.event("miss", kind) for kind in ("REFLECTOR", "COLLECTOR")]
    with udp_socket(ends.sender.room, SENDER4, 40000) as sock:
        sock.sendto(test_packet(0, 77), (REFLECTOR4, STAMP))
        forged = bytearray(test_packet(0, 9))
        forged[16:24] = forged[4:12]  # a receive timestamp: this is an answer
        sock.sendto(forged, (REFLECTOR4, STAMP))
        sock.sendto(bytes(43), (REFLECTOR4, STAMP))
        say.fact(not drain(sock, 1, 0.3), "an unknown session, a forged answer, 43 bytes")
    counted = [ends.edge.event("miss", kind) for kind in ("REFLECTOR", "COLLECTOR")]
    say.fact(
        [n - b for n, b in zip(counted, before, strict=True)] == [1, 1], "the first two counted"
    )
    say.fact(ping(ends.sender.room, REFLECTOR4).lost == 0, "all else reaches the reflector's host")


def show(demo: Demo) -> None:
    demo.say.step("Compile and load")
    world = build(demo.lab)
    compile_pipeline(demo.folder, "stamp")
    agent = demo.owned.enter_context(agent_in(world.sender, demo.folder))
    config = HERE / "edge.yaml"
    here = running(world.sender, demo.folder, config, HERE / "sender.req", agent)
    there = running(world.reflector, demo.folder, config, HERE / "reflector.req")
    own, edge = demo.owned.enter_context(here), demo.owned.enter_context(there)
    demo.say.fact(own.modes() == edge.modes() == {"wan0": "xdp"}, "native XDP on both ends")
    sockets = (udp_socket(world.sender, each, STAMP) for each in (SENDER4, SENDER6))
    sender = Sender(world.sender, *(demo.owned.enter_context(each) for each in sockets))
    ends = Ends(demo.say, sender, Collector(own), edge)
    at_once(ends)
    by_segments(ends)
    lost(ends)
    heard(ends)
    refused(ends)


if __name__ == "__main__":
    sys.exit(run(show, TITLE, PICTURE, prefix="stamp-"))
