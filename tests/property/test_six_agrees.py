"""IPv6 around and inside of a tunnel: its UDP checksum is computed over whole frames, addresses in
it change in place. Interpreter and kernel agree, and scapy finds every checksum right."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from ipaddress import IPv6Address
from pathlib import Path

import pytest
from agreement import WAYS, Ruled, loaded, quick
from helioc.compiler.driver import check_file
from helioc.lang.contract.world.environment import Environment, Port
from hypothesis import given, settings
from hypothesis import strategies as st
from linx_world import mac
from scapy.layers.inet import TCP, UDP
from scapy.layers.inet6 import ICMPv6EchoRequest, IPv6, in6_chksum
from scapy.layers.l2 import Ether
from scapy.layers.vxlan import VXLAN
from scapy.packet import Packet, Raw

LAN, WAN = 1, 2
HERE, PEER = "2001:db8::1", "2001:db8::2"
WORLD = Environment(
    ports=(
        Port(LAN, "LAN", "lan", 11, 3000, mac("02:00:00:00:00:01")),
        Port(WAN, "WAN", "wan", 12, 3000, mac("02:00:00:00:01:01")),
    ),
    neighbours6={(WAN, int(IPv6Address(PEER))): mac("02:00:00:00:01:02")},
)
REQUESTS = f"""
create PATH 1 [(from, u128, fc00::1), (to, u128, fd00:1:2:3:4:5:6:7), (vni, u32, 5),
               (local, u128, {HERE}), (remote, u128, {PEER}), (interface, u32, WAN)],
       PATH 2 [(from, u128, ::), (to, u128, ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff), (vni, u32, 6),
               (local, u128, {HERE}), (remote, u128, {PEER}), (interface, u32, LAN)]
"""
FILE = Path(__file__).parents[1] / "compiler/lower/cases/assigns/six.hp"


@pytest.fixture(scope="module", params=WAYS)
def ruled(request: pytest.FixtureRequest, kernel: None) -> Iterator[Ruled]:
    with loaded(check_file(FILE), WORLD, request.param) as both:
        yield both.ruled(REQUESTS)


@st.composite
def frames(draw: st.DrawFn) -> tuple[bytes, int]:
    port = draw(st.sampled_from([LAN, WAN]))
    payload = Raw(draw(st.binary(max_size=30) | st.sampled_from([bytes(999), b"\xff" * 1300])))
    upper: Packet = {
        "tcp": TCP(sport=7, dport=9),
        "udp": UDP(sport=7, dport=9),
        "icmpv6": ICMPv6EchoRequest(),
        "raw": Raw(b"what"),
    }[draw(st.sampled_from(["tcp", "udp", "icmpv6", "raw"]))]
    source = draw(st.sampled_from(["fc00::1", "::", "fc00::7"]))
    inner = Ether(src="02:00:00:00:00:0a", dst="02:00:00:00:00:0b")
    inner /= IPv6(src=source, dst="fc00::9", hlim=draw(st.integers(0, 255))) / upper / payload
    if port == WAN:
        outer = Ether(src="02:00:00:00:01:02", dst="02:00:00:00:01:01")
        outer /= IPv6(src=PEER, dst=HERE) / UDP(sport=49152, dport=4789) / VXLAN(vni=5)
        if draw(st.booleans()):
            outer[UDP].chksum = 0
        inner = outer / inner
    return bytes(inner) + bytes(draw(st.integers(0, 9))), port


def right(frame: bytes) -> bool:
    """Whether every checksum over an IPv6 pseudo header is right; none is 0 but UDP's."""
    layer: Packet = Ether(frame)
    ip = None
    while layer:
        if isinstance(layer, IPv6):
            ip = layer
        name = "cksum" if isinstance(layer, ICMPv6EchoRequest) else "chksum"
        if ip and name in layer.fields and not (isinstance(layer, UDP) and not layer.chksum):
            number = {TCP: 6, UDP: 17}.get(type(layer), 58)
            data = bytes(ip)[40 : 40 + ip.plen]
            if in6_chksum(number, ip, data) not in (0, 0xFFFF):
                return False
        layer = layer.payload
    return True


@settings(quick, max_examples=200)
@given(frames())
def test_agree(ruled: Ruled, arriving: tuple[bytes, int]) -> None:
    frame, _ = arriving
    outcome = ruled.agree(*arriving)
    assert right(frame)
    assert outcome.frame is None or right(outcome.frame)


def test_every_fate(ruled: Ruled) -> None:
    seen: Counter[str] = Counter()

    @settings(quick, max_examples=150, derandomize=True)
    @given(frames())
    def look(arriving: tuple[bytes, int]) -> None:
        outcome = ruled.agree(*arriving)
        seen[f"{outcome.verdict} from {arriving[1]}"] += 1
        if outcome.verdict == "redirect" and arriving[1] == LAN:
            assert outcome.frame is not None
            sent = Ether(outcome.frame)
            assert sent[IPv6].dst == PEER and sent[UDP].chksum
            seen["carried"] += 1

    look()
    for fate in ("redirect from 1", "redirect from 2", "tx from 1", "tx from 2", "carried"):
        assert seen[fate] >= 5, (fate, seen)
