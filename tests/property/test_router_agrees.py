"""Interpreter and kernel agree on a router for both versions of IP: forwarding, tunnels of each in
each, ICMP and ICMPv6 errors, ECN, MSS."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from ipaddress import IPv4Address, IPv6Address, ip_network
from pathlib import Path

import pytest
from agreement import WAYS, Both, loaded, quick
from damage import damaged
from helioc.compiler.driver import check_file
from helioc.lang.contract.world.environment import Environment, Outcome, Port
from hypothesis import given, settings
from hypothesis import strategies as st
from router_packets import LAN, TARGETS4, TARGETS6, WAN, frames
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether

LAN_MAC, WAN_MAC = bytes.fromhex("020000000001"), bytes.fromhex("020000000002")
PEER = bytes.fromhex("0200000000f2")


def ip(text: str) -> int:
    return int(IPv6Address(text) if ":" in text else IPv4Address(text))


WORLD = Environment(
    ports=(
        Port(LAN, "LAN", "lan", 11, 1500, LAN_MAC, ip("10.1.0.1"), 0, ip("2001:db8:1::1")),
        Port(WAN, "WAN", "wan", 12, 1400, WAN_MAC, ip("192.0.2.1"), 9, ip("2001:db8:ff::1")),
    ),
    local=frozenset(map(ip, ("10.1.0.1", "192.0.2.1"))),
    neighbours={(WAN, ip("192.0.2.2")): PEER, (WAN, ip("10.5.0.1")): PEER},
    local6=frozenset(map(ip, ("2001:db8:1::1", "2001:db8:ff::1"))),
    neighbours6={
        (port, ip(address)): PEER
        for port, address in ((WAN, "fe80::2"), (WAN, "2001:db8:5::1"), (LAN, "2001:db8:1::10"))
    },
)
ROUTES = """
create ROUTE4 [(prefix4, u32, 10.2.0.0/16), (way, u8, PLAIN), (interface, u32, WAN),
               (gateway4, u32, 192.0.2.2)];
create ROUTE4 [(prefix4, u32, 10.3.0.0/16), (way, u8, GRE4), (interface, u32, WAN),
               (gateway6, u128, fe80::2)];
create ROUTE4 [(prefix4, u32, 10.4.0.0/16), (way, u8, IN6), (interface, u32, WAN),
               (local6, u128, 2001:db8:ff::1), (remote6, u128, fe80::2)];
create ROUTE4 [(prefix4, u32, 10.5.0.0/16), (way, u8, DIRECT), (interface, u32, WAN)];
create ROUTE6 [(prefix6, u128, 2001:db8:2::/48), (way, u8, PLAIN), (interface, u32, WAN),
               (gateway6, u128, fe80::2)];
create ROUTE6 [(prefix6, u128, 2001:db8:3::/48), (way, u8, IN4), (interface, u32, WAN),
               (local4, u32, 192.0.2.1), (remote4, u32, 192.0.2.2)];
create ROUTE6 [(prefix6, u128, 2001:db8:4::/48), (way, u8, GRE4), (interface, u32, WAN),
               (local4, u32, 192.0.2.1), (remote4, u32, 192.0.2.2), (key, u32, 7)];
create ROUTE6 [(prefix6, u128, 2001:db8:5::/48), (way, u8, DIRECT), (interface, u32, WAN)];
create ROUTE6 [(prefix6, u128, 2001:db8:6::/48), (way, u8, DIRECT), (interface, u32, LAN)];
create ROUTE6 [(prefix6, u128, 2001:db8:7::/48), (way, u8, IN6), (interface, u32, WAN),
               (local6, u128, 2001:db8:ff::1), (remote6, u128, fe80::2)];
create ROUTE6 [(prefix6, u128, 2001:db8:8::/48), (way, u8, GRE6), (interface, u32, WAN),
               (local6, u128, 2001:db8:ff::1), (remote6, u128, fe80::2), (key, u32, 8)]
"""


@pytest.fixture(scope="module", params=WAYS)
def both(request: pytest.FixtureRequest, kernel: None) -> Iterator[Both]:
    pipeline = check_file(Path(__file__).with_name("router.hp"))
    with loaded(pipeline, WORLD, request.param) as both:
        yield both


def test_packets(both: Both) -> None:
    book = both.book(ROUTES)

    @settings(quick, max_examples=400)
    @given(st.one_of(frames(), damaged(frames(), 120)))
    def agree(arriving: tuple[bytes, int]) -> None:
        both.agree(book, *arriving)

    agree()


@st.composite
def route(draw: st.DrawFn) -> str:
    """A route of any length that may hold anything."""
    six = draw(st.booleans())
    target = draw(st.sampled_from(TARGETS6 if six else TARGETS4))
    length = draw(st.sampled_from([1, 24, 31, 32, 33, 64, 65, 128] if six else [1, 8, 24, 31, 32]))
    network = ip_network(f"{target}/{length}", strict=False)
    way = draw(st.sampled_from(["PLAIN", "IN4", "IN6", "GRE4", "DIRECT", "GRE6"]))
    said = f"(way, u8, {way}), (interface, u32, {draw(st.sampled_from(['LAN', 'WAN']))})"
    gateway6 = draw(st.sampled_from(["fe80::2", "fe80::3"]))
    said += f", (gateway6, u128, {gateway6})"
    if six:
        said += ", (local4, u32, 192.0.2.1), (remote4, u32, 192.0.2.2)"
        said += ", (local6, u128, ::1), (remote6, u128, fe80::2)"
        return f"create ROUTE6 [(prefix6, u128, {network}), {said}]"
    said += ", (gateway4, u32, 192.0.2.2), (local6, u128, ::1), (remote6, u128, fe80::2)"
    return f"create ROUTE4 [(prefix4, u32, {network}), {said}]"


@settings(quick, max_examples=25)
@given(st.lists(route(), min_size=1, max_size=8), st.lists(frames(), min_size=4, max_size=10))
def test_routes_and_packets(
    both: Both, texts: list[str], arriving: list[tuple[bytes, int]]
) -> None:
    book = both.tried(*texts)
    for frame, port in arriving:
        both.agree(book, frame, port)


def test_the_strategies_reach_every_fate(both: Both) -> None:
    """And what leaves is what scapy would have written: lengths, checksums, next headers."""
    seen: Counter[str] = Counter()
    book = both.book(ROUTES)

    @settings(quick, max_examples=300, derandomize=True)
    @given(frames())
    def look(arriving: tuple[bytes, int]) -> None:
        outcome = both.agree(book, *arriving)
        seen.update([outcome.verdict, *(reason for _, reason in outcome.events)])
        if outcome.verdict == "tx":
            seen[_answer(outcome)] += 1

    look()
    for fate in ("pass", "drop", "redirect", "tx", "ttl_expired", "too_big", "ecn", "link-local",
                 "icmp", "icmpv6"):  # fmt: skip
        assert seen[fate] >= 3, seen


def _answer(outcome: Outcome) -> str:
    """Which error answers; an ICMPv6 one is as scapy writes it again."""
    assert outcome.frame is not None
    packet = Ether(outcome.frame)
    inner = packet.getlayer(IPv6)
    if inner is None or inner.nh != 58:
        return "icmp"
    written = bytes(inner)
    assert len(written) <= 1280
    del inner.plen, inner.payload.cksum
    assert bytes(IPv6(bytes(inner))) == written
    return "icmpv6"
