"""Reports what the traffic of intents counted, period by period."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass

from ...lang.contract.rules.rules import Reference
from ..congestion.marks import queue_cpus
from ..congestion.queue_counts import PipelineQueues
from ..kernel.handles import BpfError
from ..kernel.programs import Program, count_runs
from ..owner import host
from ..owner.owner import Owner
from .store import Intent

Count = tuple[int, ...]
"""Packets and bytes of a rule since it was made, and packets by size if it counts those."""
Counts = Mapping[Reference, Count]


@dataclass(frozen=True)
class Report:
    """Of one intent: `packets` and `byte_count` since it began, `new_…` since the last report.
    `cpu`: of one CPU's time, 0 to 1, what programs took for its packets, were each of them average.
    `new_lost`: frames that the queues of the CPUs which it steers to dropped since the last report,
    whose ever they were: it lost no more there. None if its rules name no queue or nobody sees.
    `sizes`: packets by size, as `moment.Counted` has them."""

    intent: Intent
    packets: int
    byte_count: int
    new_packets: int
    new_byte_count: int
    cpu: float | None
    new_lost: int | None
    sizes: Sequence[int]


@dataclass(frozen=True)
class Reports:
    """`time` of the Unix epoch; `seconds` since the last, 0 for the first. `nanoseconds` that a
    packet took on average, None where it was not measured. `cpus`: how busy each was, 0 to 1.
    `queue_drops`: those of all CPUs' queues, None where nobody sees them."""

    time: float
    seconds: float
    intents: Sequence[Report]
    softnet_drops: int
    port_drops: int
    cpus: Sequence[float]
    nanoseconds: float | None
    queue_drops: int | None


class Reporter:
    """Reports of a pipeline's intents. While it is open the kernel times programs. Close it."""

    def __init__(self, owner: Owner, now: Callable[[], float] = time.monotonic) -> None:
        self.owner, self._now = owner, now
        self._owned = ExitStack()
        self._timed = False
        with suppress(BpfError):
            self._owned.enter_context(count_runs())
            self._timed = True
        self._then: float | None = None
        self._known: dict[int, Count] = {}  # by serial
        self._runs: dict[int, tuple[int, int]] = {}  # by the program's id
        self._host: host.Sample | None = None
        self._queues = PipelineQueues()
        self._owned.callback(self._queues.close)
        self._dropped = dict[int, int]()

    def close(self) -> None:
        """May be called again."""
        self._owned.close()

    def report(self, intents: Sequence[Intent], counts: Counts) -> Reports:
        """What is so far. An intent that has ended is told by what it last came to."""
        now = self._now()
        seconds = now - self._then if self._then is not None else 0.0
        nanoseconds, fares = self._nanoseconds(), self._sample()
        before, self._host, self._then = self._host or fares, fares, now
        lost = self._lost()
        cpus = queue_cpus(self.owner.loaded) if lost is not None else {}
        reports = []
        for each in intents:
            at_most = self._at_most(each, lost, cpus) if lost is not None else None
            reports.append(self._one(each, counts, seconds, nanoseconds, at_most))
        return Reports(
            time.time(), seconds, reports,
            host.since(before.softnet, fares.softnet), host.since(before.ports, fares.ports),
            [host.load(before.cpus.get(cpu), busy) for cpu, busy in sorted(fares.cpus.items())],
            nanoseconds, sum(lost.values()) if lost is not None else None,
        )  # fmt: skip

    def _lost(self) -> dict[int, int] | None:
        """What each CPU's queue dropped since the last report; None where nobody sees it."""
        counts = self._queues.by_cpu(self.owner.loaded)
        if counts is None:
            return None
        now = {cpu: count.dropped for cpu, count in counts.items()}
        before, self._dropped = self._dropped or now, now
        return {cpu: max(0, count - before.get(cpu, 0)) for cpu, count in now.items()}

    def _at_most(
        self, intent: Intent, lost: Mapping[int, int], cpus: Mapping[int, int]
    ) -> int | None:
        """What the CPUs lost whose queues this intent's rules name."""
        rules = self.owner.find([Reference(made.kind, made.id) for made in intent.rules])
        queues = {dict(rule.values).get("queue") for rule in rules.values()}
        if not queues or None in queues:
            return None
        return sum(lost.get(cpu, 0) for cpu in {cpus.get(queue or 0, -1) for queue in queues})

    def _one(
        self, intent: Intent, counts: Counts, seconds: float, nanoseconds: float | None,
        lost: int | None,
    ) -> Report:  # fmt: skip
        before = self._known.get(intent.serial, (0, 0))
        found = [counts[each] for made in intent.rules
                 if (each := Reference(made.kind, made.id)) in counts]  # fmt: skip
        now = before
        if intent.state == "active" and found:
            now = tuple(map(sum, zip(*found, strict=False)))
        self._known[intent.serial] = now
        packets, byte_count = (max(0, now[i] - before[i]) if seconds else 0 for i in range(2))
        cpu = None
        if nanoseconds is not None and seconds:
            cpu = packets * nanoseconds / 1e9 / seconds
        return Report(intent, now[0], now[1], packets, byte_count, cpu, lost, now[2:])

    def _nanoseconds(self) -> float | None:
        """Of a packet on average, since this was last asked."""
        runs = time_ = 0
        if not self._timed:
            return None
        loaded = self.owner.loaded
        for role in loaded.manifest.roles:
            with (
                suppress(BpfError),
                Program.open_pinned(loaded.directory / f"entry_{role}") as program,
            ):
                now = program.runs()
                before = self._runs.get(program.id, now)
                self._runs[program.id] = now
                runs, time_ = runs + now[0] - before[0], time_ + now[1] - before[1]
        return time_ / runs if runs > 0 else None

    def _sample(self) -> host.Sample:
        try:
            return host.sample([port.interface for port in self.owner.loaded.port_configs])
        except OSError:
            return host.Sample({}, {}, {})
