"""Whom a live edge opens packets for, and that what is not LINX's business reaches the kernel."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import Any

import pytest
from lab import Namespace, Wire
from linx.captures import Capture
from linx.peer import KEY
from linx.world import PEER, PEER_LAN_HOST, A, B
from linx_live import Linx
from scapy.layers.dhcp import BOOTP, DHCP
from scapy.layers.inet import IP, UDP, IPOption_NOP
from scapy.layers.l2 import GRE, Ether
from traffic import ping, tcp_round_trip, udp_socket


@pytest.fixture
def gateway(linx: Linx) -> Iterator[Wire]:
    """Raw frames between the internet and edge A's wan1."""
    wire = linx.world.net.wire("a1")
    yield wire
    wire.close()


def framed(linx: Linx, packet: Any) -> bytes:
    """The frame that brings a packet from the internet to edge A's wan1."""
    return bytes(Ether(src=linx.world.net.mac("a1"), dst=linx.world.edge_a.mac("wan1")) / packet)


def tunnelled(inner: Any, **fields: Any) -> Any:
    outer = {"src": PEER, "dst": A.wan["wan1"], "ttl": 60} | fields.pop("outer", {})
    return IP(**outer) / GRE(**({"key_present": 1, "key": KEY} | fields)) / inner


def question(port: int = 9) -> Any:
    return IP(src=PEER_LAN_HOST, dst=A.host, ttl=33) / UDP(sport=5, dport=port) / b"from afar"


# ---- strangers ------------------------------------------------------------------------------


STRANGERS = {
    "a wrong key": tunnelled(question(), key=KEY + 1),
    "no key": tunnelled(question(), key_present=0, key=None),
    "a spoofed source": tunnelled(question(), outer={"src": "203.0.113.77"}),
    "another site's source": tunnelled(question(), outer={"src": B.wan["wan1"]}),
    "in transit": tunnelled(question(), outer={"dst": B.wan["wan1"]}),
}


@pytest.mark.parametrize("stranger", STRANGERS.values(), ids=STRANGERS)
def test_only_known_overlays_are_opened(linx: Linx, gateway: Wire, stranger: Any) -> None:
    kernel, host = linx.world.edge_a.wire("wan1"), Capture(linx.world.host_a, "eth0")
    missed, passed = linx.a.event("miss", "OVERLAY"), linx.a.event("verdict", "pass")
    frame = framed(linx, stranger)
    gateway.send(frame)
    assert kernel.expect(lambda got: b"from afar" in got) == frame  # untouched
    kernel.close()
    assert not any(f for f in host.frames() if b"from afar" in bytes(f))
    assert linx.a.event("miss", "OVERLAY") == missed + 1
    assert linx.a.event("verdict", "pass") >= passed + 1


def test_transit_is_forwarded_by_the_kernel(linx: Linx, gateway: Wire) -> None:
    """From one stranger to another: the edge is a router like any other to them."""
    gateway.send(framed(linx, STRANGERS["in transit"]))
    onward = Ether(gateway.expect(lambda frame: b"from afar" in frame))
    assert (onward[IP].dst, onward[IP].ttl) == (B.wan["wan1"], 59)
    assert bytes(onward[GRE]) == bytes(STRANGERS["in transit"][GRE])


