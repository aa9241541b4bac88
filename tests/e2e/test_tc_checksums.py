"""Programs at tc where packets come as a host makes them: checksums that the kernel completes,
frames of up to 64 KiB that stand for segments, whole in VXLAN."""

from __future__ import annotations

from functools import cache
from ipaddress import IPv6Address
from pathlib import Path
from socket import (
    IPPROTO_IP,
    create_connection,
    create_server,
)

import pytest
from helioc.compiler.bundle import Bundle, compile_for_tc
from helioc.compiler.check.program import check
from helioc.compiler.interpret.header_view import ones_sum
from helioc.lang.contract.rules.rules import Matcher, Reference, Rule
from helioc.lang.syntax.parser import parse, read
from lab import Lab
from linx_world import LAN, WAN1, Book, ip, mac
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
from tc_world import MTU, STREAM, Edge, World, caught, sent_through
from traffic import drain, udp_socket

PIPELINE = Path(__file__).parents[1] / "support" / "tc_live.hp"
SOL_UDP, UDP_SEGMENT = 17, 103  # of linux/udp.h
IP_MTU_DISCOVER, IP_PMTUDISC_DO = 10, 2  # of linux/in.h
OLD, NEW = {4: "10.9.0.9", 6: "fd09::9"}, {4: "10.2.0.10", 6: "fd02::10"}
VXLAN = 20 + 8 + 8 + 14
LOST = "drop", "hook"  # events of packets that do not leave


@cache
def compiled() -> Bundle:
    return compile_for_tc(check(parse(read(PIPELINE))))


class Other(World):
    """The same sites with tc_live.hp: their hosts are neighbours, by VXLAN."""

    def __init__(self, lab: Lab) -> None:
        super().__init__(lab)
        for edge in self.edges.values():
            other = self.edges[edge.other].host.mac("eth0")
            edge.host.neighbour("eth0", f"10.{edge.number}.0.1", other)

    def compiled(self) -> Bundle:
        return compiled()

    def rules(self, edge: Edge) -> Book:
        hosts = edge.host.mac("eth0"), self.edges[edge.other].host.mac("eth0")
        own, other = (Matcher("value", int.from_bytes(mac(host), "big")) for host in hosts)
        wan, lan = (("way", Reference("port", port)) for port in (WAN1, LAN))
        tunnel = [("local", ip(f"192.0.2.{edge.number}")), ("peer", ip(f"192.0.2.{edge.other}"))]
        return Book(
            _translation("TRANSLATE", "to", ip(OLD[4]), ip(NEW[4])),
            _translation("TRANSLATE6", "to6", int(IPv6Address(OLD[6])), int(IPv6Address(NEW[6]))),
            Rule("PEER", 1, 301, match=(("mac", other),), values=tuple(tunnel), references=(wan,)),
            Rule("STATION", 1, 401, match=(("mac", own),), references=(lan,)),
        )


def _translation(kind: str, element: str, old: int, new: int) -> Rule:
    value = element.replace("to", "new"), new
    match, way = ((element, Matcher("value", old)),), ("way", Reference("port", WAN1))
    return Rule(kind, 1, 100 + len(kind), match=match, values=(value,), references=(way,))


def summed(frame: bytes) -> Ether:
    """The frame, of which all checksums are right."""
    found, again = Ether(frame), Ether(frame)
    layer = again
    while layer:
        if layer.fields.get("chksum"):  # 0: UDP has none
            del layer.chksum
        layer = layer.payload
    assert bytes(again) == bytes(found)
    return found


@pytest.mark.parametrize("version", [4, 6])
@pytest.mark.parametrize("protocol", ["udp", "tcp"])
def test_a_checksum_follows_addresses_and_ports(lab: Lab, version: int, protocol: str) -> None:
    """The host leaves it to the edge's kernel, which completes what the program left of it."""
    world = Other(lab)
    one, two = world.edges.values()
    target, gateway = OLD[version], "02:00:00:00:00:01"
    if version == 6:
        one.host.address("eth0", "fd01::10/64")
        one.host.ip("-6", "route", "add", "default", "dev", "eth0")
        one.host.neighbour("eth0", target, gateway)
    else:
        one.host.neighbour("eth0", "10.1.0.1", gateway)
    one.room.offload("wan0", tx="off")
    with world.running():
        wire = two.room.wire("wan0")
        if protocol == "udp":
            with udp_socket(one.host, "::" if version == 6 else "0.0.0.0") as sender:
                sender.sendto(b"question", (target, 5001))
        else:
            with pytest.raises(OSError):
                one.host.inside_thread(lambda: create_connection((target, 5001), timeout=0.5))
        kind = {"udp": UDP, "tcp": TCP}[protocol]
        frame = wire.expect(lambda frame: kind in Ether(frame) and Ether(frame)[kind].dport == 7)
    found = summed(frame)
    assert found[IPv6 if version == 6 else IP].dst == NEW[version]


def test_frames_of_segments_leave_in_vxlan(lab: Lab) -> None:
    world = Other(lab)
    one, two = world.edges.values()
    world.wan(gro="off", gso="off", tx="off")
    for edge in (one, two):
        edge.host.ip("link", "set", "eth0", "mtu", str(MTU - VXLAN))
    with world.running():
        wire = two.room.wire("wan0")
        assert sent_through(one.host, two.host, "10.2.0.10") == STREAM
        frames = [frame for frame in caught(wire) if len(frame) > 200]
        assert not {e for run in world.runs.values() for e in run.events() if e[0] in LOST}
    assert max(map(len, frames)) == MTU + 14
    for frame in frames:
        summed(frame)


@pytest.mark.parametrize("kind", ["udp", "tcp"])
def test_an_error_about_a_packet_without_its_checksum(lab: Lab, kind: str) -> None:
    """What the error covers is what the kernel makes of its quote as it leaves."""
    world = World(lab)
    one, two = world.edges.values()
    one.room.offload("lan0", tx="off", gso="off", tso="off")
    with world.running():
        wire = one.host.wire("eth0")
        if kind == "udp":
            with udp_socket(one.host) as sender:
                sender.setsockopt(IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DO)
                sender.sendto(bytes(MTU - 28), ("10.2.0.10", 7))
            found = caught(wire)
        else:
            at = "10.2.0.10", 5001
            with (
                two.host.inside_thread(lambda: create_server(at)),
                one.host.inside_thread(lambda: create_connection(at)) as sender,
            ):
                world.runs[1].set_live(one.environment(two, 0, 600), one.rules())
                sender.sendall(bytes(1400))
                found = caught(wire)
    errors = [frame for frame in found if frame[12:14] == b"\x08\x00" and frame[23] == 1]
    assert errors
    assert {ones_sum(frame[34:]) for frame in errors} == {0xFFFF}


def test_datagrams_of_one_packet_leave_in_vxlan(lab: Lab) -> None:
    """What a sender hands over at once (UDP_SEGMENT) is made datagrams as it leaves."""
    world = Other(lab)
    one, two = world.edges.values()
    world.wan(gro="off", gso="off", tx="off")
    with (
        world.running(),
        udp_socket(one.host) as sender,
        udp_socket(two.host, "10.2.0.10", 7) as receiver,
    ):
        sender.setsockopt(SOL_UDP, UDP_SEGMENT, 1000)
        sender.sendto(STREAM[:30_000], ("10.2.0.10", 7))
        got = b"".join(data for data, _ in drain(receiver, 30))
        counted = world.runs[1].events()[("verdict", "redirect")]
    assert got == STREAM[:30_000]
    assert counted == 1
