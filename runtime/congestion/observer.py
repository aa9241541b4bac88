"""Observes what a pipeline's own packets meet on this host: its queues, their threads, its ports.

Everything else of the host is ignored. CPU load and drops of CPUs' input queues
(/proc/net/softnet_stat) cannot be attributed to a pipeline; `rx_dropped` of an interface also
counts frames that no protocol takes.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..edge.congestion_settings import Congestion, Shape
from ..kernel.ethtool import statistics
from ..kernel.netlink import Netlink
from ..owner import host
from .decide import PeriodCounts, Queue
from .queue_counts import PipelineQueues, QueueCount

if TYPE_CHECKING:
    from ..loading.any_loaded import AnyLoaded

_TICKS = os.sysconf("SC_CLK_TCK")
#: What a card's driver calls the frames that a receive queue of the host had no place for.
_DISCARDS = "dev_rx_discards"


@dataclass(frozen=True)
class Sample:
    """At a moment, since whenever; counters that are new count from then on. `queues`: by CPU.
    `places`: how many frames a queue holds. `seconds`: of CPU time, of a queue's thread, or on a
    card what the CPU spent in softirqs. `found`: packets in which the pipeline looked for a rule
    with priority and found none. `missed`: frames by interface."""

    queues: Mapping[int, QueueCount]
    places: Mapping[int, int]
    seconds: Mapping[int, float]
    found: int
    missed: Mapping[str, int]


class Observer:
    """Of one pipeline. Close it."""

    def __init__(self) -> None:
        self._counts = PipelineQueues()
        self._before: Sample | None = None
        self._then = 0.0
        self._empty: dict[int, int] = {}  # by CPU: queued - taken of a queue that is empty
        self._threads: dict[int, int] = {}
        self._standing: dict[int, float] = {}

    def close(self) -> None:
        """May be called again."""
        self._counts.close()

    def look(
        self, loaded: AnyLoaded, shape: Shape, settings: Congestion, now: float
    ) -> PeriodCounts | None:
        """What happened since it was last called; None at first. `now`: of a monotonic clock, in
        seconds. Raises OSError, BpfError."""
        sample = self.sample(loaded, shape)
        before, seconds = self._before, now - self._then
        self._before, self._then = sample, now
        occupied = {cpu: self._occupied(cpu, sample) for cpu in sample.queues}
        standing = {cpu: min(part, self._standing.get(cpu, 0.0)) for cpu, part in occupied.items()}
        self._standing = occupied
        if before is None or seconds <= 0:
            return None
        queues = {cpu: _queue(before, sample, cpu, standing[cpu], seconds) for cpu in sample.queues}
        missed = host.since(before.missed, sample.missed) / seconds
        if loaded.mode == "offload":
            queues = _of_card(before, sample, missed, seconds, settings)
        sent = sum(queue.packets for queue in queues.values())
        return PeriodCounts(seconds, queues, sent + max(0, sample.found - before.found), missed)

    def sample(self, loaded: AnyLoaded, shape: Shape) -> Sample:
        """Raises OSError, BpfError."""
        interfaces = [port.interface for port in loaded.port_configs]
        if loaded.mode == "offload":
            missed = {name: statistics(name).get(_DISCARDS, 0) for name in interfaces}
            cpus = set(host.cpus_of_queues(interfaces).values())
            softirq = host.softirq_seconds((host.PROC / "stat").read_text())
            seconds = {cpu: softirq.get(cpu, 0.0) for cpu in cpus}
            return Sample({}, {}, seconds, _found(loaded, shape, ("verdict", "pass")), missed)
        with Netlink() as netlink:
            counts = {link.name: link.counts for link in netlink.links()}
        missed = {name: counts[name].rx_missed_errors + counts[name].rx_fifo_errors
                  for name in interfaces if name in counts}  # fmt: skip
        found = self._counts.by_cpu(loaded) or {}
        places = {cpu: _places(loaded, cpu) for cpu in found}
        queues = {cpu: count for cpu, count in found.items() if places[cpu]}
        seconds = {cpu: _cpu_seconds(count.thread) for cpu, count in queues.items()}
        return Sample(queues, places, seconds, _found(loaded, shape), missed)

    def _occupied(self, cpu: int, sample: Sample) -> float:
        """The part of a queue that is occupied, 0 to 1. Frames that were in it before anybody
        counted are known once they have left it; a queue with a new thread has dropped its own."""
        count = sample.queues[cpu]
        entered, known = count.queued - count.taken, self._threads.get(cpu, 0)
        empty = min(entered, self._empty.get(cpu, 0))
        if known and known != count.thread:
            empty = entered
        self._empty[cpu], self._threads[cpu] = empty, count.thread
        return min(1.0, (entered - empty) / sample.places[cpu])


def _queue(before: Sample, now: Sample, cpu: int, standing: float, seconds: float) -> Queue:
    was, count = before.queues.get(cpu, now.queues[cpu]), now.queues[cpu]
    dropped = max(0, count.dropped - was.dropped)
    took = now.seconds[cpu] - before.seconds.get(cpu, 0.0) if was.thread == count.thread else 0.0
    share = min(1.0, max(0.0, took / seconds))
    return Queue(max(0, count.queued - was.queued) + dropped, dropped / seconds, standing, share)


def _of_card(
    before: Sample, now: Sample, missed: float, seconds: float, settings: Congestion
) -> dict[int, Queue]:
    """Of a card nobody says which queue had no place: those are meant whose CPUs have no time left
    for packets."""
    queues = {}
    packets = max(0, now.found - before.found)
    for cpu, spent in now.seconds.items():
        share = min(1.0, max(0.0, (spent - before.seconds.get(cpu, spent)) / seconds))
        queues[cpu] = Queue(packets, missed if share >= settings.cpu else 0.0, 0.0, share)
    return queues


def _found(loaded: AnyLoaded, shape: Shape, *more: tuple[str, str]) -> int:
    """Packets of mobile users that have no priority; and what is counted as `more`."""
    needed = {*(("miss", kind) for kind in shape.marked), *more}
    events, total = loaded.maps["events"], 0
    for counter in loaded.manifest.counters:
        if (counter.group, counter.reason) in needed:
            key = counter.index.to_bytes(4, "little")
            values = events.lookup_per_cpu(key) if events.per_cpu else (events.lookup(key) or b"",)
            total += sum(int.from_bytes(value, "little") for value in values or ())
    return total


def _places(loaded: AnyLoaded, cpu: int) -> int:
    """Of a CPU's queue (`struct bpf_cpumap_val`); 0 where it has none."""
    return int.from_bytes((loaded.maps["cpus"].lookup(cpu.to_bytes(4, "little")) or b"")[:4],
                          "little")  # fmt: skip


def _cpu_seconds(thread: int) -> float:
    """That a kernel thread has run, by proc(5); 0 where this process does not see it."""
    try:
        text = Path(f"/proc/{thread}/stat").read_text()
    except OSError:
        return 0.0
    name, _, rest = text.rpartition(") ")
    words = rest.split()
    return (int(words[11]) + int(words[12])) / _TICKS if "(cpumap/" in name else 0.0
