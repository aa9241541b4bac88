"""Random prefixes of IPv4: prefixes.hp beside DIR-24-8."""

from __future__ import annotations

from contextlib import ExitStack
from ipaddress import IPv4Address

import numpy as np
from gates import HELIO, Entry, Gate, fused
from helioc.lang.contract.rules.rules import Matcher, Rule
from measure import HERE, Load, Vary
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether

from .by_hand import Reference, Rows, alone, opened

DIRECT = "DIR-24-8 by hand"
_FIRST, _STEP = int(IPv4Address("10.0.0.1")), 2654435761  # odd: all addresses differ
_QUEUE = 9
_GIVEN = np.dtype([("queue", ">u4"), ("has_queue", "<u4")])
_FURTHER = 1 << 31
#: How many of a hundred are so long, about as in the Internet's routing table; the rest: 24 bits.
_LENGTHS = {12: 1, 14: 1, 16: 4, 18: 3, 19: 4, 20: 5, 21: 5, 22: 10, 23: 8, 28: 1, 32: 2}


def _prefixes(count: int) -> Rows:
    """Start and length of each, all different: rule i covers address FIRST + STEP * i, or what is
    like it does."""
    numbers = np.arange(count, dtype=np.uint64)
    addresses = (np.uint64(_FIRST) + np.uint64(_STEP) * numbers) & np.uint64(0xFFFFFFFF)
    drawn = np.random.default_rng(1).permutation(count) % 100
    lengths, at = np.full(count, 24, np.uint64), 0
    for length, share in _LENGTHS.items():
        lengths[(drawn >= at) & (drawn < at + share)] = length
        at += share
    hosts = (np.uint64(1) << (np.uint64(32) - lengths)) - np.uint64(1)
    found = np.stack([addresses & ~hosts, lengths], 1).astype(np.int64)
    return np.unique(found, axis=0)


def _load(count: int) -> Load:
    frame = Ether(dst="02:00:00:00:00:0a", src="02:00:00:00:00:0b")
    sent = bytes(frame / IP(src="198.51.100.9", dst="10.0.0.1") / UDP() / bytes(20))
    return Load(sent, (Vary(30, 4, _FIRST, count, _STEP),), "pass", len(sent))


def _programs(count: int, owned: ExitStack) -> dict[str, Entry]:
    prefixes = _prefixes(count)
    rules = (
        Rule("ROUTE", i, i, match=(("dst", _matcher(*prefix)),), values=(("queue", _QUEUE),))
        for i, prefix in enumerate(prefixes.tolist(), start=1)
    )
    found = {HELIO: alone(fused(HERE / "reference" / "prefixes.hp"), rules, owned)}
    log, long = count.bit_length(), len(np.unique(prefixes[prefixes[:, 1] > 24, 0] >> 8))
    blocks = 1 << (long + 1).bit_length()
    reference = opened("prefixes.bpf.c", owned, f"LOG={log}", f"BLOCKS={blocks}")
    _fill(reference, prefixes, log)
    found[DIRECT] = reference.entry("prefixes_lan")
    return found


def _matcher(start: int, length: int) -> Matcher:
    return Matcher("value", start) if length == 32 else Matcher("prefix", start, length)


def _fill(reference: Reference, prefixes: Rows, log: int) -> None:
    """Longer prefixes over shorter ones."""
    leaves, further = reference.table("leaves", "<u4"), reference.table("further", "<u4")
    reference.table("given", _GIVEN)[1] = _QUEUE, 1
    order = np.argsort(prefixes[:, 1], kind="stable")
    block = 0
    for number, (start, length) in zip(order.tolist(), prefixes[order].tolist(), strict=True):
        leaf, at = 1 << log | number + 1, start >> 8
        if length <= 24:
            leaves[at : at + (1 << (24 - length))] = leaf
            continue
        if not leaves[at] & _FURTHER:
            block += 1
            further[block * 256 : (block + 1) * 256] = leaves[at]
            leaves[at] = _FURTHER | block
        first = (int(leaves[at]) & ~_FURTHER) * 256 + (start & 255)
        further[first : first + (1 << (32 - length))] = leaf


GATES = (
    Gate("prefixes", (100_000, 1_000_000), {DIRECT: 1.25}, {"": _load}, _programs,
         counts="prefixes"),
)  # fmt: skip
