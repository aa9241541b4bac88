"""Two sites whose edges have SCHED_CLS programs at tc's ingress (tcx, Linux 6.6)."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from ipaddress import IPv6Address
from socket import create_connection, create_server

from helioc.compiler.bundle import Bundle as Compiled
from helioc.compiler.bundle import compile_for_tc
from helioc.lang.contract.rules.rules import Matcher
from helioc.lang.contract.world.environment import Environment, Port
from helioc.runtime.kernel.libbpf import check, lib
from lab import Lab, Namespace, Wire
from linx_world import LAN, REDIRECT, WAN1, Book, far, ip, linx_gre, mac, overlay, pdr
from tc_runs import TcRun

BPF_TCX_INGRESS = 46  # of linux/bpf.h, Linux 6.6
MTU = 1500
STREAM = random.Random(18).randbytes(600_000)
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

    def environment(self, peer: Edge, vlan: int, mtu: int = MTU) -> Environment:
        """With the neighbours that packets and rules need; `mtu`: of the WAN."""
        lan = Port(
            LAN, "LAN", "lan", self.room.ifindex("lan0"), MTU, self._mac("lan0"),
            ip(f"10.{self.number}.0.1"),
        )  # fmt: skip
        wan = Port(
            WAN1, "WAN1", "wan", self.room.ifindex("wan0"), mtu, self._mac("wan0"),
            ip(f"192.0.2.{self.number}"), vlan,
        )  # fmt: skip
        neighbours = {
            (LAN, ip(f"10.{self.number}.0.10")): mac(self.host.mac("eth0")),
            (WAN1, ip(f"192.0.2.{self.other}")): peer._mac("wan0"),
            (WAN1, ip(f"10.{self.other}.0.10")): peer._mac("wan0"),
        }
        neighbours6 = {(WAN1, int(IPv6Address(f"fd0{self.other}::10"))): peer._mac("wan0")}
        local = frozenset({lan.address, wan.address})
        return Environment((lan, wan), local, neighbours, neighbours6=neighbours6)

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

    def compiled(self) -> Compiled:
        return compile_for_tc(linx_gre())

    def rules(self, edge: Edge) -> Book:
        return edge.rules()

    def wan(self, **features: str) -> None:
        """Set features of both ends of the wire."""
        for edge in self.edges.values():
            edge.room.offload("wan0", **features)

    @contextmanager
    def running(self) -> Iterator[None]:
        with ExitStack() as owned:
            compiled = self.compiled()
            for number, edge in self.edges.items():
                run = self.runs[number] = owned.enter_context(TcRun(compiled))
                environment = edge.environment(self.edges[edge.other], self._vlan)
                run.set_live(environment, self.rules(edge))
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


def nothing_went_wrong(world: World) -> None:
    for run in world.runs.values():
        assert {e for e in run.events() if e[0] != "verdict"} == set()
