"""The network of the LINX demo: two sites behind edges, an internet with two paths, a foreign peer.

    host-a ─ lan0 edge-a wan1 ─ a1 ┐     ┌ b1 ─ wan1 edge-b lan0 ─ host-b
                         wan2 ─ a2 ┤ net ├ b2 ─ wan2
                                   └ f0 ─ peer

Every name is a namespace. `net` routes between its ports, which are the two paths: wan1 with an
MTU of 1500, wan2 with 1400. It knows no site's addresses, and no edge's kernel has a route to
another site: what gets from host to host went through an overlay. The peer's device has no address:
whatever it says, an ARP answer too, is a frame that the demo built.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from edges import hear_answers
from lab import Lab, Namespace

HERE = Path(__file__).parent  # with the edges' files
PATHS = ("wan1", "wan2")
MTU = {"wan1": 1500, "wan2": 1400}


@dataclass(frozen=True)
class Site:
    """A host behind an edge: the edge's addresses, and those of `net` opposite."""

    letter: str
    host: str
    lan: str
    wan: dict[str, str]
    gateway: dict[str, str]


A = Site(
    "a", "10.1.0.10", "10.1.0.1",
    {"wan1": "192.0.2.2", "wan2": "198.51.100.2"}, {"wan1": "192.0.2.1", "wan2": "198.51.100.1"},
)  # fmt: skip
B = Site(
    "b", "10.2.0.10", "10.2.0.1",
    {"wan1": "192.0.2.6", "wan2": "198.51.100.6"}, {"wan1": "192.0.2.5", "wan2": "198.51.100.5"},
)  # fmt: skip
PEER, PEER_GATEWAY = "203.0.113.2", "203.0.113.1"
PEER_LAN_HOST = "10.9.0.7"
PEER_MAC = "02:00:00:00:09:02"


@dataclass(frozen=True)
class World:
    host_a: Namespace
    edge_a: Namespace
    net: Namespace
    edge_b: Namespace
    host_b: Namespace
    peer: Namespace


def build(lab: Lab) -> World:
    """Make all namespaces, wires, addresses and routes."""
    names = ("host-a", "edge-a", "net", "edge-b", "host-b", "peer")
    world = World(*(lab.namespace(name) for name in names))
    _connect(lab, world, A, world.host_a, world.edge_a)
    _connect(lab, world, B, world.host_b, world.edge_b)
    _route_between(world.edge_a, A, B)
    _route_between(world.edge_b, B, A)
    lab.wire(world.peer, "eth0", world.net, "f0")
    world.peer.ip("link", "set", "eth0", "address", PEER_MAC)
    world.net.address("f0", f"{PEER_GATEWAY}/30")
    world.edge_a.route("203.0.113.0/30", A.gateway["wan1"])
    for room in (world.edge_a, world.edge_b, world.net):
        room.sysctl("net.ipv4.ip_forward", 1)
    facing = [(world.host_a, "eth0"), (world.host_b, "eth0")]
    facing += [(world.net, f"{site.letter}{n}") for site in (A, B) for n in (1, 2)]
    hear_answers(facing)
    return world


def _connect(lab: Lab, world: World, site: Site, host: Namespace, edge: Namespace) -> None:
    """A site's host to its edge, and the edge to the internet."""
    lab.wire(host, "eth0", edge, "lan0")
    host.address("eth0", f"{site.host}/24")
    edge.address("lan0", f"{site.lan}/24")
    host.route("default", site.lan)
    for number, path in enumerate(PATHS, 1):
        lab.wire(edge, path, world.net, f"{site.letter}{number}", mtu=MTU[path])
        edge.address(path, f"{site.wan[path]}/30")
        world.net.address(f"{site.letter}{number}", f"{site.gateway[path]}/30")


def _route_between(edge: Namespace, own: Site, other: Site) -> None:
    for path in PATHS:
        edge.route(f"{other.wan[path]}/32", own.gateway[path])
