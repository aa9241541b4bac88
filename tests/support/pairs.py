"""Pairs of rules that one packet needs together: requests change both, packets tell what they met.

Of each client the n-th request writes n into both of its rules: into the FLOW that packets to its
address find, and into the WAY that this leads to. Some also put another rule in the place of one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import numpy as np
import relay
from helioc.lang.contract.rules.columns import Column, Columns
from helioc.runtime.loading.bundle import Bundle
from helioc.runtime.rules.report import Shown
from lab import Lab
from relay import World
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether

HP = Path(__file__).with_name("pairs.hp")
CLIENTS = 3
#: Rules that come in bulk.
MANY = 2000
_MARK = re.compile(r"\(mark, u16, (\d+)\)")


@cache
def bundle() -> Bundle:
    return relay.built(HP.read_text())


def edge_yaml(number: int) -> str:
    """Of the pipeline between inN and outN."""
    return f"""\
ports:
  IN:  {{role: inside, interface: in{number}}}
  OUT: {{role: outside, interface: out{number}}}
"""


def build(lab: Lab) -> World:
    """The relay's world, with a second way through the edge for another pipeline."""
    world = relay.build(lab)
    for client in range(CLIENTS):
        world.edge.neighbour("out0", _address(client), world.far.room.mac("eth0"))
    lab.wire(world.near.room, "eth1", world.edge, "in1")
    lab.wire(world.far.room, "eth1", world.edge, "out1")
    return world


def frames(world: World) -> bytes:
    """One to each client's address, 64 bytes each."""
    link = Ether(src=world.near.room.mac("eth0"), dst=world.edge.mac("in0"))
    found = b""
    for client in range(CLIENTS):
        packet = link / IP(src="10.1.0.2", dst=_address(client)) / UDP(sport=9, dport=9)
        packet[UDP].chksum = 0
        found += bytes(packet / bytes(22))
    return found


def _address(client: int) -> str:
    return f"10.2.0.{4 + 2 * client}"


def _places(client: int, number: int) -> tuple[int, int]:
    """Which FLOW and which WAY have the client's marks after so many requests."""
    first = 1 + 2 * client
    return first + (number + 1) // 4 % 2, first + (number + 2) // 4 % 2


def _flow(client: int, number: int) -> str:
    flow, way = _places(client, number)
    length = 32 - flow % 2  # of another prefix, so that other keys come and go
    return (f"create FLOW {flow} [(dst_ip, u32, {_address(client)}/{length}), "
            f"(mark, u16, {number & 0xFFFF}), (way, u32, WAY.{way})]")  # fmt: skip


def _way(client: int, number: int) -> str:
    _, way = _places(client, number)
    return f"create WAY {way} [(mark, u16, {number & 0xFFFF}), (interface, u32, OUT)]"


def request(client: int, number: int) -> str:
    """The client's request of this number, 0 the first. What it does depends on nothing else."""
    if not number:
        return f"{_way(client, 0)}; {_flow(client, 0)}"
    old_flow, old_way = _places(client, number - 1)
    flow, way = _places(client, number)
    mark = f"(mark, u16, {number & 0xFFFF})"
    if way != old_way:
        return (f"{_way(client, number)}; update FLOW {flow} [{mark}, (way, u32, WAY.{way})]; "
                f"delete WAY {old_way}")  # fmt: skip
    if flow != old_flow:
        return f"delete FLOW {old_flow}; {_flow(client, number)}; update WAY {way} [{mark}]"
    return f"update FLOW {flow} [{mark}], WAY {way} [{mark}]"


def marks(rules: Iterable[Shown]) -> dict[str, list[int]]:
    """What a listing of FLOW and WAY says, by kind, each client's in turn."""
    found: dict[str, list[int]] = {"FLOW": [], "WAY": []}
    for rule in sorted(rules, key=lambda rule: rule.id):
        said = _MARK.search(rule.text)
        assert said is not None, rule.text
        found[rule.kind].append(int(said[1]))
    return found


@cache
def many() -> Columns:
    """`MANY` rules in bulk."""
    hosts, ones = np.arange(MANY, dtype=np.uint32) + np.uint32(11 << 24), np.ones(MANY, np.uint8)
    ids = Column("id", "id", np.arange(1, MANY + 1, dtype=np.uint32))
    source = Column("src_ip", "matcher", hosts, ones, np.zeros(MANY, np.uint32))
    return Columns("MANY", MANY, (ids, source))


@cache
def none_of_them() -> str:
    """The request that takes them away again."""
    return "delete " + ", ".join(f"MANY {number}" for number in range(1, MANY + 1))
