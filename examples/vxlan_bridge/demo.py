"""VXLAN that copies: three sites, two of which are the Linux kernel's own vxlan device.

    .venv/bin/python examples/vxlan_bridge/demo.py [--prefix bridge-]

Needs root. Everything happens in network namespaces whose names begin with the prefix; they, and
what is loaded into the kernel, are gone at the end, also after Ctrl-C or a failure. Every fact
that is printed was measured: if one does not hold the demo says so, stops, and exits with 1.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from account import Account
from edges import Edge, compile_pipeline, running
from lab import Lab, Namespace, Wire, until
from showing import Demo, run
from traffic import ping, tcp_round_trip

HERE = Path(__file__).parent
TITLE = "VXLAN with copies to each peer and each port, at tc"
PICTURE = """
  north 10.7.0.11 ── acc1 ┐                       ┌ 192.0.2.2 west: vxlan device 10.7.0.2
  south 10.7.0.12 ── acc2 ┤ box 192.0.2.1 ══ VNI 77
  trunk, VLAN 7   ── acc3 ┘                       └ 192.0.2.3 east: vxlan device 10.7.0.3"""
VNI, INNER_MTU = 77, 1450  # 1500 less IPv4, UDP, VXLAN and the inner Ethernet header
GROUP, ASKED = "ff:ff:ff:ff:ff:ff", b"who of you all is there?"


@dataclass(frozen=True)
class Station:
    """A host of the network, on a device of its room; a number says its addresses. `vlan`: one of
    raw frames alone, behind a tag."""

    room: Namespace
    device: str
    number: int
    vlan: int = 0

    @property
    def ip4(self) -> str:
        return f"10.7.0.{self.number}"

    @property
    def ip6(self) -> str:
        return f"fd07::{self.number:x}"

    def call(self, payload: bytes = ASKED, count: int = 1) -> None:
        """Broadcasts, of an EtherType for experiments (IEEE 802)."""
        wire = self.room.wire(self.device)
        tag = b"\x81\x00" + self.vlan.to_bytes(2, "big") if self.vlan else b""
        mac = bytes.fromhex(self.room.mac(self.device).replace(":", ""))
        for _ in range(count):
            wire.send(b"\xff" * 6 + mac + tag + b"\x88\xb5" + payload + bytes(60))
        wire.close()


def heard(wire: Wire) -> int:
    """How many of these broadcasts came, until nothing comes for a while."""
    found = 0
    while (frame := wire.receive(0.3)) is not None:
        found += ASKED in frame
    wire.close()
    return found


@dataclass(frozen=True)
class World:
    box: Namespace
    stations: dict[str, Station]


def build(lab: Lab) -> World:
    """The box with three hosts; two sites of the kernel's; a bridge that is the underlay."""
    names = ("box", "fabric", "north", "south", "trunk", "west", "east")
    rooms = {name: lab.namespace(name) for name in names}
    box, fabric = rooms["box"], rooms["fabric"]
    fabric.ip(*"link add br0 type bridge mcast_snooping 0".split())
    fabric.ip("link", "set", "br0", "up")
    for number, (name, device) in enumerate(
        (("box", "under0"), ("west", "eth0"), ("east", "eth0")), 1
    ):
        lab.wire(rooms[name], device, fabric, f"to-{name}")
        fabric.ip("link", "set", f"to-{name}", "master", "br0")
        rooms[name].address(device, f"192.0.2.{number}/24")
    stations: dict[str, Station] = {}
    for number, (name, vlan) in enumerate((("north", 0), ("south", 0), ("trunk", 7)), 1):
        lab.wire(rooms[name], "eth0", box, f"acc{number}")
        stations[name] = Station(rooms[name], "eth0", 10 + number, vlan)
    for number, name in ((2, "west"), (3, "east")):
        _kernels_own(rooms[name], number)
        stations[name] = Station(rooms[name], "vx0", number)
    for each in stations.values():
        each.room.ip("link", "set", each.device, "mtu", str(INNER_MTU), "up")
        each.room.address(each.device, f"{each.ip4}/24", f"{each.ip6}/64")
    for number in (2, 3):
        assert ping(box, f"192.0.2.{number}", 1).lost == 0  # so that the next hops are known
    return World(box, stations)


