"""VLAN tags pushed, popped and exchanged: interpreter and kernel agree, and what leaves is what
scapy builds with those tags."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import IPv4Address
from pathlib import Path
from typing import NamedTuple

import pytest
from agreement import WAYS, Ruled, loaded, quick
from helioc.compiler.driver import check_file
from helioc.lang.contract.world.environment import Environment, Outcome, Port
from hypothesis import given, settings
from hypothesis import strategies as st
from linx_world import mac
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import ARP, Dot1AD, Dot1Q, Ether
from scapy.packet import Raw

ACCESS, TRUNK = 1, 2
SERVICE, CUSTOMER = 0x88A8, 0x8100
HOP = "10.2.0.1"
WORLD = Environment(
    ports=(
        Port(ACCESS, "ACCESS", "access", 11, 1500, mac("02:00:00:00:00:01")),
        Port(TRUNK, "TRUNK", "trunk", 12, 1500, mac("02:00:00:00:00:02")),
    ),
    neighbours={(TRUNK, int(IPv4Address(HOP))): mac("02:00:00:00:00:0c")},
)
#: What is done to frames, by the last byte of their source; S-tag 100 + that, C-tag 7.
MARKS = ("BRIDGE", "DOUBLE", "POP", "SWAP", "ROUTE", "BEFORE", "PASS", "BOTH")
REQUESTS = "create " + ", ".join(
    f"SEG {i + 1} [(source, u48, 02:00:00:00:00:{i:02x}), (mark, u8, {mark}), "
    f"(svid, u16, {100 + i}), (cvid, u16, 7), (way, u32, TRUNK), (hop, u32, {HOP})]"
    for i, mark in enumerate(MARKS)
)
FILE = Path(__file__).parents[1] / "compiler/lower/cases/pushes/tags.hp"


class Tag(NamedTuple):
    kind: int
    id: int
    pcp: int = 0
    dei: int = 0


class Frame(NamedTuple):
    """`kind`: the Ethernet type of what stands behind the tags."""

    to: str
    by: str
    tags: tuple[Tag, ...]
    kind: int
    content: bytes

    def __bytes__(self) -> bytes:
        frame = last = Ether(dst=self.to, src=self.by)
        for tag in self.tags:
            last.type = tag.kind
            word = Dot1AD if tag.kind == SERVICE else Dot1Q
            last = word(vlan=tag.id, prio=tag.pcp, dei=tag.dei)
            frame /= last
            last = frame.lastlayer()
        last.type = self.kind
        return bytes(frame) + self.content


@pytest.fixture(scope="module", params=WAYS)
def ruled(request: pytest.FixtureRequest, kernel: None) -> Iterator[Ruled]:
    with loaded(check_file(FILE), WORLD, request.param) as both:
        yield both.ruled(REQUESTS)


tags = st.builds(
    Tag,
    st.sampled_from([SERVICE, CUSTOMER, CUSTOMER, 0x9100]),
    st.integers(0, 4095),
    st.integers(0, 7),
    st.integers(0, 1),
)
PACKET = IP(src="10.1.0.1", dst="10.9.0.1", ttl=64) / UDP(sport=1, dport=2) / Raw(b"hallo")
contents = st.sampled_from(
    [
        (0x0800, bytes(PACKET)),
        (0x0800, bytes(PACKET) + bytes(13)),  # padding
        (0x0806, bytes(ARP(psrc="10.1.0.1", pdst="10.1.0.2"))),
        (0x86DD, bytes(60)),
        (0x88B5, b""),
        (0x88B5, b"x"),
    ]
)


@st.composite
def frames(draw: st.DrawFn) -> Frame:
    by = f"02:00:00:00:00:{draw(st.integers(0, len(MARKS) - 1)):02x}"
    stack = draw(st.lists(tags, max_size=3))
    return Frame("02:00:00:00:00:0f", by, tuple(stack), *draw(contents))


def expected(frame: Frame, mark: str, by: int) -> tuple[str, Frame] | None:
    """Verdict and frame; None: it is dropped, or what happens is not about tags."""
    kinds = [t.kind for t in frame.tags] + [0, 0]
    service, customer = Tag(SERVICE, 100 + by), Tag(CUSTOMER, 7)
    plain = not frame.tags and frame.kind == 0x0800
    match mark, kinds[0], kinds[1]:
        case "BRIDGE", first, _ if first != SERVICE:
            return "redirect", _tagged(frame, 0, Tag(SERVICE, 100, 5, 1))
        case "DOUBLE", first, _ if first not in (SERVICE, CUSTOMER):
            return "redirect", _tagged(frame, 0, service, customer)
        case "POP", first, _ if first in (SERVICE, CUSTOMER):
            return "redirect" if first == SERVICE else "tx", _tagged(frame, 1)
        case "SWAP", 0x88A8, 0x8100:
            other = service._replace(id=7), customer._replace(id=100 + by)
            return "redirect", _tagged(frame, 2, *other)
        case "SWAP", 0x8100, _:
            return "redirect", _tagged(frame, 1, service)
        case "ROUTE", _, _ if plain:
            sent = bytes(frame.content).replace(bytes(PACKET)[:20], bytes(_spent())[:20])
            there = frame._replace(to="02:00:00:00:00:0c", by="02:00:00:00:00:02", content=sent)
            return "redirect", _tagged(there, 0, service, customer)
        case "BEFORE", 0x8100, _:
            return "redirect", _tagged(frame, 0, service)
        case "PASS", _, _ if plain:
            return "pass", _tagged(frame, 0, service, customer)
        case "BOTH", 0x88A8, 0x8100:
            return "pass", _tagged(frame, 2)
    return None


def _tagged(frame: Frame, without: int, *new: Tag) -> Frame:
    return frame._replace(tags=(*new, *frame.tags[without:]))


def _spent() -> IP:
    packet = IP(bytes(PACKET))
    packet.ttl -= 1
    del packet.chksum
    return packet


@settings(quick, max_examples=300)
@given(frames())
def test_tags_are_scapys(ruled: Ruled, frame: Frame) -> None:
    by = int(frame.by[-2:], 16)
    outcome: Outcome = ruled.agree(bytes(frame), ACCESS)
    desired = expected(frame, MARKS[by], by)
    if desired is None:
        assert outcome.verdict == "drop"
    else:
        assert (outcome.verdict, outcome.frame) == (desired[0], bytes(desired[1]))
