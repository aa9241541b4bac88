"""A VXLAN gateway: frames pushed into tunnels whole, popped out of them, bridged, routed.
Interpreter and kernel agree, and scapy finds every length and checksum right."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from ipaddress import IPv4Address
from pathlib import Path

import pytest
from agreement import WAYS, Ruled, loaded, quick
from damage import damaged
from helioc.compiler.driver import check_file
from helioc.lang.contract.world.environment import Environment, Port
from hypothesis import given, settings
from hypothesis import strategies as st
from linx_packets import OPTIONS, layer4
from linx_world import mac
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import ARP, Dot1Q, Ether
from scapy.layers.vxlan import VXLAN
from scapy.packet import Packet, Raw

LAN, WAN, TAGGED = 1, 2, 3
HERE, PEER = "192.0.2.1", "192.0.2.2"


def ip(text: str) -> int:
    return int(IPv4Address(text))


WORLD = Environment(
    ports=(
        Port(LAN, "LAN", "lan", 11, 1450, mac("02:00:00:00:00:01"), ip("10.9.0.254")),
        Port(WAN, "WAN", "wan", 12, 1500, mac("02:00:00:00:01:01"), ip(HERE)),
        Port(TAGGED, "TAGGED", "wan", 13, 1400, mac("02:00:00:00:02:01"), ip(HERE), vlan=200),
    ),
    neighbours={
        (WAN, ip(PEER)): mac("02:00:00:00:01:02"),
        (TAGGED, ip(PEER)): mac("02:00:00:00:02:02"),
        (LAN, ip("10.9.0.2")): mac("02:00:00:00:00:0b"),
    },
)
REQUESTS = f"""
create PEER 1 [(remote_ip, u32, {PEER}), (local_ip, u32, {HERE}), (vni, u32, 77),
               (interface, u32, LAN)],
       PEER 2 [(remote_ip, u32, {PEER}), (local_ip, u32, {HERE}), (vni, u32, 78),
               (interface, u32, TAGGED)];
create STATION 1 [(dst_mac, u48, 02:00:00:00:00:aa), (vni, u32, 77), (local_ip, u32, {HERE}),
                  (remote_ip, u32, {PEER}), (interface, u32, WAN)],
       STATION 2 [(dst_mac, u48, ff:ff:ff:ff:ff:ff), (vni, u32, 16777215), (local_ip, u32, {HERE}),
                  (remote_ip, u32, {PEER}), (interface, u32, TAGGED)],
       STATION 3 [(dst_mac, u48, 02:00:00:00:00:ab), (vni, u32, 77), (local_ip, u32, {HERE}),
                  (remote_ip, u32, 192.0.2.3), (interface, u32, WAN)]
"""
FILE = Path(__file__).parents[1] / "compiler/lower/cases/tunnels/vxlan.hp"


@pytest.fixture(scope="module", params=WAYS)
def ruled(request: pytest.FixtureRequest, kernel: None) -> Iterator[Ruled]:
    with loaded(check_file(FILE), WORLD, request.param) as both:
        yield both.ruled(REQUESTS)


MACS = ["02:00:00:00:00:aa", "ff:ff:ff:ff:ff:ff", "02:00:00:00:00:ab", "02:00:00:00:00:ac",
        "02:00:00:00:00:77"]  # fmt: skip


@st.composite
def tenants(draw: st.DrawFn) -> Packet:
    """A frame of a tenant."""
    frame = Ether(dst=draw(st.sampled_from(MACS)), src="02:00:00:00:00:0a")
    match draw(st.sampled_from(["ip", "ip", "ip", "arp", "other"])):
        case "ip":
            frame /= IP(
                src="10.9.0.10",
                dst=draw(st.sampled_from(["10.9.0.1", "10.9.0.2", "10.9.0.3"])),
                ttl=draw(st.sampled_from([0, 1, 2, 64])),
                tos=draw(st.sampled_from([0, 1, 2, 3, 0xB8])),
                flags=draw(st.sampled_from([0, 1, 2])),
                options=draw(st.sampled_from(OPTIONS)),
            ) / draw(layer4())
        case "arp":
            frame /= ARP(psrc="10.9.0.10", pdst="10.9.0.1")
        case _:
            frame /= Raw(draw(st.binary(max_size=30)))
            frame.type = 0x88B5
    return frame


@st.composite
def frames(draw: st.DrawFn) -> tuple[bytes, int]:
    port = draw(st.sampled_from([LAN, WAN, TAGGED]))
    inner = draw(tenants())
    if port == LAN:
        return bytes(inner) + bytes(draw(st.integers(0, 9))), port
    padding = bytes(draw(st.sampled_from([0, 0, 0, 0, 3])))  # behind a frame in a tunnel: malformed
    frame = Ether(dst="02:00:00:00:01:01", src="02:00:00:00:01:02")
    if draw(st.booleans()):
        frame /= Dot1Q(vlan=200)
    frame /= IP(
        src=PEER,
        dst=HERE,
        tos=draw(st.sampled_from([0, 1, 2, 3])),
        options=draw(st.sampled_from(OPTIONS)),
    )
    frame /= UDP(sport=50000, dport=draw(st.sampled_from([4789, 4789, 4789, 4790])))
    frame /= VXLAN(vni=draw(st.sampled_from([77, 77, 78, 79])), flags="Instance")
    if draw(st.booleans()):
        frame[UDP].chksum = 0
    return bytes(frame / inner) + padding, port


@settings(quick, max_examples=500)
@given(st.one_of(frames(), damaged(frames(), 100)))
def test_agree(ruled: Ruled, arriving: tuple[bytes, int]) -> None:
    ruled.agree(*arriving)


def test_sound_and_every_fate(ruled: Ruled) -> None:
    """What leaves in a tunnel is the frame itself behind right headers; what comes out of one is
    the frame that went in."""
    seen: Counter[str] = Counter()

    @settings(quick, max_examples=500, derandomize=True)
    @given(frames())
    def look(arriving: tuple[bytes, int]) -> None:
        frame, port = arriving
        outcome = ruled.agree(frame, port)
        seen.update([outcome.verdict, *(reason for _, reason in outcome.events)])
        if outcome.verdict != "redirect" or outcome.frame is None:
            return
        sent = Ether(outcome.frame)
        if port == LAN:
            seen["pushed"] += 1
            assert outcome.frame.endswith(frame) and VXLAN in sent
            assert sent[UDP].dport == 4789 and sent[UDP].chksum == 0
            assert sent[IP].len == len(frame) + 50 - 14
            assert sent[UDP].len == len(frame) + 16
            head = IP(bytes(sent[IP])[:20])
            del head.chksum
            assert bytes(head) == bytes(sent[IP])[:20]
            assert (Dot1Q in sent) == (outcome.egress == TAGGED)
        elif outcome.egress == LAN:
            routed = sent.dst not in MACS
            seen["routed" if routed else "bridged"] += 1
            assert frame.endswith(outcome.frame[26 if routed else 0 :])

    look()
    for fate in ("pass", "drop", "redirect", "pushed", "bridged", "routed", "unresolved",
                 "ttl_expired", "too_big", "in the clear", "PEER", "STATION",
                 "inner: length"):  # fmt: skip
        assert seen[fate] >= 2, (fate, seen)
