"""Packets that want to fool a parser, of each family of tunnels: lengths that disagree, fragments,
tunnels within tunnels deeper than the graph goes, headers that lead in circles or have no bytes.
None gets further than it says, and the reason of each that is malformed is counted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from checked import checked
from helioc.commands.packet_runs import Decodes, decoder
from helioc.compiler.captures.packets import Captured
from scapy.contrib.geneve import GENEVE
from scapy.contrib.gtp import GTP_U_Header, GTP_UDPPort_ExtensionHeader, GTPPDUSessionContainer
from scapy.contrib.mpls import MPLS
from scapy.layers.inet import GRE, IP, UDP
from scapy.layers.inet6 import (
    IPv6,
    IPv6ExtHdrDestOpt,
    IPv6ExtHdrFragment,
    IPv6ExtHdrHopByHop,
    IPv6ExtHdrSegmentRouting,
    PadN,
)
from scapy.layers.l2 import Ether
from scapy.layers.vxlan import VXLAN
from scapy.packet import Packet, Raw

EVERYTHING = Path(__file__).parent / "everything.hp"
LINK = Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02")
PLAIN = IP(src="10.0.0.1", dst="10.0.0.2") / UDP(sport=40000, dport=40001) / Raw(b"\xff" * 8)
#: What each family puts in front of a packet (or of a frame), outermost first.
TUNNELS: dict[str, Callable[[], Packet]] = {
    "gre": lambda: IP(src="192.0.2.1", dst="192.0.2.2") / GRE(proto=0x0800),
    "vxlan": lambda: _udp(4789) / VXLAN(vni=7, flags=8) / LINK,
    "geneve": lambda: _udp(6081) / GENEVE(vni=7, proto=0x6558) / LINK,
    "gtpu": lambda: _udp(2152) / GTP_U_Header(gtp_type=255, teid=7),
    "srv6": lambda: IPv6(src="fc00::1", dst="fc00::2") / _segments(),
    "mpls": lambda: MPLS(label=16, s=1, ttl=9),
}
FRAMED = ("vxlan", "geneve")
OVER_UDP = ("vxlan", "geneve", "gtpu")
#: Where lengths are, in bytes from the frame's start; the family's own packet begins at 14.
OUTER, UDP_LENGTH = 14, 14 + 20 + 4


def _udp(port: int) -> Packet:
    return IP(src="192.0.2.1", dst="192.0.2.2") / UDP(sport=50000, dport=port)


def _segments(**said: int) -> Packet:
    head = IPv6ExtHdrSegmentRouting(addresses=["fc00::2"], segleft=0, lastentry=0)
    for name, value in said.items():
        setattr(head, name, value)
    return head


@pytest.fixture(scope="module", params=["interpreter", "kernel"])
def decodes(request: pytest.FixtureRequest) -> Iterator[Decodes]:
    by_kernel = request.param == "kernel"
    if by_kernel:
        request.getfixturevalue("kernel")
    with decoder(checked(EVERYTHING), None, by_kernel) as asked:
        yield asked


def met(decodes: Decodes, frame: bytes) -> tuple[str, list[str]]:
    """Why a frame is malformed (empty if it is not), and the headers that were found."""
    found = decodes.decode(Captured(1, frame, len(frame)))
    return found.reason, [node.header.name for node in found.nodes]


def whole(family: str) -> bytes:
    return bytes(LINK / TUNNELS[family]() / PLAIN)


def changed(frame: bytes, at: int, by: int) -> bytes:
    """The frame with a length of 16 bits changed."""
    length = int.from_bytes(frame[at : at + 2], "big") + by
    return frame[:at] + length.to_bytes(2, "big") + frame[at + 2 :]


def outer_length(family: str) -> int:
    return OUTER + (4 if family == "srv6" else 2)


@pytest.mark.parametrize("family", TUNNELS)
def test_as_it_is_a_tunnel_is_opened(family: str, decodes: Decodes) -> None:
    reason, nodes = met(decodes, whole(family))
    assert (reason, nodes[-2:]) == ("", ["ipv4", "udp"])


# ---- lengths ------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", [f for f in TUNNELS if f != "mpls"])
def test_an_outer_packet_longer_than_the_frame(family: str, decodes: Decodes) -> None:
    version = "ipv6" if family == "srv6" else "ipv4"
    assert met(decodes, changed(whole(family), outer_length(family), 1))[0] == f"{version}: length"


@pytest.mark.parametrize("family", [f for f in TUNNELS if f != "mpls"])
def test_an_outer_packet_that_ends_in_the_inner_one(family: str, decodes: Decodes) -> None:
    reason, _ = met(decodes, changed(whole(family), outer_length(family), -1))
    assert reason == ("udp: length" if family in OVER_UDP else "passenger: length")


@pytest.mark.parametrize("family", TUNNELS)
def test_an_inner_packet_longer_than_the_outer_one(family: str, decodes: Decodes) -> None:
    frame = whole(family)
    assert met(decodes, changed(frame, len(frame) - len(PLAIN) + 2, 1))[0] == "passenger: length"


@pytest.mark.parametrize("family", OVER_UDP)
@pytest.mark.parametrize("by", [1, 1000, -1, -20, -1000])
def test_a_udp_length_of_its_own(family: str, by: int, decodes: Decodes) -> None:
    frame = whole(family)
    by = max(by, -int.from_bytes(frame[UDP_LENGTH : UDP_LENGTH + 2], "big"))  # at least 0
    reason, _ = met(decodes, changed(frame, UDP_LENGTH, by))
    inside = "gtpu: length" if family == "gtpu" else "inner: length"
    assert reason == (inside if -1000 < by < 0 and by >= -20 else "udp: length")


@pytest.mark.parametrize("by", [1, -1, -10])
def test_a_length_of_gtp_u_of_its_own(by: int, decodes: Decodes) -> None:
    frame = changed(whole("gtpu"), 14 + 20 + 8 + 2, by)
    assert met(decodes, frame)[0] == ("gtpu: length" if by > 0 else "passenger: length")


@pytest.mark.parametrize("family", TUNNELS)
def test_padding_belongs_to_nobody(family: str, decodes: Decodes) -> None:
    """But a frame in a tunnel has no length, so that what follows would be a part of it."""
    reason, nodes = met(decodes, whole(family) + bytes(9))
    assert reason == ("inner: length" if family in FRAMED else "")
    assert family in FRAMED or nodes[-1] == "udp"


# ---- fragments ----------------------------------------------------------------------------------


@pytest.mark.parametrize("family", [f for f in TUNNELS if f not in ("mpls", "srv6")])
def test_a_first_fragment_has_not_all_of_the_inner_packet(family: str, decodes: Decodes) -> None:
    packet = LINK / TUNNELS[family]() / PLAIN
    frame = bytes(packet)[:-8]
    frame = changed(frame[:20] + b"\x20\0" + frame[22:], 16, -8)
    reason, nodes = met(decodes, frame)
    assert (reason, nodes[-1]) == ("", {"gtpu": "udp", "gre": "gre"}.get(family, "ethernet"))


@pytest.mark.parametrize("family", [f for f in TUNNELS if f not in ("mpls", "srv6")])
def test_a_later_fragment_is_no_tunnel(family: str, decodes: Decodes) -> None:
    frame = whole(family)
    frame = frame[:20] + b"\x00\x01" + frame[22:]
    assert met(decodes, frame) == ("", ["ethernet", "ipv4"])


@pytest.mark.parametrize("offset", [0, 1])
def test_a_fragment_of_ipv6_is_no_tunnel(offset: int, decodes: Decodes) -> None:
    outer = IPv6(src="fc00::1", dst="fc00::2") / IPv6ExtHdrFragment(offset=offset, m=1, nh=43)
    assert met(decodes, bytes(LINK / outer / bytes(_segments() / PLAIN))) == (
        "",
        ["ethernet", "ipv6", "ipv6_fragment"],
    )


# ---- depth and circles --------------------------------------------------------------------------

DEEPEST = {
    "gre": ["ethernet", "ipv4", "gre", "ipv4"],
    "vxlan": ["ethernet", "ipv4", "udp", "vxlan", "ethernet", "ipv4", "udp"],
    "geneve": ["ethernet", "ipv4", "udp", "geneve", "ethernet", "ipv4", "udp"],
    "gtpu": ["ethernet", "ipv4", "udp", "gtpu", "ipv4", "udp", "gtpu", "ipv4"],
    "srv6": ["ethernet", "ipv6", "srh"],
    "mpls": ["ethernet", "mpls", "mpls", "mpls"],
}


@pytest.mark.parametrize("family", TUNNELS)
def test_tunnels_in_tunnels_end_where_the_graph_ends(family: str, decodes: Decodes) -> None:
    packet = LINK
    for i in range(5):
        packet = packet / (MPLS(label=16, s=i == 4) if family == "mpls" else TUNNELS[family]())
    assert met(decodes, bytes(packet / PLAIN)) == ("", DEEPEST[family])


def test_next_headers_in_a_circle(decodes: Decodes) -> None:
    """Each is met once, in the graph's order."""
    options = [PadN(optdata=b"1234")]
    packet = LINK / IPv6(src="fc00::1", dst="fc00::2")
    for _ in range(12):
        packet = packet / IPv6ExtHdrHopByHop(options=options) / IPv6ExtHdrDestOpt(options=options)
    found = ["ethernet", "ipv6", "ipv6_hop_by_hop", "ipv6_destination"]
    assert met(decodes, bytes(packet / UDP())) == ("", found)
    again = LINK / IPv6(src="fc00::1", dst="fc00::2") / _segments() / _segments() / PLAIN
    assert met(decodes, bytes(again)) == ("", ["ethernet", "ipv6", "srh"])


