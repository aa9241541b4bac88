"""The pre-6G paper's steering, on the host: 16 services of mobile users in a tenant's VXLAN, of
which 8 have priority, over receive queues that stand for CPUs; and what a packet costs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from ipaddress import IPv4Address

from helioc.compiler.bundle import Bundle, compile_pipeline
from helioc.compiler.driver import check_file
from helioc.compiler.lower.unit import Join
from helioc.lang.contract.rules.rules import Matcher, Rule
from helioc.lang.contract.world.environment import Environment
from helioc.runtime.kernel.handles import Program
from helioc.runtime.loading import bundle as loadable
from helioc.runtime.rules.plans import Changes
from helioc.runtime.testrun.private_run import PrivateRun
from measure import HERE, Dispatcher, Load, Times, Vary, compare, one_cpu, self_test
from sessions import ports
from steering_lab import PRIORITY, SERVER, SMALLEST, USER, Fate, Range, frame

SLICE = HERE.parent / "pipelines" / "slice.hp"
TEID = 96  # where it stands in a frame
SIZES, QUEUES, RATES = (128, 512, 1500), (1, 2, 4, 8), (100, 400, 1600)

# ---- what a packet costs --------------------------------------------------------------------


def _rules(congested: bool) -> Iterator[Rule]:
    for teid in range(PRIORITY):
        match = (("tunnel", 4789), ("tenant", 7), ("teid", teid), ("src_ip", int(USER)),
                 ("dst_ip", int(SERVER)), ("protocol", 17), ("src_port", 4000),
                 ("dst_port", 5004))  # fmt: skip
        yield Rule(
            "SERVICE", teid + 1, teid + 1, match=tuple((n, Matcher("value", v)) for n, v in match),
            values=(("queue", teid), ("overloaded", 0)),
        )  # fmt: skip
    if congested:
        yield Rule("CONGESTION", 1, 100, match=(("congested", Matcher("value", 1)),))
        for slot in range(16):
            yield Rule(
                "SERVER", slot + 1, 101 + slot, match=(("slot", Matcher("value", slot)),),
                values=(("mac", 0x020000000A0A), ("address", int(IPv4Address("10.9.0.77")))),
            )  # fmt: skip


#: What becomes of them, the first TEID, whether the host is congested.
_FATES = (("to its queue", "redirect", 0, False), ("no priority", "pass", PRIORITY, False),
          ("sent on", "tx", PRIORITY, True))  # fmt: skip


def costs(loads: int, rounds: int, packets: int) -> Iterator[str]:
    """Net ns a packet: the parse through ten headers, the look-ups, and the verdict."""
    joins: tuple[Join, ...] = ("fused", "staged")
    bundles = {join: compile_pipeline(check_file(SLICE), join) for join in joins}
    yield f"net ns a packet: {'':8}{'fused':>17}{'staged':>17}"
    with one_cpu(), Dispatcher() as dispatcher:
        self_test(dispatcher)
        for what, verdict, first, congested in _FATES:
            times = {name: Times() for name in bundles}
            packet = frame("02:00:00:00:00:0a", SMALLEST)
            load = Load(packet, (Vary(TEID, 4, first, PRIORITY),), verdict, len(packet))
            for _ in range(loads):
                with ExitStack() as owned:
                    programs = {n: _program(b, congested, owned) for n, b in bundles.items()}
                    for name, some in compare(dispatcher, programs, load, rounds, packets).items():
                        times[name].add(some)
            quiet = [some.quiet() for some in times.values()]
            cells = [f"{x.median:.0f} ({x.spread[0]:.0f}-{x.spread[1]:.0f})" for x in quiet]
            yield f"slice: {what:18}" + "".join(f"{cell:>17}" for cell in cells)


def _program(bundle: Bundle, congested: bool, owned: ExitStack) -> Program:
    run = owned.enter_context(PrivateRun(loadable.Bundle(bundle.manifest, bundle.object)))
    run.set_environment(Environment(ports("nic", "nic")[:1]))
    run.apply(Changes(created=tuple(_rules(congested))))
    return run.entry(1)


# ---- the shape ------------------------------------------------------------------------------


def shape(sizes: tuple[int, ...] = SIZES, rates: tuple[int, ...] = RATES) -> Iterator[str]:
    """Per cent of what was offered."""
    compiled = compile_pipeline(check_file(SLICE), "fused")
    bundle = loadable.Bundle(compiled.manifest, compiled.object)
    yield (f"per cent of the frames offered (8 of 16 services have priority; {os.cpu_count()} "
           "CPUs, one of which sends)")  # fmt: skip
    yield f"{'':34}{'bytes':>8}{'kpps':>8}{'priority':>10}{'other':>8}{'sent on':>9}{'lost':>8}"
    with ExitStack() as owned:
        field = Range(owned)
        with field.outer_header():
            yield from _rows(field.fate, "no program, RPS: 1 queue", sizes, rates)
        for congested in (False, True):
            for queues in QUEUES:
                with field.slice(bundle, queues, congested):
                    what = f"{queues} queue{'s' * (queues > 1)}{', congested' * congested}"
                    yield from _rows(field.fate, f"slice: {what}", sizes, rates)
        for queues in QUEUES:
            with field.slice(bundle, queues, congested=False):
                what = f"slice: {queues} queue{'s' * (queues > 1)}, watched"
                yield from _rows(field.relieved, what, sizes, rates)


def _rows(
    fate: Callable[[int, int], Fate], what: str, sizes: tuple[int, ...], rates: tuple[int, ...]
) -> Iterator[str]:
    for size in sizes:
        for kpps in rates:
            f = fate(size, kpps)
            parts = (f.priority, f.other, f.forwarded, f.lost)
            yield f"{what:34}{size:8}{f.offered / 1000:8.0f}" + "".join(
                f"{100 * part:{width}.1f}" for part, width in zip(parts, (10, 8, 9, 8), strict=True)
            )
