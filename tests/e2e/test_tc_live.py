"""LINX as SCHED_CLS programs at tc's ingress (tcx, Linux 6.6) of two edges: TCP in packets that
stand for many segments goes through their tunnel, and tshark reads what was on the wire."""

from __future__ import annotations

import os
import random
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from socket import create_connection, create_server

import pytest
from helioc.compiler.bundle import compile_for_tc
from helioc.compiler.captures.pcap import PcapWriter
from helioc.lang.contract.rules.rules import Matcher
from helioc.lang.contract.world.environment import Environment, Port
from helioc.runtime.kernel.libbpf import check, lib
from lab import Lab, Namespace, Wire, until
from linx_world import LAN, REDIRECT, WAN1, Book, far, ip, linx_gre, mac, overlay, pdr
from tc_runs import TcRun
from traffic import drain, udp_socket

BPF_TCX_INGRESS = 46  # of linux/bpf.h, Linux 6.6
TUNNEL = 20 + 8  # IPv4 and GRE with a key
MTU, ETHERNET = 1500, 14
STREAM = random.Random(18).randbytes(600_000)
INTO, OUT_OF = 201, 202  # sequences of what goes into the tunnel, and of what came out of it
WAIT = 60  # seconds that a busy machine may take for a piece of it
GATEWAY = "02:00:00:00:00:01"


class Edge:
    """A site: its host's namespace, the edge's, and the program at its two ports."""

    def __init__(self, lab: Lab, number: int) -> None:
        self.number, self.other = number, 3 - number
        self.host, self.room = lab.namespace(f"host{number}"), lab.namespace(f"edge{number}")
        lab.wire(self.host, "eth0", self.room, "lan0")
        for end, device in ((self.host, "eth0"), (self.room, "lan0")):
            end.offload(device, tx="on", tso="on", gro="off")
        self.host.address("eth0", f"10.{number}.0.10/24")
        self.room.ip("link", "set", "lan0", "address", GATEWAY)
        self.host.neighbour("eth0", f"10.{number}.0.1", GATEWAY)
        self.host.route("10.0.0.0/8", f"10.{number}.0.1")

    def environment(self, peer: Edge, vlan: int) -> Environment:
        """With the neighbours that packets and rules need."""
        lan = Port(
            LAN, "LAN", "lan", self.room.ifindex("lan0"), MTU, self._mac("lan0"),
            ip(f"10.{self.number}.0.1"),
        )  # fmt: skip
        wan = Port(
            WAN1, "WAN1", "wan", self.room.ifindex("wan0"), MTU, self._mac("wan0"),
            ip(f"192.0.2.{self.number}"), vlan,
        )  # fmt: skip
        neighbours = {
            (LAN, ip(f"10.{self.number}.0.10")): mac(self.host.mac("eth0")),
            (WAN1, ip(f"192.0.2.{self.other}")): peer._mac("wan0"),
        }
        return Environment((lan, wan), frozenset({lan.address, wan.address}), neighbours)

    def rules(self) -> Book:
        """What is for the other site goes into the tunnel, what is for this one to the LAN."""
        return Book(
            overlay(1, WAN1, f"192.0.2.{self.number}", f"192.0.2.{self.other}", 7),
            far(1, REDIRECT, "OVERLAY", 1),
            far(2, REDIRECT, "port", LAN),
            pdr(1, "FAR", 1, dst_ip=Matcher("prefix", ip(f"10.{self.other}.0.0"), 16)),
            pdr(2, "FAR", 2, dst_ip=Matcher("prefix", ip(f"10.{self.number}.0.0"), 16)),
        )

    def _mac(self, device: str) -> bytes:
        return mac(self.room.mac(device))


class World:
    """Two sites, their edges joined by a wire; `runs` by number."""

    def __init__(self, lab: Lab, vlan: int = 0) -> None:
        self.edges = {number: Edge(lab, number) for number in (1, 2)}
        one, two = self.edges.values()
        lab.wire(one.room, "wan0", two.room, "wan0")
        self.runs: dict[int, TcRun] = {}
        self._vlan = vlan

    def wan(self, **features: str) -> None:
        """Set features of both ends of the wire."""
        for edge in self.edges.values():
            edge.room.offload("wan0", **features)

    @contextmanager
    def running(self) -> Iterator[None]:
        with ExitStack() as owned:
            compiled = compile_for_tc(linx_gre())
            for number, edge in self.edges.items():
                run = self.runs[number] = owned.enter_context(TcRun(compiled))
                environment = edge.environment(self.edges[edge.other], self._vlan)
                run.set_live(environment, edge.rules())
                for port in environment.ports:
                    owned.callback(os.close, attach(run, edge.room, port))
            yield


def attach(run: TcRun, room: Namespace, port: Port) -> int:
    """A link's descriptor: closing it detaches the program."""
    program = run.entry(port.number)
    what = f"attach `{program.name}` at tc"
    return room.inside_thread(
        lambda: check(
            lib().bpf_link_create(program.fileno(), port.ifindex, BPF_TCX_INGRESS, None), what
        )
    )


def sent_through(one: Namespace, other: Namespace, address: str) -> bytes:
    """What arrives of STREAM by TCP."""
    with (
        other.inside_thread(lambda: create_server((address, 5001))) as listening,
        one.inside_thread(lambda: create_connection((address, 5001), timeout=WAIT)) as sender,
    ):
        listening.settimeout(WAIT)
        receiver, _ = listening.accept()
        with receiver:
            receiver.settimeout(WAIT)
            got = bytearray()
            for at in range(0, len(STREAM), 60_000):
                sender.sendall(STREAM[at : at + 60_000])
                while len(got) < min(at + 60_000, len(STREAM)):
                    got += receiver.recv(1 << 20)
            return bytes(got)