def test_extension_headers_of_gtp_u_without_an_end(decodes: Decodes) -> None:
    packet = LINK / _udp(2152) / GTP_U_Header(gtp_type=255, teid=7, E=1, next_ex=0x40)
    for _ in range(20):
        packet = packet / Raw(bytes(GTP_UDPPort_ExtensionHeader(udp_port=1, next_ex=0x40)))
    found = ["ethernet", "ipv4", "udp", "gtpu", "gtpu_extension"]
    assert met(decodes, bytes(packet / PLAIN)) == ("", found)


# ---- headers that lie about themselves ----------------------------------------------------------


@pytest.mark.parametrize("extension", [0x40, 0x85])
@pytest.mark.parametrize("units", [0, 200])
def test_extension_headers_of_no_bytes_or_too_many(
    extension: int, units: int, decodes: Decodes
) -> None:
    head = GTP_U_Header(gtp_type=255, teid=7, E=1, next_ex=extension)
    says = GTPPDUSessionContainer(type=1, QFI=5)
    frame = bytes(LINK / _udp(2152) / head / says / PLAIN)
    at = 14 + 20 + 8 + 12
    frame = frame[:at] + bytes([units]) + frame[at + 1 :]
    node = "pdu_session" if extension == 0x85 else "gtpu_extension"
    assert met(decodes, frame)[0] == f"{node}: {'truncated' if units else 'length'}"


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ({"segleft": 2}, "srh: invalid"),
        ({"segleft": 255}, "srh: invalid"),
        ({"len": 0}, "srh: length"),
        ({"len": 1}, "srh: length"),
        ({"len": 200}, "srh: truncated"),
        ({"lastentry": 1}, "srh: length"),
    ],
)
def test_segments_that_are_not_there(said: dict[str, int], reason: str, decodes: Decodes) -> None:
    frame = bytes(LINK / IPv6(src="fc00::1", dst="fc00::2") / _segments(**said) / PLAIN)
    assert met(decodes, frame)[0] == reason


def test_more_segments_than_are_ours(decodes: Decodes) -> None:
    head = IPv6ExtHdrSegmentRouting(addresses=["fc00::2"] * 9, segleft=0, lastentry=8)
    frame = bytes(LINK / IPv6(src="fc00::1", dst="fc00::2") / head / PLAIN)
    assert met(decodes, frame) == ("", ["ethernet", "ipv6"])


@pytest.mark.parametrize("header", [IPv6ExtHdrHopByHop, IPv6ExtHdrDestOpt])
def test_options_longer_than_the_packet(header: type[Packet], decodes: Decodes) -> None:
    frame = bytes(LINK / IPv6(src="fc00::1", dst="fc00::2") / header(len=200) / UDP())
    node = "ipv6_hop_by_hop" if header is IPv6ExtHdrHopByHop else "ipv6_destination"
    assert met(decodes, frame)[0] == f"{node}: truncated"


def test_geneve_options_longer_than_the_datagram(decodes: Decodes) -> None:
    frame = bytearray(whole("geneve"))
    frame[14 + 20 + 8] |= 63
    assert met(decodes, bytes(frame))[0] == "geneve: truncated"
