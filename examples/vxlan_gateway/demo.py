"""The VXLAN gateway at work: the other end of its tunnel is the Linux kernel's own vxlan device.

    .venv/bin/python examples/vxlan_gateway/demo.py [--prefix vxlan-]

Needs root. Everything happens in network namespaces whose names begin with the prefix; they, and
what is loaded into the kernel, are gone at the end, also after Ctrl-C or a failure. Every fact
that is printed was measured: if one does not hold the demo says so, stops, and exits with 1.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from account import Account
from edges import Edge
from lab import Lab, Namespace
from showing import Demo, run
from tagged import Station
from traffic import ping, tcp_round_trip

HERE = Path(__file__).parent
TITLE = "a VXLAN gateway beside the kernel's vxlan device"
PICTURE = """
  north 10.7.0.11 ── acc0 ┐
                          ├ gateway 192.0.2.1 ══ VNI 77 ══ 192.0.2.2 linux: vxlan device 10.7.0.2
  south 10.7.0.12 ── acc1 ┤
    VLAN 20 10.9.0.12 ────┘                   ══ VNI 79 ══                  vxlan device 10.9.0.2"""
FAR_END, NORTH, SOUTH = "10.7.0.2", "10.7.0.11", "10.7.0.12"
TAGGED, TAGGED_MAC, TAGGED_FAR_END = "10.9.0.12", "02:00:00:00:09:12", "10.9.0.2"
INNER_MTU = 1450  # 1500 less IPv4, UDP, VXLAN and the inner Ethernet header


@dataclass(frozen=True)
class World:
    north: Namespace
    south: Namespace
    gateway: Namespace
    linux: Namespace


def build(lab: Lab) -> World:
    world = World(*(lab.namespace(name) for name in ("north", "south", "gateway", "linux")))
    lab.wire(world.north, "eth0", world.gateway, "acc0", mtu=INNER_MTU)
    lab.wire(world.south, "eth0", world.gateway, "acc1", mtu=INNER_MTU)
    lab.wire(world.linux, "eth0", world.gateway, "under0")
    world.north.address("eth0", f"{NORTH}/24")
    world.south.address("eth0", f"{SOUTH}/24")
    world.gateway.address("under0", "192.0.2.1/24")
    world.linux.address("eth0", "192.0.2.2/24")
    for vni, device in ((77, "vx0"), (78, "vx1"), (79, "vx2")):
        how = "remote 192.0.2.1 local 192.0.2.2 dev eth0 dstport 4789"
        world.linux.ip("link", "add", device, "type", "vxlan", "id", str(vni), *how.split())
        world.linux.ip("link", "set", device, "up")
        world.linux.offload(device, tx="off")
    world.linux.address("vx0", f"{FAR_END}/24")
    world.linux.address("vx1", "10.8.0.2/24")
    world.linux.address("vx2", f"{TAGGED_FAR_END}/24")
    world.linux.neighbour("vx2", TAGGED, TAGGED_MAC)
    assert ping(world.gateway, "192.0.2.2", 1).lost == 0  # so that the next hop is known
    return world


def learn(say: Account, world: World, edge: Edge) -> None:
    say.step("Stations are learnt, and talk")
    first = ping(world.north, FAR_END, 5)
    say.fact(first.lost == 0, f"north pings the kernel's end: {first.received} of {first.sent}")
    back = ping(world.linux, NORTH, 5)
    say.fact(back.lost == 0, f"and the kernel north: {back.received} of {back.sent}")
    stations: list[dict[str, Any]] = json.loads(edge.control("show", "FDB", "--json"))
    known = {s["mac"]: (s["remote"], s["port"]) for s in stations}
    expected = {
        world.north.mac("eth0"): ("0.0.0.0", "ACC1"),
        world.linux.mac("vx0"): ("192.0.2.2", "UNDERLAY"),
    }
    say.fact(expected.items() <= known.items(), f"the gateway knows {len(known)} stations:")
    say.table(edge.control("show", "FDB"))
    flooded = edge.event("miss", "FDB")
    ping(world.north, FAR_END, 5)
    say.fact(edge.event("miss", "FDB") == flooded, "what is known is not flooded")


def bulk(say: Account, world: World) -> None:
    say.step("TCP through the tunnel")
    for client, server, address, name in (
        (world.north, world.linux, FAR_END, "from north to the kernel"),
        (world.linux, world.north, NORTH, "from the kernel to north"),
    ):
        size = tcp_round_trip(client, server, address, 5001, 1_000_000)
        say.fact(size == 1_000_000, f"{name}: a million bytes and back")


def switch(say: Account, world: World, edge: Edge) -> None:
    say.step("Switching between the tenant's ports")
    world.north.neighbour("eth0", SOUTH, world.south.mac("eth0"))
    world.south.neighbour("eth0", NORTH, world.north.mac("eth0"))
    ping(world.south, FAR_END, 1)  # south is learnt
    pushed = edge.packets("VTEP", "linux")
    found = ping(world.north, SOUTH, 5)
    say.fact(found.lost == 0, f"north pings south: {found.received} of {found.sent}")
    say.fact(edge.packets("VTEP", "linux") == pushed, "by the gateway alone")


def tagged(say: Account, world: World, edge: Edge) -> None:
    say.step("A VLAN of a port is a port of another tenant's")
    far = world.linux.mac("vx2")
    answers = Station(world.south, "eth0", 20, TAGGED_MAC, TAGGED).ping(far, TAGGED_FAR_END, 5)
    say.fact(
        answers == 5, f"VLAN 20 of south's port pings the kernel's end of VNI 79: {answers} of 5"
    )
    segments = edge.packets("SEGMENT", "tagged"), edge.packets("TENANT", "green")
    say.fact(segments == (5, 5), "tagged at the port, untagged in the tunnel")
    stray = Station(world.south, "eth0", 21, TAGGED_MAC, TAGGED).ping(far, TAGGED_FAR_END, 2, 0.3)
    counted = edge.event("count", "wrong_tag")
    say.fact((stray, counted) == (0, 2), "VLAN 21 has no segment: dropped, and counted")


def keep_out(say: Account, world: World, edge: Edge) -> None:
    say.step("Only known peers and tenants are let in")
    strange = ping(world.linux, "10.8.0.11", 2)
    say.fact(strange.received == 0, "VNI 78 has no segment: nothing comes back")
    say.fact(edge.event("miss", "TENANT") > 0, "it went to the kernel, and was counted")
    world.linux.address("eth0", "192.0.2.3/24")
    world.linux.ip("link", "set", "vx0", "type", "vxlan", "local", "192.0.2.3")
    before = edge.event("count", "other_peer")
    spoofed = ping(world.linux, NORTH, 2)
    say.fact(spoofed.received == 0, "an unknown peer is not let in")
    say.fact(edge.event("count", "other_peer") > before, "it was counted, too")


def show(demo: Demo) -> None:
    say = demo.say
    say.step("Compile and load")
    world = build(demo.lab)
    edge = demo.running("vxlan_gateway", world.gateway, HERE)
    learn(say, world, edge)
    bulk(say, world)
    switch(say, world, edge)
    tagged(say, world, edge)
    keep_out(say, world, edge)


if __name__ == "__main__":
    sys.exit(run(show, TITLE, PICTURE, prefix="vxlan-"))
