"""Assignments in a row, of which checksums follow all at once: interpreter, intermediate
representation and kernel agree, also on the two zeros of a checksum (RFC 1624 section 3)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from agreement import WAYS, Ruled, loaded, quick
from damage import damaged
from helioc.compiler.driver import check_file
from helioc.compiler.interpret.header_view import checksum
from helioc.lang.contract.world.environment import Environment, Port
from hypothesis import given, settings
from hypothesis import strategies as st
from linx_world import mac
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Packet

INSIDE, OUTSIDE, BESIDE = 1, 2, 3
WORLD = Environment(
    ports=(
        Port(INSIDE, "INSIDE", "inside", 11, 1500, mac("02:00:00:00:00:01"), 1),
        Port(OUTSIDE, "OUTSIDE", "outside", 12, 1500, mac("02:00:00:00:01:01"), 2),
        Port(BESIDE, "BESIDE", "beside", 13, 1500, mac("02:00:00:00:02:01"), 3),
    )
)
FILE = Path(__file__).parent / "carried.hp"
WORDS = st.sampled_from([0, 1, 9, 10, 0x8000, 0xFFFE, 0xFFFF])
ADDRESSES = st.sampled_from(["0.0.0.0", "0.0.255.255", "10.0.0.1", "255.255.255.255"])
#: Checksums as they are right, and as nobody should send them.
SUMS = st.sampled_from([None, None, 0, 0xFFFF])


@pytest.fixture(scope="module", params=WAYS)
def ruled(request: pytest.FixtureRequest, kernel: None) -> Iterator[Ruled]:
    with loaded(check_file(FILE), WORLD, request.param) as both:
        yield both.ruled("")


@st.composite
def frames(draw: st.DrawFn) -> tuple[bytes, int]:
    user = IP(src=draw(ADDRESSES), dst=draw(ADDRESSES), id=draw(WORDS), chksum=draw(SUMS),
              tos=draw(st.integers(0, 255)))  # fmt: skip
    if draw(st.booleans()):
        user /= TCP(sport=draw(WORDS), dport=draw(WORDS), seq=draw(WORDS), window=draw(WORDS),
                    urgptr=draw(WORDS), chksum=draw(SUMS))  # fmt: skip
    else:
        user /= UDP(sport=draw(WORDS), dport=draw(WORDS), chksum=draw(SUMS))
    user /= draw(st.binary(max_size=9))
    port = draw(st.sampled_from([INSIDE, OUTSIDE, BESIDE]))
    ethernet = Ether(src="02:00:00:00:00:0a", dst="02:00:00:00:00:0b")
    if port == BESIDE:
        total = draw(st.sampled_from([0, 0xFFFF, checksum(b"\4\0\0\0" + bytes(user))]))
        ethernet.type = 0x88B5
        return bytes(ethernet) + b"\4\0" + total.to_bytes(2, "big") + bytes(user), port
    if port == OUTSIDE:
        user = draw(carriers(4000)) / user
        if draw(st.booleans()):
            user = draw(carriers(4001)) / user
    return bytes(ethernet / user), port


@st.composite
def carriers(draw: st.DrawFn, to: int) -> Packet:
    under = IP(src="192.0.2.1", dst="192.0.2.2", chksum=draw(SUMS))
    return under / UDP(sport=5, dport=to, chksum=draw(SUMS))


def test_agree(ruled: Ruled) -> None:
    seen = Counter[object]()

    @settings(quick, max_examples=500)
    @given(st.one_of(frames(), damaged(frames())))
    def look(arriving: tuple[bytes, int]) -> None:
        outcome = ruled.agree(*arriving)
        seen[outcome.verdict] += 1
        if outcome.frame not in (None, arriving[0]):
            seen["changed", arriving[1]] += 1

    look()
    assert seen["drop"] and all(seen["changed", n] >= 10 for n in (INSIDE, OUTSIDE, BESIDE))


@pytest.mark.parametrize("total", [0, 0xFFFF])
def test_nothing_is_assigned(ruled: Ruled, total: int) -> None:
    """Checksums that waited for nothing stay as they are, right or wrong."""
    user = IP(src="10.0.0.1", dst="10.9.9.9", id=0) / UDP(sport=1, dport=9)
    beside = Ether(type=0x88B5) / (b"\4\0" + total.to_bytes(2, "big")) / user
    inside = Ether() / IP(id=0, chksum=total) / UDP(dport=9, chksum=total)
    for port, packet in ((BESIDE, beside), (INSIDE, inside)):
        assert ruled.agree(bytes(packet), port).frame in (None, bytes(packet))


def right(packet: IP) -> bool:
    """Whether scapy computes the same checksums."""
    again = packet.copy()
    layer = again
    while layer:
        if "chksum" in layer.fields:
            del layer.chksum
        layer = layer.payload
    return bytes(again) == bytes(packet)


@pytest.mark.parametrize("port", [INSIDE, OUTSIDE])
@pytest.mark.parametrize("inner", [TCP(dport=7, urgptr=5, window=8000), UDP(sport=1, dport=53)])
def test_checksums_stay_right(ruled: Ruled, port: int, inner: TCP | UDP) -> None:
    """But for one that is copied into a field."""
    user = IP(src="10.0.0.1", dst="10.9.9.9", tos=8) / inner / b"four"
    carried = user if port == INSIDE else IP(src="192.0.2.1") / UDP(sport=5, dport=4000) / user
    outcome = ruled.agree(bytes(Ether() / carried), port)
    assert outcome.frame is not None
    sent = Ether(outcome.frame)[IP]
    if port == OUTSIDE:
        sent[UDP].decode_payload_as(IP)
    assert right(sent)
    assert sent.getlayer(IP, 1 if port == INSIDE else 2).src == "10.0.255.254"
