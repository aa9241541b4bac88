"""Segment lists out of rules: interpreter and kernel push the same, and scapy reads in it what the
rule says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from ipaddress import IPv6Address
from pathlib import Path

import pytest
from agreement import WAYS, Both, loaded, quick
from helioc.compiler.driver import check_file
from helioc.lang.contract.world.environment import Environment, Port
from hypothesis import given, settings
from hypothesis import strategies as st
from scapy.layers.inet import IP, TCP
from scapy.layers.inet6 import IPv6, IPv6ExtHdrSegmentRouting
from scapy.layers.l2 import Ether
from scapy.packet import Raw

LAN, WAN = 1, 2
PEER = bytes.fromhex("0200000000f2")
SIDS = [f"fc00:{i:x}::{i:x}" for i in range(1, 12)]
WORLD = Environment(
    ports=(
        Port(LAN, "LAN", "lan", 11, 1500, bytes(6), 0x0A010001, 0, int(IPv6Address("fd00:1::1"))),
        Port(WAN, "WAN", "wan", 12, 1500, bytes(6), 0, 9, int(IPv6Address("fd00:2::1"))),
    ),
    neighbours6={(WAN, int(IPv6Address(sid))): PEER for sid in SIDS[:9]},
)


@pytest.fixture(scope="module", params=WAYS)
def both(request: pytest.FixtureRequest, kernel: None) -> Iterator[Both]:
    pipeline = check_file(Path(__file__).with_name("policy.hp"))
    with loaded(pipeline, WORLD, request.param) as both:
        yield both


lists = st.lists(st.sampled_from(SIDS), min_size=1, max_size=8)


def policies(sids: list[str], reduced: bool) -> tuple[str, str]:
    """To everywhere."""
    gives = f"(source, u128, fd00:2::1), (sids, u128, {', '.join(sids)}), (out, u32, WAN)"
    gives += f", (reduced, u8, {'YES' if reduced else 'NO'})"
    return f"create POLICY4 1 [{gives}]", f"create POLICY6 1 [{gives}]"


@st.composite
def frames(draw: st.DrawFn) -> bytes:
    payload = draw(st.binary(max_size=20) | st.sampled_from([bytes(1300), bytes(1440)]))
    hops = draw(st.sampled_from([1, 2, 64, 64]))
    tcp = TCP(flags="S", options=[("MSS", 1460)]) / Raw(payload)
    if draw(st.booleans()):
        ip = IPv6(src="fd00:1::2", dst="fd00:9::9", hlim=hops, tc=draw(st.integers(0, 255)))
    else:
        ip = IP(src="10.1.0.2", dst="10.9.0.9", ttl=hops, tos=draw(st.integers(0, 255)))
    link = Ether(dst="02:00:00:00:00:01", src="02:00:00:00:00:02")
    return bytes(link / ip / tcp) + bytes(draw(st.integers(0, 8)))


@settings(quick, max_examples=60)
@given(lists, st.booleans(), st.lists(frames(), min_size=2, max_size=6))
def test_what_is_pushed_is_what_the_rule_says(
    both: Both, sids: list[str], reduced: bool, arriving: list[bytes]
) -> None:
    book = both.tried(*policies(sids, reduced))
    for frame in arriving:
        outcome = both.agree(book, frame, LAN)
        if outcome.verdict != "redirect" or (reduced and len(sids) == 1):
            continue
        assert outcome.frame is not None
        outer = Ether(outcome.frame)[IPv6]
        srh = outer[IPv6ExtHdrSegmentRouting]
        expected = [IPv6Address(sid) for sid in reversed(sids[reduced:])]
        assert [IPv6Address(a) for a in srh.addresses] == expected
        assert (srh.segleft, srh.lastentry, srh.len) == (
            len(sids) - 1, len(expected) - 1, 2 * len(expected),
        )  # fmt: skip
        assert IPv6Address(outer.dst) == IPv6Address(sids[0])
        inner = Ether(frame).payload
        length = inner.len if IP in inner else inner.plen + 40
        assert outer.plen == 8 + 16 * len(expected) + length
        assert srh.nh == (4 if IP in inner else 41)


def test_the_strategies_reach_every_fate(both: Both) -> None:
    seen: Counter[str] = Counter()

    @settings(quick, max_examples=40, derandomize=True)
    @given(lists, st.booleans(), st.lists(frames(), min_size=3, max_size=5))
    def look(sids: list[str], reduced: bool, arriving: list[bytes]) -> None:
        book = both.tried(*policies(sids, reduced))
        for frame in arriving:
            outcome = both.agree(book, frame, LAN)
            seen.update([outcome.verdict, *(reason for _, reason in outcome.events)])

    look()
    for fate in ("redirect", "tx", "ttl_expired", "too_big", "unresolved"):
        assert seen[fate] >= 3, seen
