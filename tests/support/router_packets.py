"""Hypothesis strategies for frames that the router may meet, built by scapy."""

from __future__ import annotations

from hypothesis import strategies as st
from linx_packets import TCP_OPTIONS
from scapy.layers.inet import GRE, ICMP, IP, TCP, UDP
from scapy.layers.inet6 import (
    ICMPv6EchoRequest,
    ICMPv6TimeExceeded,
    ICMPv6Unknown,
    IPv6,
    IPv6ExtHdrDestOpt,
    IPv6ExtHdrFragment,
    IPv6ExtHdrHopByHop,
)
from scapy.layers.l2 import Dot1Q, Ether
from scapy.packet import Packet, Raw

LAN, WAN = 1, 2
SOURCES4 = ["10.1.0.10", "10.1.0.11", "0.0.0.0", "224.0.0.1"]
TARGETS4 = ["10.2.0.1", "10.3.0.1", "10.4.0.1", "10.5.0.1", "10.1.0.1", "10.9.0.1", "224.0.0.5"]
SOURCES6 = ["2001:db8:1::10", "2001:db8:1::11", "fe80::1", "::", "ff02::1", "::1"]
TARGETS6 = ["2001:db8:2::1", "2001:db8:3::1", "2001:db8:4::1", "2001:db8:5::1", "2001:db8:6::1",
            "2001:db8:7::1", "2001:db8:8::1",
            "2001:db8:1::1", "2001:db8:9::1", "ff05::5", "fe80::2", "::1"]  # fmt: skip
HARDWARE = ["02:00:00:00:00:01"] * 9 + ["33:33:00:00:00:01"]

byte_values = st.sampled_from([0, 1, 3, 0xB8, 0xBB, 0xFF]) | st.integers(0, 255)
hops = st.sampled_from([0, 1, 2, 64, 64, 64, 255])
payloads = st.binary(max_size=40) | st.sampled_from([bytes(1180), bytes(1400), bytes(1445)])


@st.composite
def upper(draw: st.DrawFn, six: bool) -> Packet:
    match draw(st.sampled_from(["tcp", "tcp", "udp", "icmp", "error"])):
        case "tcp":
            flags = draw(st.sampled_from(["S", "SA", "A"]))
            head = TCP(dport=80, flags=flags, options=draw(st.sampled_from(TCP_OPTIONS)))
        case "udp":
            head = UDP(sport=4, dport=53)
        case "icmp":
            head = ICMPv6EchoRequest(id=1) if six else ICMP()
        case _:
            unknown = ICMPv6Unknown(type=draw(st.sampled_from([127, 128, 137])))
            head = draw(st.sampled_from([ICMPv6TimeExceeded(), unknown])) if six else ICMP(type=11)
    return head / Raw(draw(payloads))


@st.composite
def user4(draw: st.DrawFn) -> Packet:
    packet = IP(
        src=draw(st.just(SOURCES4[0]) | st.sampled_from(SOURCES4)),
        dst=draw(st.sampled_from(TARGETS4)),
        tos=draw(byte_values),
        ttl=draw(hops),
        flags=draw(st.sampled_from([0, 2, 2, 1])),
    )
    return packet / draw(upper(False))


@st.composite
def user6(draw: st.DrawFn) -> Packet:
    packet = IPv6(
        src=draw(st.just(SOURCES6[0]) | st.sampled_from(SOURCES6)),
        dst=draw(st.just(TARGETS6[0]) | st.sampled_from(TARGETS6)),
        tc=draw(byte_values),
        fl=draw(st.sampled_from([0, 1, 0xFFFFF])),
        hlim=draw(hops),
    )
    if draw(st.integers(0, 3)) == 0:
        fragment = IPv6ExtHdrFragment(offset=draw(st.sampled_from([0, 0, 9])), m=draw(hops) & 1)
        chains = [[IPv6ExtHdrHopByHop()], [IPv6ExtHdrDestOpt(), fragment], [fragment]]
        for header in draw(st.sampled_from(chains)):
            packet /= header
    return packet / draw(upper(True))


@st.composite
def outer(draw: st.DrawFn, link: Packet) -> Packet:
    """A packet in a tunnel: any version in any, with GRE between them or without."""
    if draw(st.booleans()):
        target = draw(st.sampled_from(["2001:db8:ff::1"] * 3 + ["2001:db8:ff::9"]))
        packet = link / IPv6(src="2001:db8:ff::2", dst=target, tc=draw(byte_values))
        if draw(st.booleans()):
            return packet / draw(user4())
    else:
        packet = Ether(src=link.src, dst=link.dst)
        packet /= IP(src="192.0.2.2", dst="192.0.2.1", tos=draw(byte_values))
    if draw(st.booleans()):
        packet /= GRE(proto=0x86DD, key_present=draw(st.integers(0, 1)))
    return packet / draw(user6())


@st.composite
def frames(draw: st.DrawFn) -> tuple[bytes, int]:
    """(frame, number of the port it comes in by), valid as scapy understands it."""
    port = draw(st.sampled_from([LAN, LAN, WAN]))
    packet = Ether(src="02:00:00:00:00:0a", dst=draw(st.sampled_from(HARDWARE)))
    if draw(st.booleans()):
        packet /= Dot1Q(vlan=7)
    if port == WAN:
        packet = draw(outer(packet))
    else:
        packet /= draw(user6() if draw(st.booleans()) else user4())
    return bytes(packet) + bytes(draw(st.integers(0, 20))), port
