"""One exact match: exact.hp beside exact.bpf.c, each packet of a random rule."""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial
from ipaddress import IPv4Address

import numpy as np
from gates import HELIO, Entry, Gate, fused
from helioc.lang.contract.rules.rules import Matcher, Rule
from measure import HERE, Load, Vary
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether

from .by_hand import Reference, Rows, alone, log_of, opened, place

KERNEL, FLAT = "kernel hash by hand", "flat array by hand"
_FIRST, _STEP = int(IPv4Address("10.0.0.1")), 2654435761  # odd: all addresses differ
_QUEUE, _DST_AT = 9, 30
_ROUTE = np.dtype([("dst", ">u4"), ("number", "<u4"), ("queue", ">u4"), ("taken", "u1"),
                   ("has_queue", "u1"), ("reserved", "V2")])  # fmt: skip


def _addresses(count: int) -> Rows:
    """One for each rule, none next to another."""
    numbers = _FIRST + _STEP * np.arange(count, dtype=np.uint64)
    return (numbers & np.uint64(0xFFFFFFFF)).astype(np.uint32)


def _load(hit: bool, count: int) -> Load:
    base = _FIRST if hit else (_FIRST + _STEP * (1 << 31)) & 0xFFFFFFFF
    ether = Ether(dst="02:00:00:00:00:0a", src="02:00:00:00:00:0b")
    frame = bytes(ether / IP(src="198.51.100.9", dst="10.0.0.1") / UDP() / bytes(20))
    vary = Vary(_DST_AT, 4, base, count, _STEP)
    return Load(frame, (vary,), "pass" if hit else "drop", len(frame))


def _programs(count: int, owned: ExitStack) -> dict[str, Entry]:
    rules = (
        Rule("ROUTE", i, i, match=(("dst", Matcher("value", dst)),), values=(("queue", _QUEUE),))
        for i, dst in enumerate(_addresses(count).tolist(), start=1)
    )
    found = {HELIO: alone(fused(HERE / "reference" / "exact.hp"), rules, owned)}
    log = log_of(count)
    for name, defines in (KERNEL, ()), (FLAT, ("FLAT",)):
        reference = opened("exact.bpf.c", owned, f"LOG={log}", *defines)
        _fill(reference, count, log if defines else 0)
        found[name] = reference.entry("exact_lan")
    return found


def _fill(reference: Reference, count: int, log: int) -> None:
    """`log`: of the flat array; 0: it is the kernel's hash."""
    routes = np.zeros(count, _ROUTE)
    routes["dst"], routes["number"] = _addresses(count), np.arange(count)
    routes["queue"], routes["taken"], routes["has_queue"] = _QUEUE, 1, 1
    keys = np.ascontiguousarray(routes["dst"])
    if log:
        reference.table("routes", _ROUTE)[place(log, keys.view("<u4").reshape(-1, 1))] = routes
    else:
        reference.map("routes").update_batch(keys.tobytes(), routes.tobytes())


GATES = (
    Gate("exact", (1, 1000, 100_000, 1_000_000), {KERNEL: None, FLAT: 1.2},
         {"hit": partial(_load, True), "miss": partial(_load, False)}, _programs),
)  # fmt: skip
