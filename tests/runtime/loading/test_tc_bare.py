"""Ports without link headers (`link ip`), at tc: real packets by a tun device, to and from Ethernet
and the host itself; and which interfaces can be such ports."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace

import pytest
from helioc.lang.text.diagnostics import Diagnostic, Refused
from helioc.runtime.edge.config import Config
from helioc.runtime.loading import attachments
from helioc.runtime.loading.loader import Loaded, unload
from helioc.runtime.loading.reader import Reader
from helioc.runtime.loading.releases import ROOT
from helioc.runtime.loading.upgrade import upgrade
from helioc.runtime.loading.upgrade_plan import plan_upgrade
from hop import built, config, text
from relay import World
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.inet6 import ICMPv6EchoReply, ICMPv6EchoRequest, IPv6
from scapy.layers.l2 import Ether
from scapy.packet import Raw
from tun import Tun, tun

pytestmark = pytest.mark.usefixtures("kernel")
_IN, BARE = "tc.ingress", "tc.ingress link ip"
SIX = (
    ("import std.ethernet, std.ip\n", "import std.ethernet, std.ip, std.ipv6\n"),
    ("ipv4     -> udp ", "ethernet -> ipv6  when type = 0x86dd\n    ipv4     -> udp "),
)
HOP = built(text(_IN, BARE, *SIX))


@pytest.fixture(params=["tcx", "clsact"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "clsact":
        monkeypatch.setattr(attachments, "has_tcx", lambda: False)
    elif not attachments.has_tcx():
        pytest.skip("this kernel has no tcx")
    return str(request.param)


@pytest.fixture
def device(world: World) -> Iterator[Tun]:
    """tun0 of the edge, to which 10.3.0.0/16 leads."""
    with tun(world.edge, "tun0", "10.3.0.1/16", "2001:db8:3::1/64") as made:
        yield made


def given(interface: str = "tun0") -> Config:
    """The hop's ports, the outer one there."""
    made = config()
    first, second = made.ports
    return replace(made, ports=(first, replace(second, interface=interface)))


@pytest.fixture
def loaded(world: World, name: str, device: Tun, way: str) -> Iterator[Tun]:
    world.edge.inside_thread(lambda: Loaded.load(HOP, given(), name)).close()
    try:
        yield device
    finally:
        world.edge.inside_thread(lambda: unload(name))
        assert not (ROOT / name).exists()


def counted(name: str) -> list[tuple[int, int]]:
    """Packets and bytes of each route."""
    with Reader(name) as reader:
        found = {c.rule.id: (c.packets or 0, c.byte_count or 0) for c in reader.rules()}
    return [found[number] for number in sorted(found)]


def packet(source: str, destination: str, size: int = 30) -> bytes:
    return bytes(IP(src=source, dst=destination) / UDP(sport=9, dport=9) / Raw(bytes(size)))


def test_from_ethernet_to_a_device_without(world: World, name: str, loaded: Tun) -> None:
    """What leaves begins with IP, and bytes are those of the wire."""
    sent = packet("10.1.0.2", "10.2.0.2")
    link = Ether(src=world.near.room.mac("eth0"), dst=world.edge.mac("in0"), type=0x0800)
    with closing(world.near.room.wire("eth0")) as wire:
        wire.send(bytes(link / Raw(sent)))
        got = loaded.expect(lambda p: p[0] >> 4 == 4 and p[9] == 17)
    assert IP(got).ttl == IP(sent).ttl - 1
    assert got[12:] == sent[12:] and IP(got).chksum == IP(bytes(IP(got))).chksum
    assert counted(name)[0] == (1, 14 + len(sent))


def test_from_a_device_without_to_ethernet(world: World, name: str, loaded: Tun) -> None:
    sent = packet("10.2.0.2", "10.1.0.2")
    with closing(world.near.room.wire("eth0")) as wire:
        loaded.send(sent)
        got = Ether(wire.expect(lambda frame: frame[12:14] == b"\x08\0" and frame[23] == 17))
    assert (got.dst, got.src) == (world.near.room.mac("eth0"), world.edge.mac("in0"))
    assert got[IP].ttl == 63 and bytes(got[UDP]) == sent[20:]
    assert counted(name)[1] == (1, len(sent))


def test_what_passes_the_host_answers(world: World, name: str, loaded: Tun) -> None:
    """Of IPv4 and IPv6: the kernel takes a packet for what it was."""
    loaded.send(bytes(IP(src="10.3.0.9", dst="10.3.0.1") / ICMP(id=7) / Raw(bytes(40))))
    assert IP(loaded.expect(lambda p: p[0] >> 4 == 4 and p[9] == 1))[ICMP].type == 0
    asked = IPv6(src="2001:db8:3::9", dst="2001:db8:3::1") / ICMPv6EchoRequest(id=7, data=bytes(40))
    loaded.send(bytes(asked))
    answer = IPv6(loaded.expect(lambda p: p[0] >> 4 == 6 and p[6] == 58 and p[40] == 129))
    assert ICMPv6EchoReply in answer


def test_what_passes_is_routed(world: World, name: str, loaded: Tun) -> None:
    """To Ethernet, by the kernel itself."""
    world.edge.sysctl("net.ipv4.ip_forward", 1)
    sent = IP(src="10.3.0.9", dst="10.1.0.2") / TCP(dport=80, flags="S")
    with closing(world.near.room.wire("eth0")) as wire:
        loaded.send(bytes(sent))
        got = Ether(wire.expect(lambda frame: frame[12:14] == b"\x08\0" and frame[23] == 6))
    assert got[IP].ttl == 63 and got.dst == world.near.room.mac("eth0")


def test_a_kind_of_interface_is_refused_by_name(world: World, name: str, device: Tun) -> None:
    """An Ethernet device at a role without link headers, and the other way round."""

    def code(ports: Config, bare: bool) -> Diagnostic:
        bundle = HOP if bare else built(text(_IN, _IN))
        with pytest.raises(Refused) as error:
            world.edge.inside_thread(lambda: Loaded.load(bundle, ports, name))
        assert not (ROOT / name).exists()
        return error.value.diagnostics[0]

    found = code(config(), bare=True)
    assert found.code == "H0737" and "have Ethernet headers" in found.title
    found = code(given(), bare=False)
    assert found.code == "H0737" and "no Ethernet header" in found.title


def test_an_upgrade_keeps_what_packets_begin_with(world: World, name: str, loaded: Tun) -> None:
    def upgraded(*changes: tuple[str, str], outside: str = BARE) -> None:
        with Loaded.open(name) as running:
            build = built(text(_IN, outside, *SIX, *changes))
            upgrade(running, plan_upgrade(running, build)).close()

    with pytest.raises(Refused) as error:
        world.edge.inside_thread(lambda: upgraded(outside=_IN))
    assert [found.code for found in error.value.diagnostics] == ["H0737"]
    world.edge.inside_thread(lambda: upgraded(("rule ROUTE [64]", "rule ROUTE [128]")))
    test_from_a_device_without_to_ethernet(world, name, loaded)