FORMS: dict[str, dict[str, Any]] = {
    "key": {},
    "key and checksum": {"chksum_present": 1},
    "key and sequence": {"seqnum_present": 1, "sequence_number": 77},
    "all three": {"chksum_present": 1, "seqnum_present": 1, "sequence_number": 78},
    "outer options": {"outer": {"options": [IPOption_NOP()] * 8}},
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_gre_is_stripped_at_its_true_length(
    linx: Linx, gateway: Wire, form: dict[str, Any]
) -> None:
    wire = linx.world.host_a.wire("eth0")
    with udp_socket(linx.world.host_a, A.host, 9) as server:
        gateway.send(framed(linx, tunnelled(question(), **form)))
        server.settimeout(5)
        assert server.recvfrom(100) == (b"from afar", (PEER_LAN_HOST, 5))
    arrived = Ether(wire.expect(lambda frame: b"from afar" in frame))
    wire.close()
    expected = question()
    expected.ttl -= 1
    assert bytes(arrived[IP]) == bytes(expected)
    assert (arrived.src, arrived.dst) == (
        linx.world.edge_a.mac("lan0"), linx.world.host_a.mac("eth0"),
    )  # fmt: skip


def test_a_foreign_peer_and_a_real_kernel_talk(linx: Linx) -> None:
    pings = linx.world.host_a.start("ping", "-q", "-c", "3", "-i", "0.05", PEER_LAN_HOST)
    for number in range(3):
        asked = linx.peer.echo(chksum_present=1, seqnum_present=1, sequence_number=number)
        assert (asked.src, asked.dst, asked[GRE].key) == (A.wan["wan1"], PEER, KEY)
        assert (asked[GRE].chksum_present, asked[GRE].seqnum_present) == (0, 0)
    assert "3 received" in pings.wait()
    pings.stop()


# ---- the host's own -------------------------------------------------------------------------


@pytest.mark.parametrize("where", ["lan0", "wan1", "wan2"])
def test_a_connection_to_the_edge_itself(linx: Linx, where: str) -> None:
    """As SSH: with nothing in the rules that would let it in."""
    client, address = _outside(linx, where)
    assert tcp_round_trip(client, linx.world.edge_a, address, port=22) == 10_000
    assert ping(client, address, 3).lost == 0


def test_a_connection_from_the_edge(linx: Linx) -> None:
    for client, server, address in (
        (linx.world.edge_a, linx.world.host_a, A.host),
        (linx.world.edge_a, linx.world.net, A.gateway["wan2"]),
        (linx.world.edge_a, linx.world.edge_b, B.wan["wan1"]),
    ):
        assert tcp_round_trip(client, server, address) == 10_000


@pytest.mark.parametrize("where", ["lan0", "wan1"])
def test_arp(linx: Linx, where: str) -> None:
    client, address = _outside(linx, where)
    edge = linx.world.edge_a
    for room, device in ((client, "eth0" if where == "lan0" else "a1"), (edge, where)):
        room.ip("neighbour", "flush", "dev", device)
    assert ping(client, address, 2).lost == 0


@pytest.mark.parametrize("where", ["lan0", "wan1"])
def test_ipv6(linx: Linx, where: str) -> None:
    """Neighbour discovery and ping: multicast and unicast."""
    client, _ = _outside(linx, where)
    number = {"lan0": 1, "wan1": 2}[where]
    linx.world.edge_a.address(where, f"fd00:{number}::1/64")
    client.address("eth0" if where == "lan0" else "a1", f"fd00:{number}::2/64")
    assert ping(client, f"fd00:{number}::1", 3, "-6").lost == 0


def test_dhcp_between_a_host_and_the_edge(linx: Linx) -> None:
    """Broadcasts from 0.0.0.0, and back to 255.255.255.255."""
    host, edge = linx.world.host_a, linx.world.edge_a
    wire = host.wire("eth0")
    discover = (
        Ether(src=host.mac("eth0"), dst="ff:ff:ff:ff:ff:ff")
        / IP(src="0.0.0.0", dst="255.255.255.255")
        / UDP(sport=68, dport=67)
        / BOOTP(xid=4711, flags=0x8000)
        / DHCP(options=[("message-type", "discover"), "end"])
    )
    with udp_socket(edge, "0.0.0.0", 67) as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        server.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b"lan0")
        server.settimeout(5)
        wire.send(bytes(discover))
        data, sender = server.recvfrom(2000)
        assert (BOOTP(data).xid, sender) == (4711, ("0.0.0.0", 68))
        server.sendto(bytes(BOOTP(op=2, xid=4711)), ("255.255.255.255", 68))
    offer = Ether(wire.expect(lambda frame: UDP in (f := Ether(frame)) and f[UDP].dport == 68))
    wire.close()
    assert (offer.dst, offer[BOOTP].xid) == ("ff:ff:ff:ff:ff:ff", 4711)


def test_the_edge_is_reached_through_the_tunnel(linx: Linx) -> None:
    """What another site sends to the edge's own LAN address is opened, then left to the kernel."""
    with udp_socket(linx.world.edge_a, A.lan, 161) as server:
        server.settimeout(5)
        with udp_socket(linx.world.host_b) as client:
            client.sendto(b"how are you", (A.lan, 161))
        data, sender = server.recvfrom(100)
    assert (data, sender[0]) == (b"how are you", B.host)


def _outside(linx: Linx, where: str) -> tuple[Namespace, str]:
    """Who is on that side of edge A, and by which address it knows the edge."""
    if where == "lan0":
        return linx.world.host_a, A.lan
    return linx.world.net, A.wan[where]
