"""Hypothesis strategies for frames that a LINX edge may meet, built by scapy."""

from __future__ import annotations

from hypothesis import strategies as st
from linx_world import LAN, WAN1, WAN2
from scapy.layers.inet import GRE, ICMP, IP, TCP, UDP
from scapy.layers.l2 import Dot1Q, Ether
from scapy.packet import Packet, Raw

SOURCES = ["10.1.0.10", "10.2.0.5", "10.3.0.5", "0.0.0.0", "224.0.0.1", "255.255.255.255"]
TARGETS = ["10.1.0.10", "10.2.0.5", "10.3.0.5", "10.4.0.1", "10.5.0.1", "10.6.0.1", "10.1.0.77",
           "10.1.0.1", "172.16.0.1", "224.0.0.5"]  # fmt: skip
TUNNELS = [
    ("192.0.2.2", "192.0.2.1", True),
    ("198.51.100.2", "198.51.100.1", False),
    ("192.0.2.2", "192.0.2.1", True),
    ("192.0.2.66", "192.0.2.1", True),
]
OPTIONS = [b"", b"\x94\x04\0\0", b"\x07\x0b\x04" + bytes(9), b"\x01" * 40]
TCP_OPTIONS: list[list[tuple[str, object]]] = [
    [],
    [("MSS", 1460)],
    [("NOP", None), ("MSS", 1460)],
    [("WScale", 7), ("MSS", 9000), ("SAckOK", b"")],
    [("EOL", None), ("MSS", 1460)],
]

STATIONS = ["02:00:00:00:00:0a"] * 3 + ["02:00:00:00:00:0b"]
HARDWARE = ["02:00:00:00:00:01"] * 6 + ["ff:ff:ff:ff:ff:ff", "01:00:5e:00:00:05"]

byte_values = st.sampled_from([0, 1, 0xB8, 0xB9, 0xBB, 0xFF]) | st.integers(0, 255)
ports = st.sampled_from([0, 53, 80, 65535]) | st.integers(0, 65535)
payloads = st.binary(max_size=40) | st.sampled_from([bytes(1400), bytes(1445)])


@st.composite
def layer4(draw: st.DrawFn) -> Packet:
    match draw(st.sampled_from(["tcp", "udp", "icmp", "raw"])):
        case "tcp":
            flags = draw(st.sampled_from(["S", "SA", "A", "F", "PA"]))
            options = draw(st.sampled_from(TCP_OPTIONS))
            head = TCP(sport=draw(ports), dport=draw(ports), flags=flags, options=options)
        case "udp":
            head = UDP(sport=draw(ports), dport=draw(ports))
        case "icmp":
            head = ICMP(type=draw(st.sampled_from([0, 3, 8, 11])))
        case _:
            return Raw(draw(payloads))
    return head / Raw(draw(payloads))


@st.composite
def user(draw: st.DrawFn) -> Packet:
    packet = IP(
        src=draw(st.just(SOURCES[0]) | st.sampled_from(SOURCES)),
        dst=draw(st.sampled_from(TARGETS)),
        tos=draw(byte_values),
        ttl=draw(st.sampled_from([0, 1, 2, 64, 64, 64, 255])),
        id=draw(st.integers(0, 65535)),
        flags=draw(st.sampled_from([0, 1, 2])),
        frag=draw(st.sampled_from([0, 0, 0, 1, 100])),
        options=draw(st.sampled_from(OPTIONS)),
    )
    behind = draw(layer4())
    if draw(st.integers(0, 4)):
        return packet / behind
    part = packet / Raw(bytes(behind)[: draw(st.integers(0, 30))])  # a fragment may end anywhere
    part.proto = {TCP: 6, UDP: 17}.get(type(behind), 1)
    part.flags, part.frag = draw(st.sampled_from([(1, 0), (1, 0), (0, 1), (0, 2), (0, 3)]))
    return part


@st.composite
def gre(draw: st.DrawFn, keyed: bool) -> Packet:
    """Of an overlay with or without key; now and then of none."""
    odd = draw(st.integers(0, 4)) == 0
    head = GRE(
        chksum_present=draw(st.integers(0, 1)),
        key_present=int(keyed != odd),
        seqnum_present=draw(st.integers(0, 1)),
        version=draw(st.sampled_from([0, 0, 0, 0, 0, 1])),
        proto=0x0800,
    )
    head.key = draw(st.sampled_from([7, 7, 7, 8]))
    head.seqence_number = 5
    return head


@st.composite
def frames(draw: st.DrawFn) -> tuple[bytes, int]:
    """(frame, number of the port it comes in by), valid as scapy understands it."""
    port = draw(st.sampled_from([LAN, LAN, WAN1, WAN2]))
    packet = Ether(src=draw(st.sampled_from(STATIONS)), dst=draw(st.sampled_from(HARDWARE)))
    if port == LAN:
        if draw(st.booleans()):
            packet /= Dot1Q(vlan=draw(st.sampled_from([0, 7, 4095])))
    else:
        source, target, keyed = draw(st.sampled_from(TUNNELS))
        options = draw(st.sampled_from(OPTIONS))
        flags = draw(st.sampled_from([0, 2, 2, 2, 1]))
        packet /= IP(src=source, dst=target, tos=draw(byte_values), options=options, flags=flags)
        packet /= draw(gre(keyed))
    return bytes(packet / draw(user())) + bytes(draw(st.integers(0, 20))), port


anything = st.tuples(st.binary(max_size=120), st.sampled_from([LAN, WAN1, WAN2]))