def _kernels_own(room: Namespace, number: int) -> None:
    """A site that floods to both others, as is usual where nobody tells it where stations are."""
    words = f"link add vx0 type vxlan id {VNI} dstport 4789 local 192.0.2.{number} dev eth0"
    room.ip(*words.split())
    for other in {1, 2, 3} - {number}:
        entry = f"{GROUP.replace('ff', '00')} dev vx0 dst 192.0.2.{other}"
        room.run("bridge", "fdb", "append", *entry.split())


def reach(say: Account, world: World) -> None:
    say.step("Every station reaches every other, by ARP and by neighbour discovery")
    pairs = list(permutations((s for s in world.stations.values() if not s.vlan), 2))
    for family, lost in (
        ("IPv4", sum(ping(one.room, other.ip4, 1).lost for one, other in pairs)),
        ("IPv6", sum(ping(one.room, other.ip6, 1).lost for one, other in pairs)),
    ):
        say.fact(not lost, f"{family}: {len(pairs) - lost} of {len(pairs)} pairs")


def broadcast(say: Account, world: World) -> None:
    say.step("A broadcast comes to each once, and not back")
    for name, sender in world.stations.items():
        wires = {n: s.room.wire(s.device) for n, s in world.stations.items()}
        sender.call()
        seen = {at: heard(wire) for at, wire in wires.items()}
        expected = dict.fromkeys(seen, 1) | {name: 0}
        others = ", ".join(n for n, count in seen.items() if count == 1)
        say.fact(seen == expected, f"from {name}: {others}, once each")


def talk(say: Account, world: World, edge: Edge) -> None:
    say.step("What is for a known station is no copy")
    north = world.stations["north"]
    before = edge.event("copy", "sent")
    for name in ("west", "south"):
        other = world.stations[name]
        size = tcp_round_trip(north.room, other.room, other.ip4, 5001, 1_000_000)
        say.fact(size == 1_000_000, f"TCP from north to {name}: a million bytes and back")
    copied = edge.event("copy", "sent") - before
    say.fact(copied < 100, f"some thousand frames, and {copied} copies meanwhile")
    say.table(edge.control("show", "FDB"))


def limit(say: Account, world: World, edge: Edge) -> None:
    say.step("Copies are limited")
    north = world.stations["north"]
    before = edge.event("count", "too_many")
    north.call(bytes(1000), 1000)
    refused = until(lambda: edge.event("count", "too_many") - before, "the limit")
    say.fact(refused > 500, f"of 1000 broadcasts {refused} are beyond 1 Mbit/s, and dropped")


def leave(say: Account, world: World, edge: Edge) -> None:
    say.step("A list is changed by one request")
    edge.control("delete", "PEERS 1 [PEER east]")
    wires = {n: world.stations[n].room.wire("vx0") for n in ("west", "east")}
    until(lambda: _reached(world.stations["north"], wires["west"]), "a copy within the limit")
    wires["west"].close()
    say.fact(not heard(wires["east"]), "copies go to west, and no more to east")


def _reached(sender: Station, wire: Wire) -> bool:
    """Whether a broadcast comes there."""
    sender.call()
    while (frame := wire.receive(0.3)) is not None:
        if ASKED in frame:
            return True
    return False


def show(demo: Demo) -> None:
    say = demo.say
    say.step("Compile and load")
    world = build(demo.lab)
    compile_pipeline(demo.folder, "../examples/vxlan_bridge/vxlan_bridge")
    files = HERE / "edge.yaml", HERE / "rules.req"
    edge = demo.owned.enter_context(running(world.box, demo.folder, *files))
    say.fact(not edge.modes(), "no XDP: four ports at tc.ingress")
    reach(say, world)
    broadcast(say, world)
    talk(say, world, edge)
    limit(say, world, edge)
    leave(say, world, edge)


if __name__ == "__main__":
    sys.exit(run(show, TITLE, PICTURE, prefix="bridge-"))
