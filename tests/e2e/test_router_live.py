"""A router for IPv6 between hosts whose kernels are its neighbours: packets cross in XDP, kernels
believe its ICMPv6 errors."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from edges import hear_answers
from helioc.compiler.bundle import compile_pipeline, write_bundle
from helioc.compiler.driver import check_file
from lab import Lab, LabError, Namespace, until
from leaks import PREFIX
from scapy.layers.inet import IP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
from scapy.packet import Packet

ROUTER = Path(__file__).parents[1] / "property" / "router.hp"
NARROW = 1300  # of the way to B
CONFIG = """
ports:
  A: {role: lan, interface: toa}
  B: {role: lan, interface: tob}
rules: |
  create ROUTE6 [(prefix6, u128, fd00:a::/64), (way, u8, DIRECT), (interface, u32, A)];
  create ROUTE6 [(prefix6, u128, fd00:b::/64), (way, u8, DIRECT), (interface, u32, B)];
  create ROUTE6 [(prefix6, u128, fd00:c::/64), (way, u8, PLAIN), (interface, u32, B),
                 (gateway6, u128, fd00:b::2)];
  create ROUTE6 [(prefix6, u128, fd00:d::/64), (way, u8, IN4), (interface, u32, B),
                 (local4, u32, 192.0.2.1), (remote4, u32, 192.0.2.2)];
  create ROUTE4 [(prefix4, u32, 10.2.0.0/16), (way, u8, IN6), (interface, u32, B),
                 (local6, u128, fd00:b::1), (remote6, u128, fd00:b::2)];
  create ROUTE4 [(prefix4, u32, 10.1.0.0/16), (way, u8, DIRECT), (interface, u32, A)]
"""


@dataclass(frozen=True)
class World:
    a: Namespace
    edge: Namespace
    b: Namespace

    def control(self, *words: str) -> str:
        """Run `helioctl` in the router's namespace, whose name the pipeline has too: names that a
        killed run left behind are nobody else's."""
        helioctl = (sys.executable, "-m", "helioc.commands.helioctl")
        return self.edge.run(*helioctl, "--name", self.edge.name, *words)

    def event(self, group: str, reason: str) -> int:
        found: Any = json.loads(self.control("stats", "--json"))
        return int(found["events"][group][reason])


