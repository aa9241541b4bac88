"""Packets that are given another end: interpreter and kernel agree, and scapy finds all lengths and
checksums right."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from agreement import JOINS, Both, quick
from helioc.compiler.bundle import compile_pipeline
from helioc.compiler.driver import check_file
from helioc.lang.contract.world.environment import Environment, Port
from helioc.runtime.loading.bundle import Bundle
from helioc.runtime.testrun.private_run import PrivateRun
from hypothesis import given, settings
from hypothesis import strategies as st
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.inet6 import IPv6, IPv6ExtHdrSegmentRouting
from scapy.layers.l2 import ARP, GRE, Dot1Q, Ether
from scapy.packet import Packet, Raw
from scapy.utils import checksum

WORLD = Environment(ports=(Port(1, "P", "p", 11, 1500, bytes(6), 0),))


@pytest.fixture(scope="module", params=JOINS)
def both(request: pytest.FixtureRequest, kernel: None) -> Iterator[Both]:
    pipeline = check_file(Path(__file__).with_name("appends.hp"))
    bundle = compile_pipeline(pipeline, request.param)
    with PrivateRun(Bundle(bundle.manifest, bundle.object)) as run:
        run.set_environment(WORLD)
        yield Both(pipeline, WORLD, run)


def ip4() -> Packet:
    return IP(src="10.0.0.1", dst="10.0.0.2")


def ip6() -> Packet:
    return IPv6(src="fd00::1", dst="fd00::2")


ports = st.sampled_from([1, 7, 9000])


def gre(draw: st.DrawFn) -> Packet:
    summed, keyed = draw(st.booleans()), draw(st.booleans())
    carried = draw(st.sampled_from([0x88B5, 0x88B6]))
    header = GRE(proto=carried, chksum_present=summed, key_present=keyed, key=9 * keyed)
    return header / sealed(draw) if carried == 0x88B5 else header


def sealed(draw: st.DrawFn) -> Raw:
    """The header of this name, its own sum right."""
    has_sum, has_end = draw(st.booleans()), draw(st.booleans())
    start = bytes((7, has_sum << 7 | has_end << 6, 0, 0))
    end = bytes(4) if has_end else b""
    total = checksum(start + end).to_bytes(2, "big")
    return Raw(start + (total if has_sum else b"") + end)


@st.composite
def frames(draw: st.DrawFn) -> bytes:
    link = Ether(dst="02:00:00:00:00:01", src="02:00:00:00:00:02")
    if draw(st.sampled_from([False, False, True])):
        link /= Dot1Q(vlan=7)
    options = [b"", b"\1\1\1\0"]
    networks = (
        lambda: IP(src="10.0.0.1", dst="10.0.0.2", options=draw(st.sampled_from(options))),
        ip6,
        lambda: ip4() / ip4(),
        lambda: ip6() / ip4(),
        lambda: (
            ip6()
            / IPv6ExtHdrSegmentRouting(
                addresses=["fd00::3", "fd00::2"], segleft=draw(st.integers(0, 1))
            )
        ),
    )
    uppers = (
        lambda: UDP(sport=draw(ports), dport=draw(ports)),
        lambda: UDP(sport=draw(ports), dport=draw(ports), chksum=0),
        lambda: TCP(sport=draw(ports), dport=draw(ports), options=[("MSS", 1460)]),
        lambda: ICMP(type=draw(st.sampled_from([0, 3])), code=3),
        lambda: gre(draw),
    )
    if draw(st.integers(0, 11)) == 0:
        packet = link / ARP()
    else:
        packet = link / draw(st.sampled_from(networks))() / draw(st.sampled_from(uppers))()
        packet /= Raw(draw(st.binary(max_size=40) | st.just(bytes(1200))))
    return bytes(packet) + bytes(draw(st.sampled_from([0, 0, 1, 40])))


def rebuilt(frame: bytes) -> bytes:
    """The packet as scapy would have sent it, its lengths and checksums its own."""
    packet = Ether(frame)
    layer: Packet | None = packet
    while layer is not None and not isinstance(layer, Raw):
        zero = isinstance(layer, UDP) and layer.chksum == 0
        for name in ("len", "plen", "chksum"):
            if name in layer.fields and not (zero and name == "chksum"):
                layer.delfieldval(name)
        layer = layer.payload if layer.payload else None
    return bytes(packet)


def assert_sealed(data: bytes) -> None:
    """Its length counts all of it, and its sums are right where it has them."""
    has_sum, has_end = data[1] >> 7 & 1, data[1] >> 6 & 1
    end = 4 + 2 * has_sum
    assert int.from_bytes(data[2:4], "big") == len(data)
    assert not has_end or not checksum(data)
    header = data[:end] + bytes(2) + data[end + 2 : end + 4] if has_end else data[:end]
    assert not has_sum or not checksum(header)


@settings(quick, max_examples=150)
@given(frames())
def test_what_leaves_is_whole(both: Both, frame: bytes) -> None:
    outcome = both.agree(both.empty(), frame, 1)
    if outcome.frame is not None and outcome.frame != frame:
        assert rebuilt(outcome.frame).hex() == outcome.frame.hex()
        packet = Ether(outcome.frame)
        if GRE in packet and packet[GRE].proto == 0x88B5:
            assert_sealed(bytes(packet[GRE].payload))


@settings(quick, max_examples=60)
@given(frames(), st.data())
def test_damaged_packets_agree(both: Both, frame: bytes, data: st.DataObject) -> None:
    at = data.draw(st.integers(12, len(frame) - 1))
    damaged = bytearray(frame)
    damaged[at] ^= data.draw(st.integers(1, 255))
    both.agree(both.empty(), bytes(damaged[: data.draw(st.integers(14, len(frame)))]), 1)


def test_the_strategies_reach_every_fate(both: Both) -> None:
    seen: Counter[str] = Counter()

    @settings(quick, max_examples=150, derandomize=True)
    @given(frames())
    def look(frame: bytes) -> None:
        outcome = both.agree(both.empty(), frame, 1)
        seen.update([outcome.verdict])
        if outcome.frame is not None:
            seen.update(
                [f"{outcome.verdict} {'longer' if len(outcome.frame) > len(frame) else ''}"]
            )

    look()
    for fate in ("pass longer", "pass ", "tx longer", "tx "):
        assert seen[fate] >= 3, seen
