"""CPU by load and queues, as the pre-6G paper's Figure 5 has it: what each core spends on the
frames of the queues that it runs, at an offered rate."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from helioc.compiler.bundle import compile_pipeline
from helioc.compiler.driver import check_file
from helioc.runtime.congestion.queue_counts import QueueCount, QueueCounts
from helioc.runtime.kernel.maps import Map
from helioc.runtime.loading import bundle as loadable
from helioc.runtime.loading.releases import release_of
from helioc.runtime.owner import host
from measure import HERE
from steering_lab import GENERATOR, SMALLEST, Fate, Range, pipeline_name

QUEUES, RATES, SECONDS = (1, 2, 4, 8), (100, 400, 800, 1600), 1.0
#: What is not measured, and why.
UNMEASURED = (
    f"how busy CPU {GENERATOR} is: the sender, which stands for the other machine, waits for the "
    "clock by spinning on it",
    f"slice itself: a veth runs it on the CPU that sends, CPU {GENERATOR}; a card would run it "
    "itself (what a packet costs it is in the table above)",
    "more cores than there are: of several queues on a core only the sum is measured, for they "
    "share one thread, cpumap/CPU/map:ID",
)


@dataclass(frozen=True)
class Core:
    """A core while frames were sent. CPU times in seconds a second: `queue` of the thread of the
    queues that it runs, `softirq`, and `busy`, all that is not idle; None: not measured. `packets`:
    that its queues took, and `dropped`: that they had no place for, both a second."""

    cpu: int
    runs: str
    queue: float | None
    softirq: float
    busy: float | None
    packets: float | None
    dropped: float | None

    @property
    def each(self) -> float | None:
        """Seconds that a packet took the queues' thread."""
        return self.queue / self.packets if self.queue and self.packets else None


@dataclass(frozen=True)
class Row:
    """`queues`: None without a program, by RPS. `size` of a frame in bytes."""

    queues: int | None
    size: int
    fate: Fate
    cores: tuple[Core, ...]


class Meter:
    """Of a block: what each CPU spent in it, and its queue, if there are `counts`."""

    def __init__(self, counts: QueueCounts | None) -> None:
        self._counts = counts

    def __enter__(self) -> Meter:
        self._before, self._began = self._sample(), time.monotonic()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        self._after, self._ended = self._sample(), time.monotonic()

    def _sample(self) -> _Sample:
        text = (host.PROC / "stat").read_text()
        queues = self._counts.by_cpu() if self._counts is not None else {}
        threads = {cpu: _run_seconds(count.thread) for cpu, count in queues.items()}
        return host.cpu_times(text), host.softirq_seconds(text), queues, threads

    def cores(self, queues: int | None) -> Iterator[Core]:
        """Of a run with that number of queues."""
        seconds = self._ended - self._began
        (busy, softirq, count, ran), (busy_, softirq_, count_, ran_) = self._before, self._after
        ticks = os.sysconf("SC_CLK_TCK")
        for cpu in sorted(busy_):
            queue = count_.get(cpu)
            all_ = (busy_[cpu].busy - busy[cpu].busy) / ticks / seconds
            yield Core(
                cpu, runs(cpu, queues, len(busy_)),
                (ran_[cpu] - ran[cpu]) / seconds if queue else None,
                (softirq_[cpu] - softirq[cpu]) / seconds,
                all_ if cpu != GENERATOR else None,
                (queue.taken - count[cpu].taken) / seconds if queue else None,
                (queue.dropped - count[cpu].dropped) / seconds if queue else None,
            )  # fmt: skip


def runs(cpu: int, queues: int | None, cpus: int) -> str:
    """What a core does, in words. Queue N stands for CPU N modulo the number of CPUs."""
    own = [] if queues is None else [q for q in range(1, queues + 1) if q % cpus == cpu]
    what = ["the sender, slice"] if cpu == GENERATOR and queues is not None else []
    what += ["the sender"] if cpu == GENERATOR and queues is None else []
    what += [f"queue{'s' * (len(own) > 1)} {', '.join(map(str, own))}"] if own else []
    what += ["RPS"] if cpu != GENERATOR and queues is None else []
    return ", ".join(what) or "nothing"