def caught(wire: Wire) -> list[bytes]:
    """What has come, until nothing comes for a while."""
    found = list[bytes]()
    while (frame := wire.receive(0.3)) is not None:
        found.append(frame)
    wire.close()
    return found


#: What tshark says of each header of a packet, and of its checksums (1: good).
FIELDS = ("frame.len", "ip.len", "ip.checksum.status", "tcp.checksum.status", "tcp.len", "gre.key")


def dissected(frames: list[bytes], file: Path) -> list[dict[str, list[int]]]:
    """Of each frame the values of FIELDS, outer headers first."""
    with file.open("wb") as out:
        writer = PcapWriter(out)
        for frame in frames:
            writer.write(frame)
    words = ["tshark", "-r", str(file), "-T", "fields", "-E", "occurrence=a"]
    words += ["-o", "ip.check_checksum:TRUE", "-o", "tcp.check_checksum:TRUE"]
    words += [word for name in FIELDS for word in ("-e", name)]
    said = subprocess.run(words, capture_output=True, text=True, timeout=120, check=True).stdout
    lines = (line.split("\t") for line in said.splitlines())
    return [
        {
            name: [int(v, 0) for v in values.split(",") if v]
            for name, values in zip(FIELDS, line, strict=True)
        }
        for line in lines
    ]


def segments(frames: list[bytes], file: Path) -> list[dict[str, list[int]]]:
    """Those with payload, of all of STREAM."""
    found = [p for p in dissected(frames, file) if p["tcp.len"] != [0]]
    assert sum(p["tcp.len"][0] for p in found) >= len(STREAM)
    return found


def nothing_went_wrong(world: World) -> None:
    for run in world.runs.values():
        assert {e for e in run.events() if e[0] != "verdict"} == set()


def test_segments_leave_in_the_tunnel(lab: Lab, tshark: None, tmp_path: Path) -> None:
    """The wire's ends take nothing off the kernel: it makes segments of what was encapsulated."""
    world = World(lab)
    one, two = world.edges.values()
    world.wan(gro="off", gso="off")
    with world.running():
        wire = two.room.wire("wan0")
        assert sent_through(one.host, two.host, "10.2.0.10") == STREAM
        packets = segments(caught(wire), tmp_path / "wan.pcap")
        nothing_went_wrong(world)
        assert world.runs[1].counted("FAR", INTO) < len(packets) / 2  # they did stand for many
    assert max(p["frame.len"][0] for p in packets) == MTU + ETHERNET
    for packet in packets:
        (whole,), (outer, inner) = packet["frame.len"], packet["ip.len"]
        assert (outer, inner) == (whole - ETHERNET, whole - ETHERNET - TUNNEL)
        assert (packet["ip.checksum.status"], packet["tcp.checksum.status"]) == ([1, 1], [1])
        assert packet["gre.key"] == [7]


@pytest.mark.parametrize(
    "features",
    [
        pytest.param(
            {"tx": "on", "tso": "on", "gso": "on", "gro": "off"}, id="never made segments"
        ),
        pytest.param({"gso": "off", "gro": "on"}, id="merged again as they arrive"),
    ],
)
def test_what_stands_for_segments_is_opened(
    lab: Lab, tshark: None, tmp_path: Path, features: dict[str, str]
) -> None:
    """And made segments of as it leaves, where a LAN takes nothing off the kernel."""
    world = World(lab)
    one, two = world.edges.values()
    world.wan(**features)
    two.room.offload("lan0", tx="off", gso="off")
    with world.running():
        wire = two.host.wire("eth0")
        assert sent_through(one.host, two.host, "10.2.0.10") == STREAM
        packets = segments(caught(wire), tmp_path / "lan.pcap")
        assert sent_through(two.host, one.host, "10.1.0.10") == STREAM
        nothing_went_wrong(world)
        assert world.runs[2].counted("FAR", OUT_OF) < len(packets) / 2
    assert max(p["frame.len"][0] for p in packets) == MTU + ETHERNET - TUNNEL
    for packet in packets:
        assert packet["ip.len"] == [packet["frame.len"][0] - ETHERNET]
        assert packet["ip.checksum.status"] == packet["tcp.checksum.status"] == [1]


def test_a_datagram_for_the_edge_is_opened_and_passed(lab: Lab) -> None:
    world = World(lab)
    one, two = world.edges.values()
    two.room.address("lan0", "10.2.0.1/24")
    with world.running():
        with udp_socket(one.host) as sender, udp_socket(two.room, "10.2.0.1", 7) as receiver:
            sender.sendto(b"question", ("10.2.0.1", 7))
            ((data, (source, _)),) = drain(receiver, 1)
        nothing_went_wrong(world)
    assert (data, source) == (b"question", "10.1.0.10")


def test_tags_are_in_the_metadata(lab: Lab) -> None:
    """A port's own tag is there on the wire; a packet that comes with one is dropped, and counted,
    since the parser would not see it."""
    world = World(lab, vlan=200)
    one, two = world.edges.values()
    with world.running():
        wire = two.room.wire("wan0")
        with udp_socket(one.host) as sender:
            sender.sendto(b"question", ("10.2.0.10", 7))
        frame = wire.expect(lambda frame: frame[12:14] == b"\x81\x00")
        assert frame[14:18] == b"\x00\xc8\x08\x00"
        until(lambda: world.runs[2].events(), "the tagged packet's end")
        assert set(world.runs[2].events()) == {("drop", "internal"), ("verdict", "drop")}
