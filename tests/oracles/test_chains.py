"""Extension headers of IPv6 and GTP-U in any order, as scapy builds and takes them apart: where
upf's parser finds the first of each, and what stands behind them."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from helioc.compiler.driver import check_file
from helioc.compiler.interpret.parse_packet import parse_packet
from scapy.contrib.gtp import GTP_U_Header
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import (
    IPv6,
    IPv6ExtHdrDestOpt,
    IPv6ExtHdrFragment,
    IPv6ExtHdrHopByHop,
    IPv6ExtHdrRouting,
    PadN,
)
from scapy.layers.l2 import Ether
from scapy.packet import Packet, Raw

UPF = check_file(Path(__file__).parents[2] / "pipelines" / "upf.hp")
MOST = 8
#: By the node: how scapy makes one of them, and its type.
OPTIONS: dict[str, tuple[type[Packet], dict[str, object]]] = {
    "hop_options": (IPv6ExtHdrHopByHop, {}),
    "dst_options": (IPv6ExtHdrDestOpt, {"options": [PadN(optdata=bytes(12))]}),
    "routing": (IPv6ExtHdrRouting, {"addresses": ["fd00::1"], "segleft": 0}),
    "part": (IPv6ExtHdrFragment, {"id": 7}),
}


@pytest.mark.parametrize("seed", range(60))
def test_the_first_of_each_option_is_found(seed: int) -> None:
    chance = random.Random(seed)
    names = chance.choices(list(OPTIONS), k=chance.randint(0, MOST + 1))
    packet: Packet = Ether(src="02:00:00:00:00:02", dst="02:00:00:00:00:01") / IPv6()
    for name in names:
        kind, values = OPTIONS[name]
        packet = packet / kind(**values)
    frame = bytes(packet / UDP(sport=4000, dport=53) / Raw(b"question"))
    found = dict(parse_packet(UPF.graph, "n6", frame).nodes)
    expected: dict[str, int] = {"ethernet": 0, "user6": 14}
    at, layer = 54, Ether(frame)[IPv6].payload
    for name in names[:MOST]:
        assert isinstance(layer, OPTIONS[name][0])
        expected.setdefault(name, at)
        at += len(layer) - len(layer.payload)
        layer = layer.payload
    if len(names) <= MOST:
        assert isinstance(layer, UDP)
        expected["udp"] = at
    assert found == expected


@pytest.mark.parametrize("seed", range(60))
def test_the_first_of_each_extension_is_found(seed: int) -> None:
    chance = random.Random(seed)
    types = chance.choices([0x85, 0x85, 0x40, 0x20, 0x03], k=chance.randint(0, MOST + 1))
    front = Ether(src="02:00:00:00:00:02", dst="02:00:00:00:00:01") / IP() / UDP(dport=2152)
    carried = bytes(IP(src="10.45.0.2", dst="198.51.100.9") / UDP() / Raw(b"question"))
    chain, at, expected = b"", 54, {"ethernet": 0, "outer": 14, "tunnel": 34, "gtpu": 42}
    for i, type_ in enumerate(types):
        words = chance.randint(1, 3)
        following = types[i + 1] if i + 1 < len(types) else 0
        chain += bytes([words]) + bytes(4 * words - 2) + bytes([following])
        if i < MOST:
            expected.setdefault("pdu_session" if type_ == 0x85 else "other", at)
        at += 4 * words
    if len(types) <= MOST:
        expected |= {"user": at, "udp": at + 20}
    first = types[0] if types else 0
    gtpu = GTP_U_Header(gtp_type=255, teid=7, E=1, next_ex=first, length=4 + len(chain + carried))
    frame = bytes(front / Raw(bytes(gtpu)[:12] + chain + carried))
    assert dict(parse_packet(UPF.graph, "n3", frame).nodes) == expected
