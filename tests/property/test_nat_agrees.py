"""Addresses, ports and more changed in place, at the front and inside of tunnels: interpreter and
kernel agree, and scapy finds every checksum right that was right before."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from ipaddress import IPv4Address
from pathlib import Path

import pytest
from agreement import WAYS, Ruled, loaded, quick
from damage import damaged
from helioc.compiler.driver import check_file
from helioc.compiler.interpret.header_view import checksum
from helioc.lang.contract.world.environment import Environment, Port
from hypothesis import given, settings
from hypothesis import strategies as st
from linx_packets import OPTIONS, layer4
from linx_world import mac
from scapy.layers.inet import GRE, IP, TCP, UDP
from scapy.layers.l2 import Dot1Q, Ether
from scapy.packet import Packet

INSIDE, OUTSIDE = 1, 2
WORLD = Environment(
    ports=(
        Port(INSIDE, "INSIDE", "inside", 11, 1500, mac("02:00:00:00:00:01"), 1),
        Port(OUTSIDE, "OUTSIDE", "outside", 12, 1500, mac("02:00:00:00:01:01"), 2),
    )
)
REQUESTS = """
create NAT 1 [(from, u32, 10.0.0.1), (to, u32, 203.0.113.200), (port, u16, 4711), (class, u8, 46),
              (mac, u48, 02:00:00:00:00:99)],
       NAT 2 [(from, u32, 0.0.0.0), (to, u32, 255.255.255.255), (port, u16, 65535), (class, u8, 63),
              (mac, u48, 02:00:00:00:00:99)],
       NAT 3 [(from, u32, 255.255.255.255), (to, u32, 0.0.0.0), (port, u16, 0), (class, u8, 0),
              (mac, u48, ff:ff:ff:ff:ff:ff)]
"""
ADDRESSES = ["10.0.0.1", "0.0.0.0", "255.255.255.255", "10.0.0.7"]
FILE = Path(__file__).parents[1] / "compiler/lower/cases/assigns/nat.hp"


@pytest.fixture(scope="module", params=WAYS)
def ruled(request: pytest.FixtureRequest, kernel: None) -> Iterator[Ruled]:
    with loaded(check_file(FILE), WORLD, request.param) as both:
        yield both.ruled(REQUESTS)


@st.composite
def users(draw: st.DrawFn) -> Packet:
    packet = IP(
        src=draw(st.sampled_from(ADDRESSES)),
        dst=draw(st.sampled_from(["10.0.0.2", "0.0.0.0", "255.255.255.255"])),
        tos=draw(st.integers(0, 255)),
        id=draw(st.sampled_from([0, 1, 0xFFFF])),
        flags=draw(st.sampled_from([0, 0, 1, 2])),
        frag=draw(st.sampled_from([0, 0, 0, 100])),
        options=draw(st.sampled_from(OPTIONS)),
    ) / draw(layer4())
    if UDP in packet and draw(st.integers(0, 3)) == 0:
        packet[UDP].chksum = 0
    return packet


@st.composite
def frames(draw: st.DrawFn) -> tuple[bytes, int]:
    port = draw(st.sampled_from([INSIDE, OUTSIDE]))
    packet = Ether(src="02:00:00:00:00:0a", dst="02:00:00:00:00:0b")
    if draw(st.booleans()):
        packet /= Dot1Q(vlan=draw(st.integers(0, 4095)), prio=draw(st.integers(0, 7)))
    inner = draw(users())
    if port == OUTSIDE:
        packet /= IP(src="192.0.2.1", dst="192.0.2.2", options=draw(st.sampled_from(OPTIONS)))
        if draw(st.booleans()):
            key = draw(st.integers(0, 1))
            packet /= GRE(chksum_present=draw(st.integers(0, 1)), key_present=key, key=key)
        else:
            packet /= UDP(sport=5, dport=4000)
            if draw(st.booleans()):
                packet[UDP].chksum = 0
            data = bytes(inner)
            total = checksum(b"\4\0\0\0" + data)
            inner = b"\4\0" + total.to_bytes(2, "big") + data
    return bytes(packet / inner) + bytes(draw(st.integers(0, 9))), port


@settings(quick, max_examples=500)
@given(st.one_of(frames(), damaged(frames())))
def test_agree(ruled: Ruled, arriving: tuple[bytes, int]) -> None:
    ruled.agree(*arriving)


def wrong_sums(frame: bytes) -> list[str]:
    """Checksums that scapy computes otherwise; a fragment's is over more than itself."""
    found = []
    layer: Packet = Ether(frame)
    under = None
    while layer:
        if isinstance(layer, IP | TCP | UDP) or (isinstance(layer, GRE) and layer.chksum_present):
            whole = not (under and (under.flags.MF or under.frag))
            again = (under or layer).copy()
            target = again.getlayer(type(layer), 1)
            del target.chksum
            made = type(again)(bytes(again)).getlayer(type(layer), 1)
            there = not isinstance(layer, UDP) or layer.chksum
            if whole and there and made.chksum != layer.chksum:
                found.append(f"{layer.name}: {layer.chksum:#x}, not {made.chksum:#x}")
        under = layer if isinstance(layer, IP) else under
        layer = layer.payload
    return found


def test_sound_and_every_fate(ruled: Ruled) -> None:
    seen: Counter[str] = Counter()

    @settings(quick, max_examples=500, derandomize=True)
    @given(frames())
    def look(arriving: tuple[bytes, int]) -> None:
        frame, port = arriving
        outcome = ruled.agree(frame, port)
        if outcome.frame is None:
            return
        seen.update([outcome.verdict, *(f"{kind} {n}" for kind, n in outcome.counted)])
        sent, came = Ether(outcome.frame), Ether(frame)
        seen["changed"] += outcome.frame != frame
        assert len(outcome.frame) == len(frame)
        if not wrong_sums(frame):
            seen["right"] += 1
            assert wrong_sums(outcome.frame) == []
        for head in (TCP, UDP):
            if head in sent and port == INSIDE and not (sent[IP].frag or sent[IP].flags.MF):
                seen[head.__name__] += 1
                assert (sent[head].chksum == 0) == (came[head].chksum == 0)
        if port == OUTSIDE and UDP in came and came[UDP].dport == 4000:
            at = outcome.frame.index(b"\x0f\xa0", 20) + 6
            end = at + int.from_bytes(outcome.frame[at - 4 : at - 2], "big") - 8
            assert checksum(outcome.frame[at:end]) == 0
            seen["shim"] += 1

    look()
    for fate in ("pass", "tx", "changed", "right", "TCP", "UDP", "shim"):
        assert seen[fate] >= 10, (fate, seen)


def test_addresses_are_what_they_should_be(ruled: Ruled) -> None:
    packet = Ether() / IP(src="10.0.0.1", dst="10.0.0.2") / UDP(sport=1, dport=2) / b"x"
    outcome = ruled.agree(bytes(packet), INSIDE)
    assert outcome.frame is not None
    sent = Ether(outcome.frame)
    assert (sent[IP].src, sent[UDP].sport, sent[IP].tos >> 2) == ("203.0.113.200", 4711, 46)
    assert sent.dst == "02:00:00:00:00:99"
    swapped = Ether(
        bytes(Ether(src="02:00:00:00:00:05") / IP(src="10.0.0.7", dst=str(IPv4Address(9))))
    )
    outcome = ruled.agree(bytes(swapped), INSIDE)
    assert outcome.frame is not None
    sent = Ether(outcome.frame)
    assert (sent[IP].src, sent[IP].dst, sent.dst) == ("0.0.0.9", "10.0.0.7", "02:00:00:00:00:05")
