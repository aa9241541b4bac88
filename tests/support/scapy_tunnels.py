"""Packets that scapy builds of the headers in `pipelines/std`, and how scapy names their fields."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from ipaddress import IPv4Address, IPv6Address

from hypothesis import strategies as st
from scapy.contrib.geneve import GENEVE, GeneveOptions
from scapy.contrib.gtp import GTP_U_Header, GTP_UDPPort_ExtensionHeader, GTPPDUSessionContainer
from scapy.contrib.mpls import MPLS
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import (
    IPv6,
    IPv6ExtHdrDestOpt,
    IPv6ExtHdrFragment,
    IPv6ExtHdrHopByHop,
    IPv6ExtHdrSegmentRouting,
    IPv6ExtHdrSegmentRoutingTLVPadN,
    PadN,
)
from scapy.layers.l2 import Dot1AD, Dot1Q, Ether
from scapy.layers.vxlan import VXLAN
from scapy.packet import Packet, Raw

#: scapy's class to our header, and our fields by scapy's names where both have them.
FIELDS: dict[type[Packet], tuple[str, dict[str, str]]] = {
    Ether: ("ethernet", {"type": "type"}),
    Dot1Q: ("vlan", {"prio": "pcp", "dei": "dei", "vlan": "id", "type": "type"}),
    Dot1AD: ("vlan", {"prio": "pcp", "dei": "dei", "vlan": "id", "type": "type"}),
    MPLS: ("mpls", {"label": "label", "cos": "tc", "s": "bottom", "ttl": "ttl"}),
    IP: ("ipv4", {"ihl": "ihl", "len": "total_length", "ttl": "ttl", "src": "src", "dst": "dst"}),
    UDP: ("udp", {"sport": "src", "dport": "dst", "len": "length", "chksum": "checksum"}),
    VXLAN: ("vxlan", {"vni": "vni"}),
    GENEVE: (
        "geneve",
        {"optionlen": "option_words", "critical": "critical", "proto": "protocol", "vni": "vni"},
    ),
    GTP_U_Header: (
        "gtpu",
        {
            "E": "extension_present",
            "S": "sequence_present",
            "PN": "n_pdu_present",
            "gtp_type": "message",
            "length": "length",
            "teid": "teid",
            "seq": "sequence",
            "npdu": "n_pdu",
            "next_ex": "next_extension",
        },
    ),
    GTP_UDPPort_ExtensionHeader: (
        "gtpu_extension",
        {"length": "length", "next_ex": "next_extension"},
    ),
    GTPPDUSessionContainer: (
        "pdu_session",
        {"ExtHdrLen": "length", "type": "type", "QFI": "qfi", "NextExtHdr": "next_extension"},
    ),
    IPv6: (
        "ipv6",
        {"tc": "traffic_class", "fl": "flow_label", "plen": "payload_length", "nh": "next_header",
         "hlim": "hop_limit", "src": "src", "dst": "dst"},
    ),
    IPv6ExtHdrHopByHop: ("ipv6_hop_by_hop", {"nh": "next_header", "len": "length"}),
    IPv6ExtHdrDestOpt: ("ipv6_destination", {"nh": "next_header", "len": "length"}),
    IPv6ExtHdrFragment: (
        "ipv6_fragment",
        {"nh": "next_header", "offset": "fragment_offset", "m": "more_fragments", "id": "id"},
    ),
    IPv6ExtHdrSegmentRouting: (
        "srh",
        {"nh": "next_header", "len": "length", "segleft": "segments_left", "tag": "tag",
         "lastentry": "last_entry", "addresses": "segments"},
    ),
}  # fmt: skip

byte, word, long = (st.integers(0, (1 << n) - 1) for n in (8, 16, 32))
vni = st.integers(0, (1 << 24) - 1)
host4 = st.integers(1, 0xDFFFFFFF).map(lambda n: str(IPv4Address(n)))
host6 = st.integers(1, (1 << 128) - 1).map(lambda n: str(IPv6Address(n)))
user = st.builds(
    lambda a, b, p, q, load: IP(src=a, dst=b) / UDP(sport=p, dport=q) / Raw(load),
    host4, host4, word, st.integers(0, 1023), st.binary(min_size=1, max_size=9),
)  # fmt: skip


def ether() -> Ether:
    """With both addresses: scapy would ask the network for one that is left out."""
    return Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02")


def stacked(layers: list[Packet]) -> Packet:
    return reduce(lambda outer, inner: outer / inner, layers)


def seen(packet: Packet) -> Iterator[tuple[str, int, dict[str, object]]]:
    """Header, offset and fields of each layer that scapy finds in the frame, as our names and
    numbers, up to the first that it cannot or we need not know."""
    whole = len(packet.original)
    while type(packet) in FIELDS:
        header, names = FIELDS[type(packet)]
        fields = {ours: _number(packet.getfieldval(theirs)) for theirs, ours in names.items()}
        yield header, whole - len(packet.original), fields
        packet = packet.payload


def _number(value: object) -> object:
    if isinstance(value, list):
        return tuple(int(IPv6Address(each)) for each in value)
    if isinstance(value, str):
        return int(IPv6Address(value) if ":" in value else IPv4Address(value))
    return value


# ---- over IPv4 ------------------------------------------------------------------------------


@st.composite
def tunnels(draw: st.DrawFn) -> bytes:
    """A frame for the pipeline `tunnels`."""
    tags = draw(st.sampled_from(((), (Dot1Q,), (Dot1AD, Dot1Q), (Dot1Q, Dot1Q))))
    labels = draw(st.integers(0, 3))
    outer = IP(src=draw(host4), dst=draw(host4), options=draw(st.sampled_from(("", b"\x01" * 4))))
    link = [
        ether(),
        *(tag(vlan=draw(st.integers(0, 4095)), prio=draw(st.integers(0, 7))) for tag in tags),
    ]
    shims = [
        MPLS(label=draw(st.integers(0, (1 << 20) - 1)), s=i == labels - 1, ttl=draw(byte))
        for i in range(labels)
    ]
    kind = draw(st.sampled_from((_vxlan, _geneve, _gtpu, _gtpu)))
    return bytes(stacked([*link, *shims, outer, *kind(draw), draw(user)]))


def _vxlan(draw: st.DrawFn) -> list[Packet]:
    return [UDP(sport=draw(word), dport=4789), VXLAN(vni=draw(vni), flags=8), ether()]


def _geneve(draw: st.DrawFn) -> list[Packet]:
    data = st.integers(0, 4).map(lambda n: bytes(n * 4))
    options = [
        GeneveOptions(classid=draw(word), type=draw(byte), data=each)
        for each in draw(st.lists(data, max_size=3))
    ]
    bridged = draw(st.booleans())
    geneve = GENEVE(vni=draw(vni), options=options, proto=0x6558 if bridged else 0x0800)
    return [UDP(sport=draw(word), dport=6081), geneve, *([ether()] if bridged else [])]


def _gtpu(draw: st.DrawFn) -> list[Packet]:
    chain: list[Packet] = []
    if draw(st.integers(0, 3)):
        ports = draw(st.integers(0, 2))
        chain = [
            GTP_UDPPort_ExtensionHeader(
                udp_port=draw(word), next_ex=0x40 if i + 1 < ports else 0x85
            )
            for i in range(ports)
        ]
        chain.append(GTPPDUSessionContainer(type=0, QFI=draw(st.integers(0, 63)), NextExtHdr=0))
    header = GTP_U_Header(teid=draw(long), gtp_type=255)
    if chain:
        header.E, header.next_ex = 1, 0x85 if len(chain) == 1 else 0x40
    if draw(st.booleans()):
        header.S, header.seq = 1, draw(word)
    return [UDP(sport=draw(word), dport=2152), header, *chain]


# ---- IPv6 -----------------------------------------------------------------------------------


@st.composite
def extensions(draw: st.DrawFn) -> bytes:
    """A frame for the pipeline `extensions`."""
    layers: list[Packet] = [ether(), IPv6(src=draw(host6), dst=draw(host6), fl=draw(vni) >> 4)]
    pad = st.integers(0, 20).map(lambda n: [PadN(optdata=bytes(n))])
    if draw(st.booleans()):
        layers.append(IPv6ExtHdrHopByHop(options=draw(pad)))
    if draw(st.booleans()):
        layers.append(IPv6ExtHdrDestOpt(options=draw(pad)))
    if draw(st.booleans()):
        layers.append(_srh(draw))
    if draw(st.integers(0, 2)) == 0:
        layers.append(IPv6ExtHdrFragment(m=draw(st.integers(0, 1)), id=draw(long)))
    layers += [
        UDP(sport=draw(word), dport=draw(st.integers(0, 1023))),
        Raw(draw(st.binary(max_size=9))),
    ]
    return bytes(stacked(layers))


def _srh(draw: st.DrawFn) -> Packet:
    segments = draw(st.lists(host6, min_size=1, max_size=8))
    padding = IPv6ExtHdrSegmentRoutingTLVPadN(padding=bytes(6))
    return IPv6ExtHdrSegmentRouting(
        addresses=segments,
        segleft=draw(st.integers(0, len(segments))),
        lastentry=len(segments) - 1,
        tag=draw(word),
        tlv_objects=[padding] if draw(st.booleans()) else [],
    )