@pytest.fixture(scope="module")
def world(kernel: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    at = tmp_path_factory.mktemp("router")
    write_bundle(compile_pipeline(check_file(ROUTER)), at / "bundle")
    (at / "edge.yaml").write_text(CONFIG)
    with Lab(f"{PREFIX}six-") as lab:
        made = World(lab.namespace("a"), lab.namespace("edge"), lab.namespace("b"))
        _connect(lab, made)
        made.control("load", str(at / "bundle"), "--config", str(at / "edge.yaml"))
        try:
            yield made
        finally:
            made.control("unload")


def _connect(lab: Lab, world: World) -> None:
    """Every neighbour is known, so that the edge's kernel need not forward: what crosses crosses in
    XDP."""
    a, edge, b = world.a, world.edge, world.b
    lab.wire(a, "eth0", edge, "toa")
    lab.wire(b, "eth0", edge, "tob", mtu=NARROW)
    a.address("eth0", "fd00:a::2/64", "10.1.0.2/24")
    edge.address("toa", "fd00:a::1/64", "10.1.0.1/24")
    edge.address("tob", "fd00:b::1/64", "192.0.2.1/24")
    b.address("eth0", "fd00:b::2/64", "192.0.2.2/24")
    b.address("lo", "fd00:c::2/128")
    a.route("::/0", "fd00:a::1")
    a.route("0.0.0.0/0", "10.1.0.1")
    b.route("::/0", "fd00:b::1")
    b.route("10.1.0.0/16", "192.0.2.1")
    for address, room, device in (("fd00:a::2", a, "toa"), ("10.1.0.2", a, "toa"),
                                  ("fd00:b::2", b, "tob"), ("192.0.2.2", b, "tob")):  # fmt: skip
        edge.neighbour(device, address, room.mac("eth0"))
    hear_answers([(a, "eth0"), (b, "eth0")])


def ping(world: World, to: str, *words: str) -> str:
    """What `ping` says of one packet, answered or not."""
    done = subprocess.run(
        world.a.inside("ping", "-n", "-c", "1", "-W", "5", *words, to),
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    return done.stdout + done.stderr


@pytest.mark.parametrize("to", ["fd00:b::2", "fd00:c::2"])
def test_pings_cross(world: World, to: str) -> None:
    """Directly, and by a gateway."""
    before = world.event("verdict", "redirect")
    said = ping(world, to)
    assert " 0% packet loss" in said, f"{said}\n{world.control('stats')}"
    assert world.event("verdict", "redirect") >= before + 2


@pytest.mark.parametrize(
    ("to", "outer", "inner"), [("fd00:d::2", IP, IPv6), ("10.2.0.2", IPv6, IP)]
)
def test_pings_go_into_tunnels(
    world: World, to: str, outer: type[Packet], inner: type[Packet]
) -> None:
    """IPv6 in IPv4 and the reverse, as scapy would have wrapped what comes out."""
    with closing(world.b.wire("eth0")) as wire:
        with pytest.raises(LabError):
            world.a.run("ping", "-n", "-c", "1", "-W", "1", to)
        frame = Ether(wire.expect(lambda f: isinstance(Ether(f).payload, outer) and len(f) > 100))
    wrapped = frame[outer]
    assert isinstance(wrapped.payload, inner) and wrapped.payload.dst == to
    fields = {name: wrapped.getfieldval(name) for name in ("src", "dst")}
    flags = {"flags": "DF", "id": 0} if outer is IP else {}
    assert bytes(outer(**fields, **flags) / wrapped.payload) == bytes(wrapped)


def test_the_hop_limit_is_spent(world: World) -> None:
    """And who is on the way says so, as traceroute asks."""
    assert "From fd00:a::1 icmp_seq=1 Time exceeded: Hop limit" in ping(world, "fd00:b::2", "-t1")
    assert "ttl=63" in ping(world, "fd00:b::2")


def test_a_sender_learns_the_mtu(world: World) -> None:
    said = ping(world, "fd00:b::2", "-M", "do", "-s", "1400")
    assert f"From fd00:a::1 icmp_seq=1 Packet too big: mtu={NARROW}" in said
    until(lambda: f"mtu {NARROW}" in world.a.ip("-6", "route", "get", "fd00:b::2"), "the MTU")
    big = ping(world, "fd00:b::2", "-s", "1400")  # in fragments, which are forwarded as well
    assert " 0% packet loss" in big, big


def test_a_tunnel_tells_the_mtu_in_it(world: World) -> None:
    said = ping(world, "fd00:d::2", "-M", "do", "-s", str(NARROW - 40 - 8))
    assert f"Packet too big: mtu={NARROW - 20}" in said


def test_neighbours_that_are_not_known_are_the_kernels(world: World) -> None:
    """It resolves them, and the FIB knows them from then on."""
    world.b.address("eth0", "fd00:b::77/64")
    world.edge.sysctl("net.ipv6.conf.all.forwarding", 1)
    kept = world.event("hook", "unresolved")
    assert " 0% packet loss" in ping(world, "fd00:b::77")
    assert world.event("hook", "unresolved") > kept
    kept = world.event("hook", "unresolved")
    assert " 0% packet loss" in ping(world, "fd00:b::77")
    assert world.event("hook", "unresolved") == kept


def test_link_local_stays_on_its_link(world: World) -> None:
    kept = world.event("verdict", "pass")
    with pytest.raises(LabError):
        world.a.run("ping", "-n", "-c", "1", "-W", "1", "fe80::77%eth0")
    assert world.event("verdict", "pass") > kept
