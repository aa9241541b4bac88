"""Fills the tables of by_hand.h."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import numpy as np
from gates import HELIO, PIPELINES, Entry, fused
from helioc.compiler.bundle import Bundle
from helioc.lang.contract.rules.rules import Rule
from helioc.lang.contract.world.environment import Environment, Port
from helioc.runtime.kernel.handles import Map, Object
from helioc.runtime.kernel.libbpf import possible_cpus
from helioc.runtime.loading import bundle as loadable
from helioc.runtime.rules.key_hash import hashes_of
from helioc.runtime.rules.plans import Changes
from helioc.runtime.testrun.private_run import PrivateRun
from measure import HERE, build
from sessions import MAC, PEER_MAC, row

Rows = np.ndarray[Any, np.dtype[Any]]
CPUS = 1 << (possible_cpus() - 1).bit_length()
BY_HAND = "by hand"
LOOPBACK = (1).to_bytes(4, "little")  # what is redirected goes to its entry
_LOCAL = 16  # LOCAL_LOG
_EVENTS, _LEFT_OUT = 16, [1, 2, 3]  # of enum event

#: As struct next_hop of helio.bpf.h.
NEXT_HOP = np.dtype([("port", "<u4"), ("mtu", "<u2"), ("vlan", "<u2"), ("mac", "S12"),
                     ("resolved", "u1"), ("reserved", "V3")])  # fmt: skip

#: Where to and how: as struct way.
WAY = np.dtype([("hop", NEXT_HOP), ("local", ">u4"), ("peer", ">u4"), ("sum", "<u4"),
                ("action", "<u4"), ("reserved", "V24")])  # fmt: skip


@dataclass(frozen=True)
class Reference:
    """A program by hand, loaded."""

    loaded: Object

    def table(self, name: str, row: np.dtype[Any] | str) -> Rows:
        """A table of by_hand.h, as it lies in the kernel."""
        return np.frombuffer(self.loaded.maps()[f".bss.{name}"[:15]].mmap(), row)

    def map(self, name: str) -> Map:
        return self.loaded.maps()[name]

    def entry(self, program: str) -> Entry:
        events = self.table("events", "<u8").reshape(CPUS, _EVENTS)
        return Entry(self.loaded.programs()[program], lambda: int(events[:, _LEFT_OUT].sum()))

    def local(self, addresses: frozenset[int]) -> None:
        """The host's addresses."""
        bits = self.table("local_bits", "<u8")
        for address in addresses:
            key = address.to_bytes(4, "big")
            hashed = int.from_bytes(key, "little") * 0x9E3779B1 & 0xFFFFFFFF
            at, bit = divmod(hashed >> (32 - _LOCAL), 64)
            bits[at] |= np.uint64(1 << bit)
            self.map("local").update(key, b"\1")


def opened(source: str, owned: ExitStack, *defines: str) -> Reference:
    """Build and load it."""
    elf = build(HERE / "reference" / source, f"CPUS={CPUS}", *defines)
    loaded = owned.enter_context(Object.open(elf, name=source.partition(".")[0]))
    loaded.load()
    if "egress" in loaded.maps():
        for port in (1, 2):
            loaded.maps()["egress"].update(port.to_bytes(4, "little"), LOOPBACK)
    return Reference(loaded)


def place(log: int, keys: Rows) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Where each row of `keys` lies in an open table of 1 << log: in the first free place from that
    of its hash on. `keys`: one u64 for each word."""
    words = np.ascontiguousarray(keys, "<u8")
    first = hashes_of(words.view(np.uint8).reshape(len(words), -1)) >> np.uint64(64 - log)
    first = first.astype(np.int64)
    taken, places = np.zeros(1 << log, np.bool_), np.full(len(words), -1)
    left = np.arange(len(words))
    for i in range(128):
        at = (first[left] + i) & ((1 << log) - 1)
        free = np.flatnonzero(~taken[at])
        _, once = np.unique(at[free], return_index=True)
        placed = free[once]
        places[left[placed]] = at[placed]
        taken[at[placed]] = True
        left = np.delete(left, placed)
    assert not len(left), "there is no place for a rule"
    return places


def way(
    port: int, local: int = 0, peer: int = 0, words: tuple[int, ...] = (), action: int = 0
) -> Rows:
    """To PEER's MAC address by a port. `words`: of the outer header, summed with its addresses."""
    found = np.zeros((), WAY)
    hop = found["hop"]
    hop["port"], hop["mtu"], hop["mac"], hop["resolved"] = port, 1500, PEER_MAC + MAC, 1
    found["local"], found["peer"], found["action"] = local, peer, action
    total = (
        sum(words) + sum(a >> 16 for a in (local, peer)) + sum(a & 0xFFFF for a in (local, peer))
    )
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    found["sum"] = int.from_bytes(total.to_bytes(2, "big"), "little")
    return found


def alone(bundle: Bundle, rules: Iterable[Rule], owned: ExitStack) -> Entry:
    """A pipeline of one port, with these rules."""
    run = owned.enter_context(PrivateRun(loadable.Bundle(bundle.manifest, bundle.object)))
    run.set_environment(Environment((Port(1, "LAN", "lan", 11, 1500, bytes(6)),)))
    run.apply(Changes(created=tuple(rules)))
    return Entry(run.entry(1))


def log_of(rules: int) -> int:
    """log2 of the places in an open table of so many: at least twice as many."""
    return max(4, (2 * rules - 1).bit_length())


def shipped(
    pipeline: str, direction: str, entry: str, fill: Callable[[Reference, int, int], None],
    size: int, owned: ExitStack,
) -> dict[str, Entry]:  # fmt: skip
    """A row of bench/sessions.py of that size, and `entry` of a reference. `fill` is given the
    reference, the size, and the log2 of its places."""
    helio = row(pipeline, direction).program(fused(PIPELINES / f"{pipeline}.hp"), size, owned)
    log = log_of(size)
    reference = opened(f"{entry.partition('_')[0]}.bpf.c", owned, f"LOG={log}")
    fill(reference, size, log)
    return {HELIO: Entry(helio), BY_HAND: reference.entry(entry)}
