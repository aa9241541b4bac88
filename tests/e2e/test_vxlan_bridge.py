"""examples/vxlan_bridge between three sites, two of which are the kernel's own `vxlan`: ARP,
neighbour discovery and broadcasts reach every station once, and none comes back."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from checked import checked
from helioc.compiler.bundle import compile_for_tc
from helioc.lang.contract.request.request_parser import parse_request
from helioc.lang.contract.rules.rulebook import RuleBook
from helioc.lang.contract.world.environment import Environment, Port
from helioc.lang.text.source import Source
from lab import Lab, Namespace
from linx_world import ip, mac
from scapy.layers.l2 import ARP, Ether
from tc_runs import TcRun
from tc_world import STREAM, attach, caught, sent_through

BRIDGE = Path(__file__).parents[2] / "examples" / "vxlan_bridge" / "vxlan_bridge.hp"
NORTH, SOUTH, UNDER = 1, 2, 3
PORTS = {NORTH: "acc1", SOUTH: "acc2", UNDER: "under0"}
RULES = """
create NETWORK [(vni, 77), (local_ip, 192.0.2.1), (rate, 10000000), (burst, 100000)];
create PEER west [(vni, 77), (remote_ip, 192.0.2.2), (interface, UNDER0)];
create PEER east [(vni, 77), (remote_ip, 192.0.2.3), (interface, UNDER0)];
create SEGMENT north [(port, ACC1), (vni, 77)]; create SEGMENT south [(port, ACC2), (vni, 77)];
create PORTS [(vni, 77), SEGMENT north, SEGMENT south];
create PEERS [(vni, 77), PEER west, PEER east]
"""


class Sites:
    """Hosts `north` and `south` at our box; `west` and `east` are sites of the kernel's."""

    def __init__(self, lab: Lab) -> None:
        self.north, self.south = lab.namespace("north"), lab.namespace("south")
        self.west, self.east = lab.namespace("west"), lab.namespace("east")
        self.box, self.fabric = lab.namespace("box"), lab.namespace("fabric")
        lab.wire(self.north, "eth0", self.box, "acc1")
        lab.wire(self.south, "eth0", self.box, "acc2")
        self.fabric.ip(*"link add br0 type bridge mcast_snooping 0".split())
        self.fabric.ip("link", "set", "br0", "up")
        for room, device in ((self.box, "under0"), (self.west, "eth0"), (self.east, "eth0")):
            name = f"to{room.name[-6:]}".replace("-", "")[:14]
            lab.wire(room, device, self.fabric, name)
            self.fabric.ip("link", "set", name, "master", "br0")
        self.box.address("under0", "192.0.2.1/24")
        for number, room, others in ((2, self.west, (1, 3)), (3, self.east, (1, 2))):
            room.address("eth0", f"192.0.2.{number}/24")
            words = f"link add vx0 type vxlan id 77 dstport 4789 local 192.0.2.{number} dev eth0"
            room.ip(*words.split())
            for other in others:
                entry = f"00:00:00:00:00:00 dev vx0 dst 192.0.2.{other}"
                room.run("bridge", "fdb", "append", *entry.split())
            room.ip("link", "set", "vx0", "up")
            room.address("vx0", f"10.7.0.{number}/24", f"fd07::{number}/64")
        for number, room in ((11, self.north), (12, self.south)):
            room.ip("link", "set", "eth0", "mtu", "1450")
            room.address("eth0", f"10.7.0.{number}/24", f"fd07::{number}/64")

    @contextmanager
    def running(self) -> Iterator[TcRun]:
        ports = tuple(
            Port(
                number, device.upper(), "underlay" if number == UNDER else "access",
                self.box.ifindex(device), 1500, mac(self.box.mac(device)),
            )
            for number, device in PORTS.items()
        )  # fmt: skip
        peers = {
            (UNDER, ip("192.0.2.2")): mac(self.west.mac("eth0")),
            (UNDER, ip("192.0.2.3")): mac(self.east.mac("eth0")),
        }
        pipeline = checked(BRIDGE)
        with ExitStack() as owned:
            run = owned.enter_context(TcRun(compile_for_tc(pipeline)))
            book = RuleBook(run.manifest, {p.name: p.number for p in ports}, {})
            book.commit(book.plan(parse_request(Source("request", RULES))))
            run.set_live(Environment(ports, neighbours=peers), book)
            for port in ports:
                owned.callback(os.close, attach(run, self.box, port))
            yield run


def ping(room: Namespace, address: str) -> None:
    room.run("ping", "-c", "1", "-W", "20", address)


@pytest.fixture
def sites(lab: Lab) -> Sites:
    return Sites(lab)


def test_every_station_reaches_every_other(sites: Sites) -> None:
    """By ARP, and by neighbour discovery, whose groups are copied as broadcasts are."""
    stations = {2: sites.west, 3: sites.east, 11: sites.north, 12: sites.south}
    with sites.running() as run:
        for number, room in stations.items():
            for other in stations.keys() - {number}:
                ping(room, f"10.7.0.{other}")
                ping(room, f"fd07::{other}")
        events = run.events()
    assert events["copy", "sent"] > 0
    lost = {e: n for e, n in events.items() if e[0] == "copy" and e[1] != "sent"}
    assert lost == {} and events["drop", "internal"] == 0


def test_a_broadcast_comes_once_and_not_back(sites: Sites) -> None:
    """A frame of each station, to all: each other one has it once, and the sender never."""
    rooms = {
        "north": (sites.north, "eth0"), "south": (sites.south, "eth0"),
        "west": (sites.west, "vx0"), "east": (sites.east, "vx0"),
    }  # fmt: skip
    with sites.running():
        for sender, (room, device) in rooms.items():
            wires = {name: at.wire(on) for name, (at, on) in rooms.items()}
            own = room.mac(device)
            request = Ether(src=own, dst="ff:ff:ff:ff:ff:ff") / ARP(hwsrc=own, pdst="10.7.0.99")
            wires[sender].send(bytes(request) + bytes(18))
            seen = Counter[str]()
            for name, wire in wires.items():
                frames = [Ether(frame) for frame in caught(wire)]
                asked = [f for f in frames if ARP in f and f.pdst == "10.7.0.99"]
                seen[name] = sum(f.src == own for f in asked)
            assert seen == {name: int(name != sender) for name in rooms} | {sender: seen[sender]}
            assert seen[sender] <= 1  # what it sent itself, where a socket sees that


def test_a_stream_goes_to_one_site_alone(sites: Sites) -> None:
    """What is for a station that is known is no copy, and the other site sees nothing of it."""
    with sites.running():
        ping(sites.north, "10.7.0.2")
        east = sites.east.wire("vx0")
        assert sent_through(sites.north, sites.west, "10.7.0.2") == STREAM
        frames = [Ether(frame) for frame in caught(east)]
    # What hosts multicast by themselves is copied meanwhile, more or less of it.
    assert not any(len(frame) > 1000 or frame.dst == sites.west.mac("vx0") for frame in frames)
