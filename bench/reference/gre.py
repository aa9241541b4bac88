"""GRE tunnels: gre.hp beside gre.bpf.c, each packet of a random one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial

import numpy as np
from gates import HELIO, Entry, Gate, fused
from helioc.lang.contract.rules.rules import Matcher, Reference, Rule
from measure import HERE, Load, Vary
from scapy.layers.inet import IP
from scapy.layers.l2 import GRE
from sessions import ACCESS, CORE, ETHERNET, FIRST, LOCAL, OURS, PEER, USER, ports, program

from .by_hand import BY_HAND, WAY, log_of, opened, place, way

_SITE = np.dtype([("dst", ">u4"), ("way", "<u4"), ("key", ">u4"), ("reserved", "<u4")])
_TUNNEL = np.dtype([("remote", ">u4"), ("local", ">u4"), ("key", ">u4"), ("way", "<u4")])


def _rules(sites: int) -> Iterator[Rule]:
    """Site i is behind the tunnel with key i."""
    outer, gateway = (("local_ip", OURS), ("remote_ip", PEER)), (("gateway", PEER),)
    for i in range(sites):
        match = (("dst_ip", Matcher("value", FIRST + i)),)
        to = (("interface", Reference("port", CORE)),)
        yield Rule("SITE", i + 1, i + 1, match=match, values=(*outer, ("key", i)), references=to)
        match = tuple((name, Matcher("value", n)) for name, n in (*outer, ("key", i)))
        to = (("interface", Reference("port", ACCESS)),)
        yield Rule("TUNNEL", i + 1, i + 1, match=match, values=gateway, references=to)


def _encap(sites: int) -> Load:
    sent = bytes(ETHERNET / USER)
    return Load(sent, (Vary(30, 4, FIRST, sites),), "redirect", len(sent) + 28)


def _decap(sites: int) -> Load:
    outer = IP(src="192.0.2.2", dst="192.0.2.1") / GRE(key_present=1, proto=0x800)
    sent = bytes(ETHERNET / outer / USER)
    return Load(sent, (Vary(38, 4, 0, sites),), "redirect", len(sent) - 28)


def _programs(role: str, sites: int, owned: ExitStack) -> dict[str, Entry]:
    arrival = ACCESS if role == "lan" else CORE
    bundle = fused(HERE / "reference" / "gre.hp")
    helio = program(bundle, ports("lan", "wan"), arrival, _rules(sites), owned)
    log = log_of(sites)
    reference = opened("gre.bpf.c", owned, f"LOG={log}")
    reference.local(LOCAL)
    numbers, ways = np.arange(sites), reference.table("ways", WAY)
    if role == "lan":
        rows = np.zeros(sites, _SITE)
        rows["dst"], rows["key"], rows["way"] = FIRST + numbers, numbers, 1
        words = rows["dst"].copy().view("<u4").astype("<u8").reshape(-1, 1)
        reference.table("sites", _SITE)[place(log, words)] = rows
        ways[1] = way(CORE, OURS, PEER, (0x4500, 0x4000, 64 << 8 | 47))
    else:
        rows = np.zeros(sites, _TUNNEL)
        rows["local"], rows["remote"], rows["key"], rows["way"] = OURS, PEER, numbers, 1
        words = rows.view("<u8").reshape(-1, 2) & np.array([(1 << 64) - 1, (1 << 32) - 1], "<u8")
        reference.table("tunnels", _TUNNEL)[place(log, words)] = rows
        ways[1] = way(ACCESS)
    return {HELIO: Entry(helio), BY_HAND: reference.entry(f"gre_{role}")}


GATES = tuple(
    Gate(f"gre {name}", (1, 1000), {BY_HAND: 1.15}, {"": load}, partial(_programs, role),
         counts="tunnels")
    for name, role, load in (("encap", "lan", _encap), ("decap", "wan", _decap))
)  # fmt: skip
