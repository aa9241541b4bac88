"""What the rows of sessions send, and the rules that judge it: pipelines that ship, with as many
sessions as asked, each packet of a random one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv6Address

from helioc.compiler.bundle import Bundle
from helioc.lang.contract.base.lists import packed
from helioc.lang.contract.rules.rules import Matcher, Reference, Rule
from helioc.lang.contract.world.environment import Environment, Port
from helioc.runtime.kernel.handles import Program
from helioc.runtime.loading import bundle as loadable
from helioc.runtime.rules.plans import Changes
from helioc.runtime.testrun.private_run import PrivateRun
from measure import Load, Vary
from scapy.contrib.gtp import GTP_U_Header, GTPPDUSessionContainer
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6, IPv6ExtHdrSegmentRouting
from scapy.layers.l2 import Ether
from scapy.layers.vxlan import VXLAN
from scapy.packet import Packet

SESSIONS = (1, 1000, 100_000)
ETHERNET = Ether(dst="02:00:00:00:00:0a", src="02:00:00:00:00:0b")
USER = IP(src="198.51.100.9", dst="10.64.0.0") / UDP(sport=53, dport=4000) / bytes(40)
FIRST = int(IPv4Address("10.64.0.0"))  # of the addresses that distinguish sessions
OURS, PEER = int(IPv4Address("192.0.2.1")), int(IPv4Address("192.0.2.2"))
OURS6, PEER6 = int(IPv6Address("fc00:a::")), int(IPv6Address("fe80::2"))
HOST6 = int(IPv6Address("fd00:1::9"))
SID = int(IPv6Address("fc00:b::46"))
ACCESS, CORE = 1, 2
AT_ACCESS = int(IPv4Address("203.0.113.1"))
LOCAL = frozenset((OURS, AT_ACCESS))
MAC = bytes.fromhex("02000000000a")
PEER_MAC = bytes.fromhex("02000000000c")
POLICIES = 4000
VNI = 7


def ports(access: str, core: str) -> tuple[Port, ...]:
    return (
        Port(ACCESS, "ACCESS", access, 11, 1500, MAC, AT_ACCESS),
        Port(CORE, "CORE", core, 12, 1500, MAC, OURS),
    )


@dataclass(frozen=True)
class Row:
    """One pipeline and direction. `rules` are those of a number of sessions; `peers`: what others
    take for the same at 1, 1,000 and 100,000 sessions."""

    pipeline: str
    direction: str
    ports: tuple[Port, ...]
    arrival: int
    rules: Callable[[int], Iterator[Rule]]
    frame: Packet
    length: int  # of what leaves
    vary: tuple[tuple[int, int], ...]  # byte, base of four bytes each
    peers: Mapping[str, tuple[str, str, str]] = field(default_factory=dict)

    def load(self, sessions: int) -> Load:
        vary = tuple(Vary(at, 4, base, sessions) for at, base in self.vary)
        return Load(bytes(self.frame), vary, "redirect", self.length)

    def program(self, bundle: Bundle, sessions: int, owned: ExitStack) -> Program:
        return program(bundle, self.ports, self.arrival, self.rules(sessions), owned)


def program(
    bundle: Bundle, ports: tuple[Port, ...], arrival: int, rules: Iterable[Rule], owned: ExitStack
) -> Program:
    """A compiled pipeline, loaded and with its rules: what meets frames that arrive by a port."""
    return run_of(bundle, ports, rules, owned).entry(arrival)


def run_of(
    bundle: Bundle, ports: tuple[Port, ...], rules: Iterable[Rule], owned: ExitStack
) -> PrivateRun:
    """The same with its maps."""
    run = owned.enter_context(PrivateRun(loadable.Bundle(bundle.manifest, bundle.object)))
    to = {(port, address): PEER_MAC for port in (ACCESS, CORE) for address in (FIRST, PEER)}
    to6 = {(port, address): PEER_MAC for port in (ACCESS, CORE) for address in (PEER6, HOST6)}
    run.set_environment(Environment(ports, LOCAL, to, neighbours6=to6))
    run.apply(Changes(created=tuple(rules)))
    return run


def _value(**given: int) -> tuple[tuple[str, Matcher], ...]:
    return tuple((name, Matcher("value", value)) for name, value in given.items())


def _port(number: int) -> tuple[tuple[str, Reference], ...]:
    return (("interface", Reference("port", number)),)


# ---- upf ------------------------------------------------------------------------------------


def _uplink(sessions: int) -> Iterator[Rule]:
    """A PDR and a FAR each, as every session has its own."""
    out = (("action", 2), ("gateway", PEER))
    for i in range(sessions):
        yield Rule("FAR", i + 1, i + 1, values=out, references=_port(CORE))
        match, to = _value(teid=i, local_ip=OURS, ue_ip=FIRST + i), Reference("FAR", i + 1)
        yield Rule("UPLINK", i + 1, i + 1, priority=255, match=match, target=to)


def _downlink(sessions: int) -> Iterator[Rule]:
    for i in range(sessions):
        values = ("action", 3), ("local_ip", OURS), ("peer_ip", PEER), ("peer_teid", i), ("qfi", 9)
        yield Rule("FAR", i + 1, i + 1, values=values, references=_port(ACCESS))
        match, to = _value(ue_ip=FIRST + i), Reference("FAR", i + 1)
        yield Rule("DOWNLINK", i + 1, i + 1, priority=255, match=match, target=to)


# ---- vxlan_gateway --------------------------------------------------------------------------


def _vxlan(sessions: int) -> Iterator[Rule]:
    """A tenant, and as many named stations: 02:00:00:…; senders, 02:00:01:…, are learnt."""
    segment = (("vni", VNI), ("local_ip", OURS))
    match = (("port", Matcher("value", ACCESS)),)
    yield Rule("SEGMENT", 1, 1, match=match, values=segment)
    one = ("local_ip", OURS), ("remote_ip", PEER)
    yield Rule("VTEP", 1, 1, values=one, references=_port(CORE))
    to = (("port", Reference("port", ACCESS)),)
    yield Rule("TENANT", 1, 1, match=_value(vni=VNI), references=to)
    for i in range(sessions):
        match = _value(vni=VNI, mac=0x020000000000 + i)
        values = (("remote_ip", PEER),)
        yield Rule("STATION", i + 1, i + 1, match=match, values=values, references=_port(CORE))


# ---- srv6_edge ------------------------------------------------------------------------------


def _srv6(headend: int, segments: int) -> Callable[[int], Iterator[Rule]]:
    sids = packed([SID + i for i in range(segments)], 128, 8)
    policy = (("source", OURS6), ("sids", sids), ("headend", headend), ("gateway", PEER6))
    out = (("gateway4", PEER), ("gateway", PEER6))

    def rules(sessions: int) -> Iterator[Rule]:
        """As many routes, and as many policies as are possible."""
        match = (("port", Matcher("value", ACCESS)),)
        yield Rule("SLICE", 1, 1, match=match, values=(("table", 1),))
        sid = (("behaviour", 19), ("table", 2))
        yield Rule("SID", 1, 1, match=_value(sid=SID), values=sid)
        most = min(sessions, POLICIES)
        for i in range(1, most + 1):
            yield Rule("POLICY", i, i, values=policy, references=_port(CORE))
            yield Rule("NEXT", i, i, values=out, references=_port(ACCESS))
        for i in range(sessions):
            for table, kind in ((1, "POLICY"), (2, "NEXT")):
                to, number = Reference(kind, 1 + i % most), table * sessions + i + 1
                match = _value(table=table, dst4=FIRST + i)
                if (table == 1) == (segments > 0):
                    yield Rule("ROUTE4", number, number, match=match, target=to)

    return rules


# ---- the rows -------------------------------------------------------------------------------

_UPF, _VXLAN, _SRV6 = ports("n6", "n3"), ports("access", "underlay"), ports("access", "core")
_UP = ETHERNET / IP(src="192.0.2.2", dst="192.0.2.1") / UDP(sport=2152, dport=2152, chksum=0)
_UP /= GTP_U_Header(teid=0) / GTPPDUSessionContainer(type=1, QFI=9)
_UP /= IP(src="10.64.0.0", dst="198.51.100.9") / UDP(sport=4000, dport=53) / bytes(40)
_CARRIED = ETHERNET / IP(src="192.0.2.2", dst="192.0.2.1") / UDP(sport=50000, dport=4789, chksum=0)
_CARRIED /= VXLAN(vni=VNI) / Ether(dst="02:00:02:00:00:0a", src="02:00:01:00:00:00") / USER
_OUTER = IPv6(src="fc00:b::", dst="fc00:b::46")
_SRH = IPv6ExtHdrSegmentRouting(addresses=["fc00:b::46", "fc00:c::1"], segleft=0)
_IN, _KERNEL = len(ETHERNET / USER), "the kernel"
_SEG6, _VTEP = ("578",) * 3, ("534",) * 3

ROWS = (
    Row("upf", "uplink", (_UPF[0], _UPF[1]), CORE, _uplink, _UP, _IN, ((46, 0), (70, FIRST)),
        {"eUPF": ("81", "94-99", "650-753"), "Ella": ("118", "138", "719"),
         "reference": ("25", "24", "92")}),
    Row("upf", "downlink", _UPF, ACCESS, _downlink, ETHERNET / USER, _IN + 44, ((30, FIRST),),
        {"eUPF": ("84", "97-109", "458-791"), "Ella": ("118", "141", "930"),
         "reference": ("28", "28", "75")}),
    Row("vxlan_gateway", "encap", _VXLAN, ACCESS, _vxlan,
        Ether(dst="02:00:00:00:00:00", src="02:00:01:00:00:0b") / USER, _IN + 50, ((2, 0),),
        {_KERNEL: _VTEP}),
    Row("vxlan_gateway", "decap, learning", _VXLAN, CORE, _vxlan, _CARRIED, _IN,
        ((58, 0x01000000),)),
    Row("srv6_edge", "encap, no SRH", _SRV6, ACCESS, _srv6(2, 1), ETHERNET / USER, _IN + 40,
        ((30, FIRST),), {_KERNEL: _SEG6}),
    Row("srv6_edge", "encap, 3 segments", _SRV6, ACCESS, _srv6(1, 3), ETHERNET / USER, _IN + 96,
        ((30, FIRST),), {_KERNEL: _SEG6}),
    Row("srv6_edge", "End.DT4", _SRV6, CORE, _srv6(2, 0), ETHERNET / _OUTER / _SRH / USER, _IN,
        ((110, FIRST),)),
)  # fmt: skip


def row(pipeline: str, direction: str) -> Row:
    return next(r for r in ROWS if (r.pipeline, r.direction) == (pipeline, direction))
