"""Copies by programs at tc of a wire between two hosts (tcx, Linux 6.6): what the taps see, and
that packets go on, also those that stand for segments or whose checksum the kernel completes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from checked import checked
from helioc.compiler.bundle import compile_for_tc
from helioc.lang.contract.request.request_parser import parse_request
from helioc.lang.contract.rules.rulebook import RuleBook
from helioc.lang.contract.world.environment import Environment, Port
from helioc.lang.text.source import Source
from lab import Lab, Namespace
from linx_world import ip, mac
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.l2 import Dot1Q, Ether
from scapy.layers.vxlan import VXLAN
from tc_runs import TcRun
from tc_world import STREAM, attach, caught, sent_through
from traffic import drain, udp_socket

TAPS = Path(__file__).parents[1] / "compiler" / "lower" / "cases" / "copies" / "taps.hp"
LAN, WAN, TAP, TAGGED = 1, 2, 3, 4


class Watched:
    """Two hosts on a wire through a box, which sends copies to a collector: at `tap0`, and with
    VLAN 7."""

    def __init__(self, lab: Lab) -> None:
        names = "one", "two", "box", "taps"
        self.one, self.two, self.box, self.taps = map(lab.namespace, names)
        lab.wire(self.one, "eth0", self.box, "lan0")
        lab.wire(self.two, "eth0", self.box, "wan0")
        lab.wire(self.taps, "tap0", self.box, "tap0")
        self.one.address("eth0", "10.0.0.1/24")
        self.two.address("eth0", "10.0.0.2/24")
        self.taps.address("tap0", "10.9.9.2/24")
        self.one.neighbour("eth0", "10.0.0.2", self.two.mac("eth0"))
        self.two.neighbour("eth0", "10.0.0.1", self.one.mac("eth0"))
        for room, device in ((self.one, "eth0"), (self.two, "eth0")):
            room.offload(device, tx="on", tso="on", gro="off")
        self.box.offload("tap0", tx="off", gso="off")  # what leaves is complete
        self.taps.offload("tap0", gro="off")

    def environment(self) -> Environment:
        devices = {LAN: "lan0", WAN: "wan0", TAP: "tap0", TAGGED: "tap0"}
        ports = tuple(
            Port(
                number, device.upper() + str(number), "lan" if number in (LAN, WAN) else "wan",
                self.box.ifindex(device), 1600, mac(self.box.mac(device)),
                vlan=7 if number == TAGGED else 0,
            )
            for number, device in devices.items()
        )  # fmt: skip
        to = {(n, ip("10.9.9.2")): mac(self.taps.mac("tap0")) for n in (TAP, TAGGED)}
        return Environment(ports, neighbours=to)

    @contextmanager
    def running(self, way: str, port: str = "TAP03") -> Iterator[TcRun]:
        """`way`: of what comes from 10.0.0.1."""
        environment, pipeline = self.environment(), checked(TAPS)
        with ExitStack() as owned:
            run = owned.enter_context(TcRun(compile_for_tc(pipeline)))
            book = RuleBook(run.manifest, {p.name: p.number for p in environment.ports}, {})
            asked = (
                "create WIRE 1 [(port, LAN01), (out, WAN02)];"
                "create WIRE 2 [(port, WAN02), (out, LAN01)];"
                f"create TAP 1 [(src_ip, 10.0.0.1), (way, {way}), (tap, {port}),"
                "              (remote, 10.9.9.2), (vni, 77)]"
            )
            book.commit(book.plan(parse_request(Source("request", asked))))
            run.set_live(environment, book)
            for port_ in environment.ports[:2]:
                owned.callback(os.close, attach(run, self.box, port_))
            yield run


def asked(one: Namespace, two: Namespace, count: int = 9) -> bytes:
    """What arrives of a datagram."""
    with udp_socket(one) as sender, udp_socket(two, "10.0.0.2", 7) as receiver:
        sender.sendto(b"question" * count, ("10.0.0.2", 7))
        ((data, _),) = drain(receiver, 1)
        return data


def is_whole(datagram: IP) -> bool:
    """Whether the checksums of IP and UDP are right."""
    again = IP(bytes(datagram))
    del again.chksum, again[UDP].chksum
    return bytes(IP(bytes(again))) == bytes(datagram)


@pytest.mark.parametrize(("port", "tagged"), [("TAP03", False), ("TAP04", True)])
def test_a_mirror_shows_what_goes_on(lab: Lab, port: str, tagged: bool) -> None:
    world = Watched(lab)
    with world.running("PLAIN", port) as run:
        tap, behind = world.taps.wire("tap0"), world.two.wire("eth0")
        assert asked(world.one, world.two) == b"question" * 9
        copy = Ether(tap.expect(lambda frame: b"question" in frame))
        sent = Ether(behind.expect(lambda frame: b"question" in frame))
        assert run.events()["copy", "sent"] == 1
    assert (Dot1Q in copy) == tagged and (not tagged or copy[Dot1Q].vlan == 7)
    assert (copy.dst, copy.src) == (sent.dst, sent.src)
    assert is_whole(copy[IP]) and bytes(copy[UDP].payload) == bytes(sent[UDP].payload)


@pytest.mark.parametrize(("port", "tag"), [("TAP03", 0), ("TAP04", 4)])
def test_a_mirror_of_the_first_bytes(lab: Lab, port: str, tag: int) -> None:
    """The packet goes on whole, with its checksum; what stands for segments is not shown."""
    world = Watched(lab)
    with world.running("PART", port) as run:
        tap, behind = world.taps.wire("tap0"), world.two.wire("eth0")
        assert asked(world.one, world.two, 150) == b"question" * 150
        copy = tap.expect(lambda frame: b"question" in frame)
        sent = Ether(behind.expect(lambda frame: b"question" in frame))
        assert run.events()["copy", "sent"] == 1
        assert sent_through(world.one, world.two, "10.0.0.2") == STREAM
        events = run.events()
    without_tag = copy[:12] + copy[12 + tag :]
    assert len(without_tag) == 128 and without_tag[42:] == (b"question" * 150)[:86]
    assert is_whole(sent[IP])
    assert events["copy", "failed"] > 0 and events["drop", "internal"] == 0


@pytest.mark.parametrize("port", ["TAP03", "TAP04"])
def test_a_copy_in_a_tunnel(lab: Lab, port: str) -> None:
    world = Watched(lab)
    with world.running("TWICE", port) as run:
        tap = world.taps.wire("tap0")
        assert asked(world.one, world.two) == b"question" * 9
        copies = [Ether(frame) for frame in caught(tap) if b"question" in frame]
        assert run.events()["copy", "sent"] == 3
    first, plain, last = copies
    assert bytes(first[VXLAN].payload) == bytes(last[VXLAN].payload)
    inner = first[VXLAN].payload
    assert (first[IP].dst, first[VXLAN].vni) == ("10.9.9.2", 77)
    assert is_whole(first[IP]) or first[UDP].chksum == 0
    assert VXLAN not in plain and is_whole(plain[IP])
    assert (inner[IP].src, inner.dst) == ("10.0.0.1", plain.dst)


def test_the_kernel_opens_a_copy(lab: Lab) -> None:
    """Its `vxlan` takes the frame out, and a host behind that the datagram."""
    world = Watched(lab)
    world.taps.ip(*"link add vx0 type vxlan id 77 dstport 4789 local 10.9.9.2 dev tap0".split())
    world.taps.ip("link", "set", "vx0", "up")
    with world.running("TUNNEL"):
        vx0 = world.taps.wire("vx0")
        assert asked(world.one, world.two) == b"question" * 9
        frame = Ether(vx0.expect(lambda frame: b"question" in frame))
    assert (frame.dst, frame[IP].src) == (world.two.mac("eth0"), "10.0.0.1")


@pytest.mark.parametrize("way", ["PLAIN", "TWICE"])
def test_what_stands_for_segments_goes_on(lab: Lab, way: str) -> None:
    """A mirror of it is made, of which the device makes segments; a copy in a tunnel is not, which
    is counted: the packet would stay marked as one in a tunnel."""
    world = Watched(lab)
    with world.running(way) as run:
        tap = world.taps.wire("tap0")
        assert sent_through(world.one, world.two, "10.0.0.2") == STREAM
        frames = [Ether(frame) for frame in caught(tap)]
        events = run.events()
    seen = [f for f in frames if VXLAN not in f and f[IP].src == "10.0.0.1"]
    assert sum(len(f[TCP].payload) for f in seen if len(f) > 66) >= len(STREAM)
    assert max(map(len, seen)) == 1514
    assert (events["copy", "no_headroom"] > 0) == (way == "TWICE")
    assert events["drop", "internal"] == 0
