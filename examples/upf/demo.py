"""The UPF at work: a gNB whose every GTP-U byte scapy builds and dissects, a real data network.

    .venv/bin/python examples/upf/demo.py [--prefix upf-]

Needs root. Everything happens in network namespaces whose names begin with the prefix; they, and
what is loaded into the kernel, are gone at the end, also after Ctrl-C or a failure. Every fact
that is printed was measured: if one does not hold the demo says so, stops, and exits with 1.
"""

from __future__ import annotations

import socket
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from account import Account
from edges import Edge, hear_answers
from lab import Lab, Namespace, until
from scapy.contrib.gtp import (
    IE_TEIDI,
    GTP_U_Header,
    GTPEchoRequest,
    GTPEchoResponse,
    GTPErrorIndication,
    GTPPDUSessionContainer,
    IE_GSNAddress,
)
from scapy.layers.inet import ICMP, IP, TCP
from scapy.layers.inet6 import ICMPv6EchoReply, ICMPv6EchoRequest, IPv6, IPv6ExtHdrDestOpt
from showing import Demo, run
from traffic import drain, ping, udp_socket

HERE = Path(__file__).parent
TITLE = "a 5G user plane"
PICTURE = """
  UE 10.45.0.2         ┄ gNB 192.0.2.2 ══ N3, GTP-U ══ UPF ── N6 ──── data network 198.51.100.9
     2001:db8:45:2::7                                   │                            2001:db8:9::9
  UE 10.45.0.2 of another network                       └──── N6-B ── another one, 198.51.100.9"""
UE, UPF, SERVER = "10.45.0.2", "192.0.2.1", "198.51.100.9"
UE6, SERVER6 = "2001:db8:45:2::7", "2001:db8:9::9"
GTPU = 2152


@dataclass(frozen=True)
class World:
    gnb: Namespace
    upf: Namespace
    network: Namespace
    other: Namespace  # a data network with the same addresses


def build(lab: Lab) -> World:
    world = World(*(lab.namespace(name) for name in ("gnb", "upf", "dn", "dn-b")))
    lab.wire(world.gnb, "eth0", world.upf, "n3")
    lab.wire(world.network, "eth0", world.upf, "n6")
    lab.wire(world.other, "eth0", world.upf, "n6b")
    world.gnb.address("eth0", "192.0.2.2/24")
    world.upf.address("n3", f"{UPF}/24")
    world.upf.address("n6", "203.0.113.1/24", "2001:db8:6::1/64")
    world.network.address("eth0", "203.0.113.2/24", "2001:db8:6::2/64")
    world.network.address("lo", f"{SERVER}/32", f"{SERVER6}/128")
    world.network.route("10.45.0.0/16", "203.0.113.1")
    world.network.route("2001:db8:45::/48", "2001:db8:6::1")
    world.upf.address("n6b", "203.0.114.1/24")
    world.other.address("eth0", "203.0.114.2/24")
    world.other.address("lo", f"{SERVER}/32")
    world.other.route("10.45.0.0/16", "203.0.114.1")
    for neighbour in ("192.0.2.2", "203.0.113.2", "203.0.114.2", "2001:db8:6::2"):
        assert ping(world.upf, neighbour, 1).lost == 0  # so that the next hops are known
    hear_answers([(world.gnb, "eth0")])
    return world


class Gnb:
    """Speaks GTP-U for the UE."""

    def __init__(self, socket_: socket.socket) -> None:
        self.socket = socket_

    def send(self, inner: Any, teid: int = 100, qfi: int | None = 9, **fields: Any) -> None:
        header = GTP_U_Header(teid=teid, gtp_type=255, **fields)
        container = GTPPDUSessionContainer(type=1, QFI=qfi) if qfi is not None else None
        packet = header / container / inner if container else header / inner
        self.socket.sendto(bytes(packet), (UPF, GTPU))

    def received(self, count: int, seconds: float = 5) -> list[Any]:
        """What the UPF sends: up to `count` GTP-U packets."""
        return [GTP_U_Header(data) for data, _ in drain(self.socket, count, seconds)]


def echo(number: int) -> Any:
    return IP(src=UE, dst=SERVER) / ICMP(type=8, id=7, seq=number) / b"hello"


