"""Look-ups alone: reference/exact.hp beside the same by hand; each packet is of a random rule."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from ipaddress import IPv4Address
from statistics import median, quantiles
from typing import Any

import numpy as np
from helioc.compiler.bundle import Bundle, compile_pipeline
from helioc.compiler.driver import check_file
from helioc.lang.contract.rules.rules import Matcher, Rule
from helioc.lang.contract.world.environment import Environment, Port
from helioc.runtime.kernel.handles import Object, Program
from helioc.runtime.loading import bundle as loadable
from helioc.runtime.rules.key_hash import hashes_of
from helioc.runtime.rules.plans import Changes
from helioc.runtime.testrun.private_run import PrivateRun
from measure import HERE, Dispatcher, Load, Times, Vary, build, compare
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether

SIZES = (1, 1000, 100_000, 1_000_000)
NAMES = ("Helio", "kernel hash by hand", "flat array by hand")
_FIRST, _STEP = int(IPv4Address("10.0.0.1")), 2654435761  # odd: all addresses differ
_QUEUE, _DST_AT = 9, 30
_ROUTES = 1 << 20


@dataclass(frozen=True)
class Row:
    """What was measured with this many rules; `hit`: each packet has one."""

    rules: int
    hit: bool
    times: dict[str, Times]

    def ratio(self, name: str) -> tuple[float, float, float]:
        """Helio's time as a multiple of another's: the median of the rounds, and quartiles."""
        both = zip(self.times["Helio"].net, self.times[name].net, strict=True)
        each = [mine / its for mine, its in both]
        quarters = quantiles(each, n=4)
        return median(each), quarters[0], quarters[2]


def rows(dispatcher: Dispatcher, loads: int, rounds: int, packets: int) -> Iterator[Row]:
    bundle = compile_pipeline(check_file(HERE / "reference" / "exact.hp"), "fused")
    for count in SIZES:
        hits, misses = {n: Times() for n in NAMES}, {n: Times() for n in NAMES}
        for _ in range(loads):
            with ExitStack() as owned:
                programs = dict(zip(NAMES, _programs(bundle, count, owned), strict=True))
                for hit, times in (True, hits), (False, misses):
                    found = compare(dispatcher, programs, _load(count, hit), rounds, packets)
                    for name, some in found.items():
                        times[name].add(some)
        for hit, times in (True, hits), (False, misses):
            yield Row(count, hit, {name: some.quiet() for name, some in times.items()})


def print_rows(found: Iterator[Row], say: Callable[[object], None]) -> list[dict[str, Any]]:
    """As a table while they come; returned to be plotted."""
    beside = NAMES[1:]
    say("an exact match, net ns a packet: median (quartiles)" + f"{'Helio as a multiple of':>66}")
    say(f"{'rules':>9} {'':4}" + "".join(f"{n:>21}" for n in (*NAMES, *beside)))
    plotted = []
    for row in found:
        cells = [
            f"{t.median:.0f} ({t.spread[0]:.0f}-{t.spread[1]:.0f})" for t in row.times.values()
        ]
        ratios = {name: row.ratio(name) for name in beside}
        cells += [f"{m:.2f} ({a:.2f}-{b:.2f})" for m, a, b in ratios.values()]
        say(f"{row.rules:9,} {'hit' if row.hit else 'miss':4}" + "".join(f"{c:>21}" for c in cells))
        net = {name: {"median": t.median, "quartiles": t.spread} for name, t in row.times.items()}
        plotted.append({"rules": row.rules, "hit": row.hit, "ns": net, "ratios": ratios})
    return plotted


def as_json(found: list[dict[str, Any]]) -> str:
    return json.dumps(found, indent=1)


# ---- programs and their rules ---------------------------------------------------------------


def _addresses(count: int) -> np.ndarray[Any, np.dtype[np.uint32]]:
    """One for each rule, none next to another."""
    numbers = _FIRST + _STEP * np.arange(count, dtype=np.uint64)
    return (numbers & np.uint64(0xFFFFFFFF)).astype(np.uint32)


def _load(count: int, hit: bool) -> Load:
    base = _FIRST if hit else (_FIRST + _STEP * (1 << 31)) & 0xFFFFFFFF
    ether = Ether(dst="02:00:00:00:00:0a", src="02:00:00:00:00:0b")
    frame = bytes(ether / IP(src="198.51.100.9", dst="10.0.0.1") / UDP() / bytes(20))
    vary = Vary(_DST_AT, 4, base, count, _STEP)
    return Load(frame, (vary,), "pass" if hit else "drop", len(frame))


def _programs(bundle: Bundle, count: int, owned: ExitStack) -> Iterator[Program]:
    run = owned.enter_context(PrivateRun(loadable.Bundle(bundle.manifest, bundle.object)))
    run.set_environment(Environment((Port(1, "LAN", "lan", 11, 1500, bytes(6)),)))
    given = (("queue", _QUEUE),)
    run.apply(Changes(created=tuple(
        Rule("ROUTE", i, i, match=(("dst", Matcher("value", address)),), values=given)
        for i, address in enumerate(_addresses(count).tolist(), start=1)
    )))  # fmt: skip
    yield run.entry(1)
    source = HERE / "reference" / "exact.bpf.c"
    log = max(6, (2 * count - 1).bit_length())  # at most half full
    for defines in (), ("FLAT", f"LOG={log}"):
        loaded = owned.enter_context(
            Object.open(build(source, f"ROUTES={_ROUTES}", *defines), name="exact")
        )
        loaded.load()
        _fill(loaded, count, log if defines else 0)
        yield loaded.programs()["exact_lan"]


_ROUTE = np.dtype([("key", ">u4"), ("there", "<u4"), ("past", "<u4"), ("number", "<u4"),
                   ("queue", ">u4"), ("has_queue", "<u4"), ("reserved", "<u8")])  # fmt: skip


def _fill(loaded: Object, count: int, log: int) -> None:
    """The rules into the maps of reference/exact.bpf.c; `log`: of its flat array."""
    routes = np.zeros(count, _ROUTE)
    routes["key"], routes["number"] = _addresses(count), np.arange(count)
    routes["there"], routes["queue"], routes["has_queue"] = 1, _QUEUE, 1
    table = loaded.maps()["routes"]
    if not log:
        keys = np.ascontiguousarray(routes["key"])
        table.update_batch(keys.tobytes(), routes.tobytes())
        return
    keys = np.ascontiguousarray(routes["key"]).view(np.uint8).reshape(-1, 4)
    first = (hashes_of(keys) >> np.uint64(64 - log)).astype(np.int64)
    flat = np.frombuffer(table.mmap(), _ROUTE)
    left = np.arange(count)
    for i in range(64):
        at = first[left] ^ i
        free = np.flatnonzero(flat["there"][at] == 0)
        _, once = np.unique(at[free], return_index=True)
        placed = free[once]
        flat[at[placed]] = routes[left[placed]]
        on = np.ones(len(left), np.bool_)
        on[placed] = False
        np.add.at(flat["past"], at[on], 1)
        left = left[on]
    assert not len(left), "the flat array has no place for a rule"
