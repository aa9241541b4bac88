"""The protocol by which the SRv6 edge finds a slice, in chains of extension headers that scapy
builds: all of up to three, and some that are longer, in front of UDP and of nothing."""

from __future__ import annotations

import random
from collections import Counter
from itertools import chain, product
from pathlib import Path

from helioc.compiler.driver import check_file, lower_pipeline
from helioc.compiler.interpret.packet import Interpreter
from helioc.compiler.manifest import manifest_of
from helioc.lang.contract.request.request_parser import parse_request
from helioc.lang.contract.rules.rulebook import RuleBook
from helioc.lang.contract.world.environment import Environment, Port
from helioc.lang.text.source import Source
from scapy.layers.inet import UDP
from scapy.layers.inet6 import (
    IPv6,
    IPv6ExtHdrDestOpt,
    IPv6ExtHdrFragment,
    IPv6ExtHdrHopByHop,
    IPv6ExtHdrRouting,
)
from scapy.layers.ipsec import AH
from scapy.layers.l2 import Ether
from scapy.packet import Packet, Raw

EDGE = Path(__file__).parents[2] / "pipelines" / "srv6_edge.hp"
UPPER = {17: bytes(UDP(sport=4000, dport=53) / Raw(b"question")), 59: b""}
#: By a letter: the number of an extension header, and one whose first byte says what is behind it.
HEADERS: dict[str, tuple[int, Packet]] = {
    "h": (0, IPv6ExtHdrHopByHop(len=0)),
    "d": (60, IPv6ExtHdrDestOpt(len=0)),
    "f": (44, IPv6ExtHdrFragment(id=7)),
    "r": (43, IPv6ExtHdrRouting(addresses=["fd00:3::9"])),
    "a": (51, AH(payloadlen=4, spi=7, icv=bytes(12))),
    "m": (135, Raw(bytes(8))),  # Mobility, HIP and Shim6 begin as destination options do
    "i": (139, Raw(bytes(8))),
    "s": (140, Raw(bytes(8))),
}
CHAINS = [
    "".join(letters)
    for letters in chain.from_iterable(product(HEADERS, repeat=n) for n in range(4))
]
WALKED, MOST = "hdfra", 8
MESSAGES = "mis"
CHANCE = random.Random(8200)
CHAINS += ["".join(CHANCE.choices(WALKED, k=n)) for n in (4, 5, 6, 7, 8, 9, 10) for _ in range(60)]


def frame(letters: str, upper: int) -> bytes:
    """Ethernet, IPv6, these extension headers, and what the number stands for."""
    numbers = [*(HEADERS[letter][0] for letter in letters), upper]
    behind = UPPER[upper]
    for letter, number in zip(reversed(letters), reversed(numbers[1:]), strict=True):
        behind = bytes([number]) + bytes(HEADERS[letter][1])[1:] + behind
    ip = IPv6(src="fd00:7::9", dst="fd00:2::9", nh=numbers[0])
    return bytes(Ether(src="02:00:00:00:00:02", dst="02:00:00:00:00:01") / ip / Raw(behind))


def walked(letters: str) -> bool:
    return set(letters) <= set(WALKED) and len(letters) <= MOST


def protocol(letters: str, upper: int) -> int | None:
    """What a SLICE may go by; None where its receiver goes by something behind it."""
    if walked(letters):
        return upper
    message = letters[-1] in MESSAGES and walked(letters[:-1])
    return HEADERS[letters[-1]][0] if message and upper == 59 else None


def test_no_packet_meets_a_slice_by_what_its_receiver_does_not_go_by() -> None:
    pipeline = check_file(EDGE)
    book = RuleBook(manifest_of(pipeline, lower_pipeline(pipeline)), {"BLUE": 1}, {1: 11})
    known = sorted({17, 59, *(number for number, _ in HEADERS.values())})
    slices = ", ".join(
        f"SLICE {slot} [(protocol, u8, {number}), (table, u32, 1)]"
        for slot, number in enumerate(known, 1)
    )
    book.commit(book.plan(parse_request(Source("rules", f"create {slices}"))))
    blue = Port(1, "BLUE", "access", 11, 1500, bytes(6))
    edge = Interpreter(pipeline, Environment(ports=(blue,)))
    found = Counter[int | None]()
    for letters, upper in product(CHAINS, UPPER):
        expected = protocol(letters, upper)
        outcome = edge.run(book, frame(letters, upper), 1)
        if expected is None:
            assert outcome.events[:1] == (("count", "extension_chain"),), (letters, upper, outcome)
            assert (outcome.verdict, outcome.counted) == ("drop", ()), (letters, upper)
        else:
            met = [rule for kind, rule in outcome.counted if kind == "SLICE"]
            assert met == [known.index(expected) + 1], (letters, upper, outcome)
        found[expected] += 1
    messages = {HEADERS[letter][0] for letter in MESSAGES}
    assert found.keys() == {None, *UPPER, *messages}
