"""The slice classifier as tests of intents use it: a bundle, an edge with an agent, and flows."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from itertools import count
from pathlib import Path

from agent_world import World
from edges import hear_answers
from helioc.compiler import bundle as bundles
from helioc.compiler.driver import check_file
from helioc.runtime.loading.bundle import Bundle
from helioc.runtime.loading.loader import unload
from helioc.runtime.loading.releases import ROOT
from lab import Lab, Wire
from scapy.contrib.gtp import GTP_U_Header
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.layers.vxlan import VXLAN
from scapy.packet import Raw

HP = Path(__file__).parents[2] / "pipelines" / "slice.hp"
OFFLOAD = HP.with_name("slice_offload.hp")
EDGE = "ports: {NIC: {role: nic, interface: nic0}}\n"
INTENT = """\
resourceId: video-17
resources:
  - ethernet
  - ipv4
  - udp
  - vxlan: {vni: 7}
  - ethernet
  - ipv4
  - udp
  - gtpu: {teid: 100}
  - ipv4: {src: 10.45.0.2, dst: 198.51.100.9}
  - udp: {src: 4000, dst: 5004}
action: {queue: 0}
parameters: {}
"""
_numbers = count(1)


@cache
def compiled() -> bundles.Bundle:
    return bundles.compile_pipeline(check_file(HP))


@cache
def bundle() -> Bundle:
    return Bundle(compiled().manifest, compiled().object)


def intent(
    name: str = "video-17", teid: int = 100, port: int = 5004, queue: int = 0, **parameters: object
) -> str:
    """The text of one flow's intent; it is what `frame` sends."""
    said = ", ".join(f"{name}: {value}" for name, value in parameters.items())
    text = INTENT.replace("video-17", name).replace("teid: 100", f"teid: {teid}")
    text = text.replace("dst: 5004", f"dst: {port}").replace("queue: 0", f"queue: {queue}")
    return text.replace("parameters: {}", f"parameters: {{{said}}}")


def frame(to: str, teid: int = 100, port: int = 5004, size: int = 100, vni: int = 7) -> bytes:
    """A packet of a user in a tenant's VXLAN, `size` bytes of it the user's payload."""
    inner = IP(src="10.45.0.2", dst="198.51.100.9") / UDP(sport=4000, dport=port) / Raw(bytes(size))
    tunnel = UDP(sport=2152, dport=2152) / GTP_U_Header(teid=teid, gtp_type=255) / inner
    tenant = Ether(src="02:00:00:00:07:02", dst="02:00:00:00:07:01") / IP(
        src="192.168.7.2", dst="192.168.7.1"
    )
    outer = IP(src="10.9.0.2", dst="10.9.0.1") / UDP(sport=50000, dport=4789, chksum=0)
    ether = Ether(src="02:00:00:00:00:09", dst=to)
    made: bytes = bytes(ether / outer / VXLAN(vni=vni, flags=8) / tenant / tunnel)
    return made


@contextmanager
def slice_world(lab: Lab, directory: Path) -> Iterator[tuple[World, Wire, str]]:
    """An edge to run an agent at, a wire to its port, and the port's MAC."""
    far, edge = lab.namespace("far"), lab.namespace("edge")
    lab.wire(far, "eth0", edge, "nic0")
    edge.address("nic0", "10.9.0.1/24")
    edge.neighbour("nic0", "10.9.0.2", far.mac("eth0"))
    bundles.write_bundle(compiled(), directory / "bundle")
    (directory / "edge.yaml").write_text(EDGE)
    made = World(edge, f"ht{os.getpid()}-s{next(_numbers)}", directory)
    hear_answers([(far, "eth0")])
    wire = far.wire("eth0")
    try:
        yield made, wire, edge.mac("nic0")
    finally:
        wire.close()
        if (ROOT / made.name).exists():
            unload(made.name)


@contextmanager
def slice_pair(lab: Lab, directory: Path) -> Iterator[tuple[World, World]]:
    """Two edges, 10.9.0.1 and 10.9.0.3, whose ports are the ends of one wire; nothing is loaded."""
    rooms = lab.namespace("one"), lab.namespace("two")
    lab.wire(rooms[0], "nic0", rooms[1], "nic0")
    bundles.write_bundle(compiled(), directory / "bundle")
    (directory / "edge.yaml").write_text(EDGE)
    one, two = (World(room, f"ht{os.getpid()}-s{next(_numbers)}", directory) for room in rooms)
    for room, address in zip(rooms, ("10.9.0.1/24", "10.9.0.3/24"), strict=True):
        room.address("nic0", address)
    try:
        yield one, two
    finally:
        for made in (one, two):
            if (ROOT / made.name).exists():
                unload(made.name)
