"""Interpreter and kernel agree where values have 128 bits: matches, keys of five addresses,
records, comparisons, guards, hashes, pushes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from ipaddress import IPv6Address, IPv6Network
from pathlib import Path

import pytest
from agreement import WAYS, Both, loaded, quick
from helioc.compiler.driver import check_file
from helioc.lang.contract.world.environment import Environment, Port
from hypothesis import given, settings
from hypothesis import strategies as st
from scapy.layers.inet import UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
from scapy.packet import Packet, Raw

A = 1
WORLD = Environment((Port(A, "A", "a", 11, 1500, bytes(6)),))
ADDRESSES = ["2001:db8::1", "2001:db8::2", "2001:db8::7", "2001:db8:0:0:1::", "fd00::1", "::",
             "fc00::dead", "2fff::1", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"]  # fmt: skip
addresses = st.sampled_from(ADDRESSES)


@pytest.fixture(scope="module", params=WAYS)
def both(request: pytest.FixtureRequest, kernel: None) -> Iterator[Both]:
    pipeline = check_file(Path(__file__).with_name("wide.hp"))
    with loaded(pipeline, WORLD, request.param) as both:
        yield both


@st.composite
def prefix(draw: st.DrawFn) -> str:
    length = draw(st.sampled_from([1, 16, 63, 64, 65, 127, 128]))
    return str(IPv6Network(f"{draw(addresses)}/{length}", strict=False))


@st.composite
def masked(draw: st.DrawFn) -> str:
    mask = draw(st.sampled_from(["ffff::", "::ff", "ffff::ffff", "::1:0:0:0:0"]))
    return f"{draw(addresses)} & {mask}"


def parts(names: dict[str, st.SearchStrategy[str]]) -> st.SearchStrategy[list[str]]:
    chosen = st.fixed_dictionaries({}, optional=names)
    return chosen.map(lambda ies: [f"({n}, u128, {value})" for n, value in ies.items()])


@st.composite
def rule(draw: st.DrawFn) -> str:
    new = f"(new, u128, {draw(addresses)})"
    if draw(st.booleans()):
        lots = parts({"dst": addresses, "target": masked(), "origin": prefix(), "via": addresses})
        port = draw(st.sampled_from([[], ["(port, u16, 53)"], ["(port, u16, 50..60)"]]))
        some = [f"(src, u128, {draw(addresses)})", *draw(lots), *port, new]
        return f"create FLOW [{', '.join(some)}]"
    some = [*draw(parts({"dst": prefix(), "src": masked(), "maybe": addresses})), new]
    return f"create ROUTE [{', '.join(some)}]"


@st.composite
def frames(draw: st.DrawFn) -> bytes:
    def ip(**more: int) -> Packet:
        return IPv6(src=draw(addresses), dst=draw(addresses), fl=draw(st.integers(0, 9)), **more)

    inner = UDP(sport=4, dport=draw(st.sampled_from([53, 55, 61]))) / Raw(draw(st.binary()))
    if draw(st.booleans()):
        inner = ip() / inner
        if draw(st.booleans()):
            has_via = draw(st.booleans())
            shim = bytes([has_via << 7, draw(st.sampled_from([41, 41, 41, 42]))])
            for _ in range(2):
                shim += IPv6Address(draw(addresses)).packed
            shim += IPv6Address(draw(addresses)).packed if has_via else b""
            inner = ip(nh=200) / Raw(shim + bytes(inner))
            return bytes(Ether(dst="02:00:00:00:00:01", src="02:00:00:00:00:02") / inner)
        kind = draw(st.sampled_from([0x88B5, 0x88B5, 0x86DD]))
        return bytes(Ether(dst="02:00:00:00:00:01", src="02:00:00:00:00:02", type=kind) / inner)
    return bytes(Ether(dst="02:00:00:00:00:01", src="02:00:00:00:00:02") / ip() / inner)


@settings(quick, max_examples=40)
@given(st.lists(rule(), min_size=1, max_size=8), st.lists(frames(), min_size=4, max_size=10))
def test_rules_and_packets(both: Both, texts: list[str], arriving: list[bytes]) -> None:
    book = both.tried(*texts)
    for frame in arriving:
        both.agree(book, frame, A)


def test_the_strategies_reach_every_fate(both: Both) -> None:
    """Rules that match something are found, and headers with addresses pushed."""
    seen: Counter[str] = Counter()
    texts = ["ROUTE [(dst, u128, 2001:db8::/32), (new, u128, fd00::7)]"]
    texts += ["ROUTE [(dst, u128, 2001:db8::1), (new, u128, ::), (maybe, u128, fd00::8)]"]
    texts += [f"FLOW [(src, u128, {a}), (new, u128, 2001:db8::2)]" for a in ADDRESSES[:4]]
    texts += ["FLOW [(src, u128, 2001:db8::1), (target, u128, fd00:: & ff00::), (new, u128, ::)]"]
    book = both.book(f"create {', '.join(texts)}")

    @settings(quick, max_examples=300, derandomize=True)
    @given(frames())
    def look(frame: bytes) -> None:
        outcome = both.agree(book, frame, A)
        seen.update([outcome.verdict, *(kind for kind, _ in outcome.counted)])
        seen.update(node for node, _ in outcome.parsed)

    look()
    for fate in ("pass", "drop", "tx", "FLOW", "ROUTE", "shim", "i", "udp"):
        assert seen[fate] >= 10, seen