def _run_seconds(thread: int) -> float:
    """That a thread has run, by /proc/PID/schedstat."""
    try:
        return int(Path(f"/proc/{thread}/schedstat").read_text().split()[0]) / 1e9
    except OSError:
        return 0.0


_Sample = tuple[
    dict[int, host.Busy], dict[int, float], dict[int, QueueCount], dict[int, float]
]  # by CPU: ticks, seconds in softirqs, what its queue did, seconds of its queue's thread


# ---- the table ------------------------------------------------------------------------------


def rows(
    size: int = SMALLEST, rates: tuple[int, ...] = RATES, queues: tuple[int, ...] = QUEUES,
    seconds: float = SECONDS,
) -> Iterator[Row]:  # fmt: skip
    """Some `seconds` each, and as long again to settle."""
    compiled = compile_pipeline(check_file(HERE.parent / "pipelines" / "slice.hp"), "fused")
    bundle = loadable.Bundle(compiled.manifest, compiled.object)
    with ExitStack() as owned:
        field = Range(owned)

        def measured(number: int | None, counts: QueueCounts | None) -> Iterator[Row]:
            for kpps in rates:
                meter = Meter(counts)
                fate = field.fate(size, kpps, seconds, meter)
                yield Row(number, size, fate, tuple(meter.cores(number)))

        with field.outer_header():
            yield from measured(None, None)
        for number in queues:
            with (
                field.slice(bundle, number, congested=False),
                Map.open_pinned(release_of(pipeline_name(), 1) / "maps" / "cpus") as cpus,
                closing(QueueCounts(cpus)) as counts,
            ):
                yield from measured(number, counts)


def table(found: Iterator[Row], say: Callable[[str], None]) -> list[Row]:
    """Printed row by row; returned."""
    say("CPU by load and queues: per cent of a core's time while frames are sent")
    say(f"{'':8}{'bytes':>8}{'kpps':>8}{'lost %':>8}  {'CPU':>3}{'queue':>8}{'softirq':>9}"
        f"{'busy':>7}{'kpps':>8}{'dropped':>9}{'ns':>7}  runs")  # fmt: skip
    kept = []
    for row in found:
        kept.append(row)
        what = "no program" if row.queues is None else f"{row.queues} queue{'s' * (row.queues > 1)}"
        head = f"{what:10}{row.size:6}{row.fate.offered / 1000:8.0f}{100 * row.fate.lost:8.1f}  "
        for c in row.cores:
            cells = (_cell(c.queue, 100, 8), _cell(c.softirq, 100, 9), _cell(c.busy, 100, 7),
                     _cell(c.packets, 0.001, 8), _cell(c.dropped, 0.001, 9),
                     _cell(c.each, 1e9, 7))  # fmt: skip
            say(f"{head}{c.cpu:3}{''.join(cells)}  {c.runs}")
            head = " " * len(head)
    say("Not measured (-):")
    for line in UNMEASURED:
        say(f"- {line}")
    return kept


def _cell(value: float | None, times: float, width: int) -> str:
    return f"{value * times:{width}.0f}" if value is not None else f"{'-':>{width}}"


def as_json(found: list[Row]) -> str:
    """`cores` of each row, CPU times in seconds a second."""
    rows = [{**asdict(row), "fate": {**asdict(row.fate), "lost": row.fate.lost}} for row in found]
    content: dict[str, Any] = {
        "rows": rows, "not_measured": UNMEASURED, "cpus": os.cpu_count(), "seconds": SECONDS,
    }  # fmt: skip
    return json.dumps(content, indent=1, default=float) + "\n"
