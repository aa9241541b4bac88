"""Rows of LINX and the slice classifier for `passes`: few rules, and the packet that most are."""

from __future__ import annotations

from collections.abc import Iterator

from helioc.lang.contract.rules.rules import Matcher, Reference, Rule
from scapy.contrib.gtp import GTP_U_Header, GTPPDUSessionContainer
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import GRE, Ether
from scapy.layers.vxlan import VXLAN
from sessions import (
    ACCESS,
    CORE,
    ETHERNET,
    FIRST,
    HOST6,
    OURS,
    OURS6,
    PEER,
    PEER6,
    USER,
    VNI,
    Row,
    ports,
)

_LINX = ports("lan", "wan")
_KEY = 7
_HOST6 = "fd00:1::9"
_TEID = 100


def _linx(_: int) -> Iterator[Rule]:
    """Users of 10.64.0.0/16 are on the LAN, all others behind the overlay."""
    ends = (("local_ip", OURS), ("remote_ip", PEER), ("key", _KEY))
    match = tuple((name, Matcher("value", value)) for name, value in ends)
    out = (("interface", Reference("port", CORE)),)
    yield Rule("OVERLAY", 1, 1, "GRE-WAN1", match=match, references=out)
    for number, to in ((1, Reference("OVERLAY", 1)), (2, Reference("port", ACCESS))):
        yield Rule("FAR", number, number, values=(("action", 1),), references=(("interface", to),))
    any_ = (("protocol", Matcher("value", 17)),)
    yield Rule("PDR", 1, 1, match=any_, target=Reference("FAR", 1))
    inward = (("dst_ip", Matcher("prefix", FIRST, 16)),)
    yield Rule("PDR", 2, 2, match=inward, target=Reference("FAR", 2))


def _linx6(_: int) -> Iterator[Rule]:
    """The same of IPv6, by an overlay over IPv6."""
    ends = (("local_ip6", OURS6), ("remote_ip6", PEER6), ("key", _KEY))
    match = tuple((name, Matcher("value", value)) for name, value in ends)
    out = (("interface", Reference("port", CORE)),)
    yield Rule("OVERLAY6", 1, 1, "SIX", match=match, references=out)
    for number, to in ((1, Reference("OVERLAY6", 1)), (2, Reference("port", ACCESS))):
        yield Rule("FAR", number, number, values=(("action", 1),), references=(("interface", to),))
    any_ = (("protocol", Matcher("value", 17)),)
    yield Rule("PDR6", 1, 1, match=any_, target=Reference("FAR", 1))
    inward = (("dst_ip6", Matcher("prefix", HOST6 >> 64 << 64, 64)),)
    yield Rule("PDR6", 2, 2, match=inward, target=Reference("FAR", 2))


def _slice(_: int) -> Iterator[Rule]:
    match = (("tenant", Matcher("value", VNI)), ("teid", Matcher("value", _TEID)))
    values = (("queue", 3), ("overloaded", 0))
    yield Rule("SERVICE", 1, 1, match=match, values=values)


_OUT = IP(src="10.64.0.0", dst="198.51.100.9") / UDP(sport=4000, dport=53) / bytes(40)
_TUNNEL = IP(src="192.0.2.2", dst="192.0.2.1") / GRE(key_present=1, key=_KEY, proto=0x0800)
_OUT6 = IPv6(src=_HOST6, dst="fd00:2::9") / UDP(sport=4000, dport=53) / bytes(40)
_IN6 = IPv6(src="fd00:2::9", dst=_HOST6) / UDP(sport=53, dport=4000) / bytes(40)
_TUNNEL6 = IPv6(src="fe80::2", dst="fc00:a::") / GRE(key_present=1, key=_KEY, proto=0x86DD)
_TENANT = IP(src="192.0.2.2", dst="192.0.2.1") / UDP(sport=50000, dport=4789, chksum=0)
_TENANT /= VXLAN(vni=VNI) / Ether(dst="02:00:00:00:07:01", src="02:00:00:00:07:02")
_TENANT /= IP(src="192.168.7.2", dst="192.168.7.1") / UDP(sport=2152, dport=2152)
_FLOW = GTP_U_Header(teid=_TEID, gtp_type=255, E=1, next_ex=0x85)
_FLOW /= GTPPDUSessionContainer(type=1, QFI=9)
_PLAIN = GTP_U_Header(teid=_TEID, gtp_type=255)
_NIC = ports("nic", "nic")

FURTHER = (
    Row("linx", "into an overlay", _LINX, ACCESS, _linx, ETHERNET / _OUT, 0, ()),
    Row("linx", "out of one", _LINX, CORE, _linx, ETHERNET / _TUNNEL / USER, 0, ()),
    Row("linx", "IPv6 into one over IPv6", _LINX, ACCESS, _linx6, ETHERNET / _OUT6, 0, ()),
    Row("linx", "IPv6 out of one", _LINX, CORE, _linx6, ETHERNET / _TUNNEL6 / _IN6, 0, ()),
    Row("slice", "VXLAN", _NIC, ACCESS, _slice, ETHERNET / _TENANT / _PLAIN / USER, 0, ()),
    Row("slice", "of a QoS flow", _NIC, ACCESS, _slice, ETHERNET / _TENANT / _FLOW / USER, 0, ()),
)
