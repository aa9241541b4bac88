"""How long it takes from the verdict that an overlay is dead until no packet is spread to it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from statistics import median
from types import SimpleNamespace
from typing import Any

from control import Row, control
from helioc.compiler.bundle import Bundle
from helioc.lang.contract.rules.rules import Reference
from helioc.runtime.loading.excluded_members import exclude_members

SPREADS, MEMBERS, OVERLAYS, TURNS = (10, 999), 16, 16, 9


def overlays(bundle: Bundle) -> Iterator[Row]:
    """One of 16 overlays dies, and comes back; each spread has a member by each of them, and no two
    have the same weights."""
    with control(bundle) as c:
        for number in range(1, OVERLAYS + 1):
            c.tell(f"create OVERLAY {number} [(local_ip, u32, 192.0.2.1), "
                   f"(remote_ip, u32, 198.51.100.{number}), (interface, u32, WAN)]")  # fmt: skip
        for far in range(1, 257):
            way = f"OVERLAY.{far % OVERLAYS + 1}"
            c.tell(f"update FAR {far} [(action, u8, REDIRECT), (interface, u32, {way})]")
        made = 0
        for spreads in SPREADS:
            for number in range(made + 1, spreads + 1):
                first = number % 16 * 16
                weights = [1 + (i * 7 + number) % 1000 for i in range(MEMBERS)]
                said = [f"FAR {first + i + 1} [(weight, u16, {w})]" for i, w in enumerate(weights)]
                c.tell(f"create LBR {number} [{', '.join(said)}]")
            made = spreads
            yield from _rows(c, spreads)


def _rows(c: Any, spreads: int) -> Iterator[Row]:
    loaded: Any = SimpleNamespace(book=c.book, writer=c.writer)
    gone, back = [], []
    for turn in range(TURNS):
        dead = {Reference("OVERLAY", turn % OVERLAYS + 1)}
        for spent, expected in ((gone, dead), (back, set[Reference]())):
            begun = time.perf_counter()
            assert exclude_members(loaded, expected) == spreads
            spent.append((time.perf_counter() - begun) * 1000)
            c.writer.settle()
    yield Row(f"dead overlay out of {spreads} LBRs of 16: median", median(gone), "ms", "<= 100 ms")
    yield Row(f"dead overlay out of {spreads} LBRs of 16: worst", max(gone), "ms", "<= 100 ms")
    yield Row(f"alive again, into {spreads} LBRs of 16: worst", max(back), "ms")
