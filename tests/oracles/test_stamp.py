"""STAMP: test packets that scapy builds, in every form, and the answers as it reads them."""

from __future__ import annotations

from functools import cache
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path

import pytest
from checked import checked
from helioc.compiler.driver import lower_pipeline
from helioc.compiler.interpret.packet import Interpreter
from helioc.compiler.manifest import manifest_of
from helioc.lang.contract.request.request_parser import parse_request
from helioc.lang.contract.rules.rulebook import RuleBook
from helioc.lang.contract.world.environment import Environment, Port
from helioc.lang.text.source import Source
from hypothesis import given, settings
from hypothesis import strategies as st
from scapy.contrib.stamp import (
    ErrorEstimate,
    STAMPSessionReflectorTestUnauthenticated,
    STAMPSessionSenderTestUnauthenticated,
    STAMPTestTLV,
)
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6, IPv6ExtHdrSegmentRouting
from scapy.layers.l2 import Dot1Q, Ether
from scapy.packet import Packet, Raw

STAMP = Path(__file__).parents[2] / "pipelines" / "stamp.hp"
LINK = Ether(src="02:00:00:00:00:02", dst="02:00:00:00:00:01")
FOUR = IP(src="192.0.2.9", dst="192.0.2.1", ttl=61)
SIX = IPv6(src="fc00:b::9", dst="fc00:a::1", hlim=61)
TUNNEL = IPv6(src="fc00:b::", dst="fc00:a::46")
USED_UP = IPv6ExtHdrSegmentRouting(addresses=["fc00:a::1", "fc00:1::"], segleft=0, lastentry=1)
FORMS: dict[str, Packet] = {
    "IPv4": FOUR,
    "IPv6": SIX,
    "tagged": Dot1Q(vlan=7) / SIX,
    "SRH": SIX / USED_UP,
    "tagged SRH": Dot1Q(vlan=7) / SIX / USED_UP,
    "IPv4 in IPv6": TUNNEL / FOUR,
    "IPv6 in IPv6": TUNNEL / SIX,
    "IPv4 behind an SRH": TUNNEL / USED_UP / FOUR,
    "IPv6 behind an SRH": TUNNEL / USED_UP / SIX,
}
#: By session; the last SID is the sender's address.
WAYS = {1: "ADDRESS", 2: "H_ENCAPS", 3: "H_ENCAPS_RED", 4: "OWN_SRH"}
SIDS = ("fc00:1::", "fc00:2::", "fc00:b::9")
WORLD = Environment(
    ports=(Port(1, "WAN", "wan", 11, 1500, bytes(6)),),
    local=frozenset({int(IPv4Address("192.0.2.1"))}),
    local6=frozenset({int(IPv6Address("fc00:a::1"))}),
)


@cache
def book() -> RuleBook:
    pipeline = checked(STAMP)
    made = RuleBook(manifest_of(pipeline, lower_pipeline(pipeline)), {"WAN": 1}, {1: 11})
    rules = ", ".join(
        f"REFLECTOR {ssid} [(ssid, u16, {ssid}), (mode, u8, STATELESS), (clock, u8, NTP), "
        f"(way_back, u8, {way}), (source, u128, fc00:a::), (sids, u128, {', '.join(SIDS)})]"
        for ssid, way in WAYS.items()
    )
    text = f"create ENDPOINT 1 [(udp_port, u16, 862)]; create {rules}"
    made.commit(made.plan(parse_request(Source("r", text))))
    return made


def answer(packet: Packet) -> Packet | None:
    """What is sent back, as scapy reads it; None of one that is dropped."""
    outcome = Interpreter(checked(STAMP), WORLD).run(book(), bytes(packet), 1)
    if outcome.verdict == "drop":
        return None
    assert outcome.verdict == "tx" and outcome.frame is not None
    found = Ether(outcome.frame)
    assert bytes(computed_again(found)) == outcome.frame
    return found


def computed_again(found: Packet) -> Packet:
    """With scapy's own lengths and checksums."""
    again = found.copy()
    layer = again
    while not isinstance(layer, UDP):
        for name in ("len", "chksum", "plen"):
            if name in layer.fields:
                delattr(layer, name)
        layer = layer.payload
    del layer.len, layer.chksum
    return again


@pytest.mark.parametrize("ssid", WAYS, ids=WAYS.values())
@pytest.mark.parametrize("form", FORMS)
@settings(deadline=None, max_examples=15)
@given(
    number=st.integers(0, 2**32 - 1),
    estimate=st.binary(min_size=2, max_size=2),
    source=st.integers(1, 65535),
    behind=st.binary(max_size=40),
    tos=st.integers(0, 63).map(lambda dscp: dscp << 2),
)
def test_an_answer(
    form: str, ssid: int, number: int, estimate: bytes, source: int, behind: bytes, tos: int
) -> None:
    front = FORMS[form].copy()
    own = host(front)
    setattr(own, "tos" if IP in front else "tc", tos)
    data = bytes(STAMPSessionSenderTestUnauthenticated(
        seq=number, ssid=ssid, ts=3976214400.5, err_estimate=ErrorEstimate(estimate)
    ))  # fmt: skip
    found = answer(LINK / front / UDP(sport=source, dport=862) / data / Raw(behind))
    own_srh = WAYS[ssid] == "OWN_SRH"
    if own_srh and not (form in ("IPv6", "SRH") or form.startswith("tagged")):
        assert found is None
        return
    assert found is not None
    assert (found.src, found.dst) == (LINK.dst, LINK.src) and (Dot1Q in found) == (Dot1Q in front)
    assert (found[UDP].sport, found[UDP].dport) == (862, source)
    came = bytes(found[UDP].payload)
    read = STAMPSessionReflectorTestUnauthenticated(came)
    assert (read.seq, read.ssid, read.seq_sender, read.ttl_sender) == (number, ssid, number, 61)
    assert came[28:38] == data[4:14] and came[44:] == behind  # the sender's time and estimate
    last = host(found)
    assert (last.src, last.dst) == (own.dst, SIDS[0] if own_srh else own.src)
    assert (last.tos if IP in front else last.tc) == tos
    assert (last.ttl if IP in front else last.hlim) == 255
    path = written(found)
    assert path == {
        "ADDRESS": (),
        "H_ENCAPS": SIDS,
        "H_ENCAPS_RED": SIDS,
        "OWN_SRH": SIDS,
    }[WAYS[ssid]]  # fmt: skip


def host(packet: Packet) -> Packet:
    """The innermost header of IP."""
    *_, last = (layer for layer in packet.iterpayloads() if isinstance(layer, IP | IPv6))
    return last


def written(found: Packet) -> tuple[str, ...]:
    """The SIDs that a packet is yet to come to, first to last."""
    if IPv6ExtHdrSegmentRouting not in found:
        return ()
    srh = found[IPv6ExtHdrSegmentRouting]
    rest = tuple(reversed(srh.addresses[: srh.segleft]))
    return found[IPv6].dst, *rest


def test_tlvs_keep_the_flag_that_they_are_not_recognized() -> None:
    """RFC 8972 section 4.2."""
    sent = STAMPSessionSenderTestUnauthenticated(ssid=1)
    sent.tlv_objects = [STAMPTestTLV(flags="U", type=1, len=4, value=b"abcd")]
    found = answer(LINK / FOUR / UDP(sport=862, dport=862) / sent)
    assert found is not None
    (tlv,) = STAMPSessionReflectorTestUnauthenticated(bytes(found[UDP].payload)).tlv_objects
    assert (str(tlv.flags), tlv.type, tlv.value) == ("U", 1, b"abcd")
