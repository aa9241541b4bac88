"""Packets with each header that ships, built by scapy; the same ones every time."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from operator import truediv
from random import Random

from scapy.contrib.geneve import GENEVE, GeneveOptions
from scapy.contrib.gtp import (
    GTP_PDCP_PDU_ExtensionHeader,
    GTP_U_Header,
    GTP_UDPPort_ExtensionHeader,
    GTPEchoResponse,
    GTPPDUSessionContainer,
    IE_Recovery,
)
from scapy.contrib.mpls import MPLS
from scapy.layers.inet import GRE, ICMP, IP, TCP, UDP
from scapy.layers.inet6 import (
    MIP6MH_BRR,
    ICMPv6EchoReply,
    ICMPv6EchoRequest,
    IPv6,
    IPv6ExtHdrDestOpt,
    IPv6ExtHdrFragment,
    IPv6ExtHdrHopByHop,
    IPv6ExtHdrRouting,
    IPv6ExtHdrSegmentRouting,
    PadN,
)
from scapy.layers.ipsec import AH
from scapy.layers.l2 import ARP, Dot1Q, Ether
from scapy.layers.vxlan import VXLAN
from scapy.packet import Packet, Raw

_OPTIONS = [b"", b"\x94\x04\0\0", b"\x01" * 36]  # in GTP-U tshark takes 40 for no IPv4
_TCP_OPTIONS: list[list[tuple[str, object]]] = [
    [],
    [("MSS", 1460)],
    [("NOP", None), ("WScale", 7), ("MSS", 9000), ("SAckOK", b"")],
]


class Maker:
    """Draws values as they come, from a seed."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)

    def packets(self) -> Iterator[Packet]:
        for _ in range(12):
            link = self.link()
            yield link / ARP(
                op=self.bits(1) + 1, hwsrc=self.mac(), psrc=self.ip4(), pdst=self.ip4()
            )
            yield link / self.ipv4() / self.tcp()
            yield link / self.ipv4() / self.udp()
            yield link / self.ipv4() / ICMP(type=8, id=self.bits(16), seq=self.bits(16)) / b"ping"
            yield link / self.ipv4() / self.gre() / self.ipv4() / self.tcp()
            yield link / self.ipv4() / self.gre() / self.ipv4() / self.udp()
            yield link / self.ipv6() / self.tcp()
            yield link / self.ipv6() / self.udp()
            echo = ICMPv6EchoReply if self.bits(1) else ICMPv6EchoRequest
            yield link / self.ipv6() / echo(id=self.bits(16), seq=self.bits(16), data=b"ping")
            tunnel = self.ipv4() / UDP(sport=40000 + self.bits(8), dport=4789)
            yield self.link() / tunnel / self.vxlan() / self.ethernet() / self.ipv4() / self.udp()
            tenant = self.link() / tunnel / self.vxlan() / self.ethernet()
            yield tenant / self.gtpu() / self.ipv4() / self.tcp()
            yield tenant / self.gtpu(0x85) / self.session() / self.ipv4() / self.tcp()
            yield link / self.gtpu() / self.ipv4() / self.udp()
            yield link / self.gtpu(0x85) / self.session() / self.ipv4() / self.tcp()
            answer = GTPEchoResponse(IE_list=[IE_Recovery(restart_counter=self.bits(8))])
            tunnel = self.ipv4() / UDP(sport=2152, dport=2152)
            yield link / tunnel / GTP_U_Header(gtp_type=2, S=1, seq=self.bits(16)) / answer
            number = GTP_PDCP_PDU_ExtensionHeader(pdcp_pdu=self.bits(16))
            yield link / self.gtpu(0xC0) / number / self.ipv4() / self.udp()
            yield self.ethernet() / self.labels() / self.ipv4() / self.udp()
            tunnel = self.ipv4() / UDP(sport=40000 + self.bits(8), dport=6081) / self.geneve()
            yield link / tunnel / self.ethernet() / self.ipv4() / self.udp()
            options = [PadN(optdata=b"1234")]
            first = IPv6ExtHdrHopByHop(options=options)
            yield link / self.ipv6() / first / IPv6ExtHdrDestOpt(options=options) / self.tcp()
            secured = AH(nh=6, payloadlen=4, spi=self.bits(32), seq=self.bits(32), icv=bytes(12))
            yield link / self.ipv6() / secured / self.tcp()
            yield self.ethernet() / self.ipv6() / secured / self.tcp()
            yield link / self.ipv6() / MIP6MH_BRR()
            mobile = IPv6ExtHdrRouting(type=2, segleft=1, addresses=[self.ip6()])
            yield link / self.ipv6() / mobile / self.tcp()
            yield link / self.ipv6() / self.segments() / self.tcp()
            yield link / self.ipv6() / self.segments() / self.ipv4() / self.tcp()
            fragment = IPv6ExtHdrFragment(id=self.bits(32), m=self.bits(1))
            yield link / self.ipv6() / fragment / self.tcp()
            later = IPv6ExtHdrFragment(id=self.bits(32), offset=self.bits(12) + 1, nh=17)
            yield link / self.ipv6() / later / Raw(b"the rest")
            yield link / self.ipv4(flags=1) / self.udp()
            yield link / self.ipv4(frag=self.bits(12) + 1) / Raw(b"the rest")
            port = GTP_UDPPort_ExtensionHeader(udp_port=self.bits(16), next_ex=0x85)
            yield link / self.gtpu(0x40) / port / self.session() / self.ipv4() / self.udp()
            container = GTPPDUSessionContainer(type=1, QFI=self.bits(6), NextExtHdr=0x40)
            port = GTP_UDPPort_ExtensionHeader(udp_port=self.bits(16))
            yield link / self.gtpu(0x85) / container / port / self.ipv4() / self.udp()
            yield link / self.gtpu() / self.ipv6() / self.tcp()
            yield link / self.gtpu(0x85) / self.session() / self.ipv6() / self.tcp()
            walked = (first / IPv6ExtHdrDestOpt(options=options), secured, mobile, fragment)
            for headers in walked:
                yield tenant / self.gtpu() / self.ipv6() / headers / self.tcp()
            yield link / self.ipv6() / self.gre() / self.ipv4() / self.udp()
            yield link / self.ipv4() / self.gre(0x86DD) / self.ipv6() / self.tcp()

    def bits(self, count: int) -> int:
        return self._random.getrandbits(count)

    def mac(self) -> str:
        return (b"\x02" + self._random.randbytes(5)).hex(":")

    def ip4(self) -> str:
        return f"10.{self.bits(8)}.{self.bits(8)}.{self.bits(8)}"

    def ip6(self) -> str:
        return f"2001:db8::{self.bits(16):x}:{self.bits(16):x}"

    def ethernet(self) -> Packet:
        return Ether(src=self.mac(), dst=self.mac())

    def link(self) -> Packet:
        tag = Dot1Q(prio=self.bits(3), id=self.bits(1), vlan=self.bits(12))
        return self.ethernet() / tag if self.bits(1) else self.ethernet()

    def arp(self) -> Packet:
        return ARP(op=self.bits(1) + 1, hwsrc=self.mac(), psrc=self.ip4(), pdst=self.ip4())

    def ipv4(self, flags: int = 2, frag: int = 0) -> Packet:
        return IP(src=self.ip4(), dst=self.ip4(), tos=self.bits(8), id=self.bits(16), flags=flags,
                  frag=frag, ttl=self.bits(8), options=self._random.choice(_OPTIONS))  # fmt: skip

    def ipv6(self) -> Packet:
        return IPv6(src=self.ip6(), dst=self.ip6(), tc=self.bits(8), fl=self.bits(20),
                    hlim=self.bits(8))  # fmt: skip

    def tcp(self) -> Packet:
        options = self._random.choice(_TCP_OPTIONS)
        return TCP(sport=self.bits(16), dport=self.bits(16), seq=self.bits(32), ack=self.bits(32),
                   flags=self.bits(8), window=self.bits(16), urgptr=self.bits(16),
                   options=options)  # fmt: skip

    def udp(self) -> Packet:
        # Ports that tshark takes for nothing else.
        return UDP(sport=40000 + self.bits(8), dport=40000 + self.bits(8)) / Raw(b"\xff" * 8)

    def gre(self, protocol: int = 0x0800) -> Packet:
        return GRE(chksum_present=self.bits(1), key_present=self.bits(1), key=self.bits(32),
                   seqnum_present=self.bits(1), seqence_number=self.bits(32),
                   proto=protocol)  # fmt: skip

    def gtpu(self, extension: int = 0) -> Packet:
        sequence, number = self.bits(1), self.bits(1)
        head = GTP_U_Header(
            gtp_type=255, teid=self.bits(32), E=bool(extension), S=sequence, PN=number
        )
        if extension or sequence or number:
            head.next_ex, head.seq, head.npdu = extension, self.bits(16), self.bits(8)
        return self.ipv4() / UDP(sport=40000 + self.bits(8), dport=2152) / head

    def session(self) -> Packet:
        if self.bits(1):
            return GTPPDUSessionContainer(type=1, QFI=self.bits(6))
        policy = self.bits(1)
        return GTPPDUSessionContainer(type=0, PPP=policy, RQI=self.bits(1), QFI=self.bits(6))

    def labels(self) -> Packet:
        count = self.bits(1) + 1
        stack = [MPLS(label=self.bits(19) + 16, cos=self.bits(3), ttl=self.bits(8), s=i == count)
                 for i in range(count + 1)]  # fmt: skip
        return reduce(truediv, stack)

    def geneve(self) -> Packet:
        option = GeneveOptions(classid=self.bits(16), type=self.bits(8), data=b"abcd")
        return GENEVE(vni=self.bits(24), critical=self.bits(1), oam=self.bits(1), proto=0x6558,
                      options=option if self.bits(1) else b"")  # fmt: skip

    def segments(self) -> Packet:
        last = self.bits(3)
        addresses = [self.ip6() for _ in range(last + 1)]
        head = IPv6ExtHdrSegmentRouting(addresses=addresses, segleft=last, lastentry=last)
        head.tag = self.bits(16)
        return head

    def vxlan(self) -> Packet:
        return VXLAN(vni=self.bits(24), flags=8)