def session(say: Account, gnb: Gnb, edge: Edge) -> None:
    say.step("A PDU session: up, into the data network, and back")
    for number in range(10):
        gnb.send(echo(number))
    back = gnb.received(10)
    say.fact(len(back) == 10, f"the server's answers come by tunnel: {len(back)} of 10")
    say.fact({p.teid for p in back} == {200}, "to the gNB's TEID 200")
    containers = [p[GTPPDUSessionContainer] for p in back]
    say.fact({(c.type, c.QFI) for c in containers} == {(0, 9)}, "as QoS flow 9, downlink")
    inner = [p[IP] for p in back]
    say.fact([i[ICMP].seq for i in inner] == list(range(10)), "each once, in order")
    say.fact({i.ttl for i in inner} == {63}, "one hop further")
    counted = [edge.packets(kind, 1) for kind in ("UPLINK", "DOWNLINK")]
    say.fact(counted == [10, 10], f"counted by PDR: {counted[0]} up, {counted[1]} down")


def session6(say: Account, gnb: Gnb, edge: Edge) -> None:
    say.step("The same session's IPv6, through the same tunnel")
    for number in range(10):
        gnb.send(IPv6(src=UE6, dst=SERVER6) / ICMPv6EchoRequest(id=7, seq=number))
    back = gnb.received(10)
    inner = [p[IPv6] for p in back]
    flows = {(p.teid, p[GTPPDUSessionContainer].QFI) for p in back}
    say.fact(flows == {(200, 9)}, "the server's answers come to TEID 200, as QoS flow 9")
    say.fact([i[ICMPv6EchoReply].seq for i in inner] == list(range(10)), "each once, in order")
    say.fact({i.hlim for i in inner} == {63}, "one hop further")
    counted = [edge.packets(kind, 1) for kind in ("UPLINK6", "DOWNLINK6")]
    say.fact(counted == [10, 10], f"counted by PDR: {counted[0]} up, {counted[1]} down")


def variants(say: Account, gnb: Gnb) -> None:
    say.step("GTP-U as other gNBs write it")
    gnb.send(echo(1), qfi=None)
    gnb.send(echo(2), qfi=None, S=1, seq=77)
    gnb.send(echo(3), qfi=None, PN=1)
    say.fact(
        len(gnb.received(3)) == 3, "no container, a sequence number only, an N-PDU number only"
    )


def filters(say: Account, gnb: Gnb, edge: Edge) -> None:
    say.step("What the session may not")
    gnb.send(IP(src=UE, dst=SERVER) / TCP(sport=4000, dport=23, flags="S"))
    gnb.send(IP(src=UE, dst=SERVER) / TCP(sport=4000, dport=80, flags="S"))
    (answer,) = gnb.received(1)
    say.fact(answer[TCP].sport == 80, "port 80 answers")
    say.fact(edge.packets("FAR", 3) == 1, "port 23 is dropped by an SDF filter, and counted")
    before = edge.event("miss", "UPLINK")
    gnb.send(echo(1), teid=999)
    gnb.send(IP(src="10.45.0.3", dst=SERVER) / ICMP(type=8))
    say.fact(not gnb.received(1, 0.3), "nothing answers an unknown TEID or a spoofed sender")
    say.fact(
        edge.event("miss", "UPLINK") == before + 2, "both went to the kernel, and were counted"
    )


def confined(say: Account, gnb: Gnb, edge: Edge) -> None:
    say.step("Where it does not lead: to the host, to groups, past a filter")
    telnet = TCP(sport=4000, dport=23, flags="S")
    gnb.send(IP(src=UE, dst=UPF) / ICMP(type=8))
    gnb.send(IPv6(src=UE6, dst="2001:db8:6::1") / ICMPv6EchoRequest())
    gnb.send(IPv6(src=UE6, dst="ff02::1") / ICMPv6EchoRequest())
    chained = IPv6(src=UE6, dst=SERVER6)
    for _ in range(9):  # one more than are walked
        chained /= IPv6ExtHdrDestOpt()
    gnb.send(chained / telnet)
    say.fact(not gnb.received(1, 0.3), "the UPF itself does not answer, nor does a link")
    dropped = [edge.event("count", n) for n in ("local_address", "multicast", "extension_chain6")]
    say.fact(
        dropped == [2, 1, 1], "dropped and counted, as is telnet behind nine extension headers"
    )


