"""Test packets as scapy and tshark read them, who know nothing of how they are made."""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from helioc.runtime.stamp import times
from helioc.runtime.stamp.packets import TestPacket as Packet
from helioc.runtime.stamp.parameters import Parameters
from scapy.contrib.stamp import STAMPSessionSenderTestUnauthenticated
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6, IPv6ExtHdrSegmentRouting
from scapy.layers.l2 import Ether
from scapy.utils import wrpcap

FOUR = Parameters(7, "198.51.100.2", source="192.0.2.2", source_port=5000)
SIX = Parameters(0x1234, "fc00:b::2", source="fc00:a::2", dscp=46)
SIDS = ("fc00:c::e", "fc00:d::46")
WAYS = {
    "IPv4": FOUR,
    "IPv6": SIX,
    "padded": replace(SIX, length=48),
    "odd": replace(FOUR, length=1001),
    "PTP": replace(SIX, clock="PTP"),
    "own SRH": replace(SIX, sids=SIDS, way="OWN_SRH"),
    "H.Encaps": replace(SIX, sids=SIDS, way="H_ENCAPS", outer="fc00:a::9"),
    "H.Encaps of IPv4": replace(FOUR, sids=SIDS, way="H_ENCAPS", outer="fc00:a::9"),
    "H.Encaps.Red": replace(SIX, sids=SIDS, way="H_ENCAPS_RED", outer="fc00:a::9"),
    "one segment": replace(FOUR, sids=SIDS[:1], way="H_ENCAPS_RED", outer="fc00:a::9"),
}


def made(about: Parameters, number: int = 5) -> tuple[Packet, bytes]:
    packet = Packet(about, 20_000)
    return packet, bytes(packet.at_this_moment(number))


def layers(data: bytes) -> Any:
    return IP(data) if data[0] >> 4 == 4 else IPv6(data)


@pytest.mark.parametrize("name", WAYS)
def test_scapy_reads_what_was_meant(name: str) -> None:
    about = WAYS[name]
    packet, data = made(about, 2**32 + 5)
    found = layers(data)
    udp = found[UDP]
    assert (udp.sport, udp.dport, udp.len) == (about.source_port, 862, 8 + about.length)
    test = STAMPSessionSenderTestUnauthenticated(bytes(udp.payload))
    assert (test.seq, test.ssid) == (5, about.ssid)
    ptp = about.clock == "PTP"
    assert (1, int(ptp)) == (test.err_estimate.S, test.err_estimate.Z)
    assert bytes(udp.payload)[16:44] == bytes(28)
    now = int.from_bytes(bytes(udp.payload)[4:12], "big")
    assert 0 <= times.distance(now, times.now(about.clock), about.clock) < 5 * times.SECOND
    assert packet.destination == found.dst == (about.sids or (about.reflector,))[0]
    inner = found[IPv6 if about.version == 6 else IP] if about.way in ("ADDRESS", "OWN_SRH") else (
        found.payload[IP] if about.version == 4 else found.getlayer(IPv6, 2))  # fmt: skip
    assert inner.src == about.source
    if about.way != "OWN_SRH":
        assert inner.dst == about.reflector
    assert (inner.tos if about.version == 4 else inner.tc) == about.dscp << 2


@pytest.mark.parametrize("name", WAYS)
def test_checksums_are_those_that_scapy_computes(name: str) -> None:
    for number in (0, 1, 0xFFFF, 0xFFFFFFFF, 12345):
        _, data = made(WAYS[name], number)
        again = layers(data)
        sums = again[UDP].chksum
        del again[UDP].chksum
        assert layers(bytes(again))[UDP].chksum == sums


def test_segments_are_in_reverse_and_the_reflector_is_the_last() -> None:
    """RFC 8754 section 2 and 4.1; RFC 8986 section 5.1 and 5.2."""
    own = layers(made(WAYS["own SRH"])[1])[IPv6ExtHdrSegmentRouting]
    assert own.addresses == ["fc00:b::2", *reversed(SIDS)]
    assert (own.segleft, own.lastentry, own.nh) == (2, 2, 17)
    encaps = layers(made(WAYS["H.Encaps"])[1])[IPv6ExtHdrSegmentRouting]
    assert (encaps.addresses, encaps.segleft, encaps.nh) == ([*reversed(SIDS)], 1, 41)
    reduced = layers(made(WAYS["H.Encaps.Red"])[1])[IPv6ExtHdrSegmentRouting]
    assert (reduced.addresses, reduced.segleft, reduced.lastentry) == ([SIDS[1]], 1, 0)
    assert IPv6ExtHdrSegmentRouting not in layers(made(WAYS["one segment"])[1])


def test_padding_is_a_tlv_that_the_sender_says_is_unrecognized() -> None:
    """RFC 8972 section 4.1."""
    _, data = made(WAYS["odd"])
    tlv = data[-(1001 - 44) :]
    assert tlv[:4] == bytes([0x80, 1]) + (1001 - 48).to_bytes(2, "big")
    assert made(WAYS["padded"])[1][-4:] == bytes([0x80, 1, 0, 0])


@pytest.mark.usefixtures("tshark")
def test_tshark_finds_no_fault(tmp_path: Path) -> None:
    """With checksums, and the payload as the test packet of TWAMP, whose begin is the same
    (RFC 8762 section 4.2.1)."""
    path = tmp_path / "sent.pcap"
    frames = [Ether(type=0x0800 if data[0] >> 4 == 4 else 0x86DD) / data
              for data in (made(about)[1] for about in WAYS.values())]  # fmt: skip
    wrpcap(str(path), [Ether(bytes(each)) for each in frames])
    words = ["tshark", "-r", str(path), "-T", "json", "-d", "udp.port==862,twamp.test",
             "-o", "udp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE"]  # fmt: skip
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=True)
    read = json.loads(done.stdout)
    assert len(read) == len(WAYS)
    for name, each in zip(WAYS, read, strict=True):
        text = json.dumps(each)
        assert "malformed" not in text.lower() and "_ws.expert" not in text, name
        assert '"udp.checksum.status": "1"' in text, name
        test = each["_source"]["layers"]["twamp.test"]
        assert test["twamp.test.seq_number"] == "5", name