def alive(say: Account, gnb: Gnb, edge: Edge) -> None:
    say.step("Is the UPF alive? Echo requests (TS 29.281 clause 7.2)")
    before = edge.packets("ENDPOINT", 1)
    for number in range(3):
        gnb.socket.sendto(
            bytes(GTP_U_Header(gtp_type=1, S=1, seq=number) / GTPEchoRequest()), (UPF, GTPU)
        )
    back = gnb.received(3)
    say.fact(
        [(p.gtp_type, p.seq) for p in back] == [(2, n) for n in range(3)],
        "each answered in the data path",
    )
    recovery = [p[GTPEchoResponse].IE_list[0].restart_counter for p in back]
    say.fact(recovery == [0, 0, 0], "with the element Recovery, 0")
    say.fact(edge.packets("ENDPOINT", 1) == before + 3, "and counted by endpoint")


def unknown(say: Account, gnb: Gnb, edge: Edge) -> None:
    say.step("A tunnel that one end does not know any more (TS 29.281 clause 7.3.1)")
    edge.control("update", "ENDPOINT 1 [(unknown_teid, u8, ERROR_INDICATION)]")
    gnb.send(echo(1), teid=999)
    (error,) = gnb.received(1)
    teid, address = error[GTPErrorIndication].IE_list
    named = (error.gtp_type, teid.TEIDI, address.ipv4_address)
    say.fact(named == (26, 999, UPF), "an error indication names the TEID and the UPF's address")
    gnb.send(IP(src="10.45.0.3", dst=SERVER) / ICMP(type=8))
    say.fact(not gnb.received(1, 0.3), "a spoofed sender in a known tunnel gets none")
    lost = GTPErrorIndication(
        IE_list=[IE_TEIDI(TEIDI=200), IE_GSNAddress(length=4, ipv4_address="192.0.2.2")]
    )
    gnb.socket.sendto(bytes(GTP_U_Header(gtp_type=26, S=1, seq=1, teid=0) / lost), (UPF, GTPU))
    counted = until(lambda: edge.packets("ERROR_INDICATION", 1), "an error indication counted")
    say.fact(counted == 1, "the gNB's own, about TEID 200, is counted by that tunnel's rule")


def end_marker(say: Account, gnb: Gnb, edge: Edge) -> None:
    say.step("An end marker (clause 7.3.2) follows the G-PDUs of an indirect forwarding tunnel")
    gnb.send(echo(1), teid=120)
    gnb.socket.sendto(bytes(GTP_U_Header(gtp_type=254, teid=120)), (UPF, GTPU))
    moved = [(p.gtp_type, p.teid) for p in gnb.received(2)]
    say.fact(moved == [(255, 220), (254, 220)], "behind the last packet, into the next tunnel")


def instances(say: Account, gnb: Gnb, edge: Edge) -> None:
    say.step("Another network, which has a UE of the same address")
    gnb.send(echo(1), teid=110)
    (other,) = gnb.received(1)
    say.fact(other.teid == 210, "what came by its N6 port goes into its UE's tunnel, TEID 210")
    gnb.send(echo(2))
    (first,) = gnb.received(1)
    say.fact(first.teid == 200, "and the first network's into that of its own, TEID 200")


def handover(say: Account, gnb: Gnb, edge: Edge) -> None:
    say.step("A handover: the downlink moves to another TEID")
    edge.control("update", "FAR 2 [(peer_teid, u32, 201), (qfi, u8, 5)]")
    gnb.send(echo(1))
    (back,) = gnb.received(1)
    moved = back.teid, back[GTPPDUSessionContainer].QFI
    say.fact(moved == (201, 5), f"TEID {moved[0]}, QoS flow {moved[1]}")


def show(demo: Demo) -> None:
    say = demo.say
    say.step("Compile and load")
    world = build(demo.lab)
    edge = demo.running("upf", world.upf, HERE)
    gnb = Gnb(demo.owned.enter_context(udp_socket(world.gnb, "192.0.2.2", GTPU)))
    session(say, gnb, edge)
    session6(say, gnb, edge)
    variants(say, gnb)
    filters(say, gnb, edge)
    confined(say, gnb, edge)
    alive(say, gnb, edge)
    unknown(say, gnb, edge)
    end_marker(say, gnb, edge)
    instances(say, gnb, edge)
    handover(say, gnb, edge)


if __name__ == "__main__":
    sys.exit(run(show, TITLE, PICTURE, prefix="upf-"))
