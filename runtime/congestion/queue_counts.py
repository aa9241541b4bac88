"""Counts what the queues of a CPU map do, behind XDP. The kernel has no counters for that: it
reports batches of frames to tracepoints only, without naming the frames."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, NamedTuple

from ..kernel import libbpf
from ..kernel.libbpf import BpfError
from ..kernel.map_spec import BPF_F_MMAPABLE, MapSpec, MapType
from ..kernel.maps import Map
from ..kernel.pins import Descriptor

if TYPE_CHECKING:
    from ..loading.any_loaded import AnyLoaded

_INSN = struct.Struct("<BBhi")  # code, source << 4 | destination, offset, immediate
_LOOK_UP, _THIS_CPU, _THIS_THREAD = 1, 8, 14  # enum bpf_func_id


class QueueCount(NamedTuple):
    """Of one CPU's queue, in frames: that entered it, that found no place in it or no memory behind
    it, and that its kernel thread took out. `thread`: the thread's pid, 0 until it took one."""

    queued: int
    dropped: int
    taken: int
    thread: int


class QueueCounts:
    """Counts for one CPU map, from when it is made. Takes CAP_PERFMON. Close it."""

    def __init__(self, cpus: Map) -> None:
        """Raises BpfError."""
        self._owned = ExitStack()
        try:
            size = len(QueueCount._fields) * 8
            spec = MapSpec(MapType.ARRAY, 4, size, cpus.spec.max_entries, BPF_F_MMAPABLE, "queues")
            counts = self._owned.enter_context(Map.create(spec))
            for point, make in ("xdp_cpumap_enqueue", _entered), ("xdp_cpumap_kthread", _taken):
                program = b"".join(make(cpus.id, counts.fileno()))
                fd = libbpf.check(libbpf.load_tracepoint("queue_counts", program), f"count {point}")
                with Descriptor(fd) as loaded:
                    fd = libbpf.lib().bpf_raw_tracepoint_open(point.encode(), loaded.fileno())
                    self._owned.enter_context(Descriptor(libbpf.check(fd, f"attach to {point}")))
            self._words = counts.mmap().cast("Q")
            self._owned.callback(self._words.release)
        except BaseException:
            self.close()
            raise

    def by_cpu(self) -> dict[int, QueueCount]:
        """Since this was made."""
        width = len(QueueCount._fields)
        rows = (self._words[at : at + width] for at in range(0, len(self._words), width))
        return {cpu: QueueCount(*row) for cpu, row in enumerate(rows)}

    def close(self) -> None:
        """May be called again."""
        self._owned.close()


class PipelineQueues:
    """Of the CPU map that a pipeline has at the time: another build has another. Close it."""

    def __init__(self) -> None:
        self._counts: QueueCounts | None = None
        self._map = 0

    def by_cpu(self, loaded: AnyLoaded) -> dict[int, QueueCount] | None:
        """Since this was first asked, or the pipeline was upgraded. None where it steers nothing,
        or this process may not look (CAP_PERFMON)."""
        cpus = loaded.maps.get("cpus")
        if cpus is None:
            return None
        if cpus.id != self._map:
            self.close()
            self._map = cpus.id
            with suppress(BpfError):
                self._counts = QueueCounts(cpus)
        return self._counts.by_cpu() if self._counts is not None else None

    def close(self) -> None:
        """May be called again."""
        if self._counts is not None:
            self._counts.close()
        self._counts, self._map = None, 0


# ---- programs on trace/events/xdp.h, whose arguments are words of 8 bytes ----------------------

_insn = _INSN.pack


def _entered(map_id: int, counts: int) -> Iterator[bytes]:
    """On map_id, processed, drops, to_cpu. `processed` has the drops in it where a driver sends
    batches, and has not in generic mode (kernel/bpf/cpumap.c)."""
    yield from _own(map_id)
    yield _insn(0x1F, 0x87, 0, 0)  # r7 -= r8
    yield _insn(0x75, 0x07, 1, 0)  # if it is negative
    yield _insn(0xB7, 0x07, 0, 0)  # r7 = 0
    yield _insn(0x61, 0x60, 24, 0)  # r0 = to_cpu
    yield from _count(counts, ((0, 7), (8, 8)), ())


def _taken(map_id: int, counts: int) -> Iterator[bytes]:
    """On map_id, processed, drops, sched, in the queue's own thread."""
    yield from _own(map_id)
    yield _insn(0x85, 0x00, 0, _THIS_THREAD)
    yield _insn(0xBF, 0x09, 0, 0)  # r9 = tgid << 32 | pid
    yield _insn(0x77, 0x09, 0, 32)
    yield _insn(0x85, 0x00, 0, _THIS_CPU)
    yield from _count(counts, ((8, 8), (16, 7)), ((24, 9),))


def _own(map_id: int) -> Iterator[bytes]:
    """r7 = processed, r8 = drops. Of another map: end."""
    yield _insn(0xBF, 0x16, 0, 0)  # r6 = the arguments
    yield _insn(0x61, 0x67, 8, 0)
    yield _insn(0x61, 0x68, 16, 0)
    yield _insn(0x61, 0x62, 0, 0)
    yield _insn(0x15, 0x02, 2, map_id)
    yield _insn(0xB7, 0x00, 0, 0)
    yield _insn(0x95, 0x00, 0, 0)


def _count(
    counts: int, added: tuple[tuple[int, int], ...], stored: tuple[tuple[int, int], ...]
) -> Iterator[bytes]:
    """Of the element r0, at each offset add a register, or store it; and end."""
    yield _insn(0x63, 0x0A, -4, 0)
    yield _insn(0xBF, 0xA2, 0, 0)
    yield _insn(0x07, 0x02, 0, -4)
    yield _insn(0x18, 0x11, 0, counts) + _insn(0, 0, 0, 0)
    yield _insn(0x85, 0x00, 0, _LOOK_UP)
    yield _insn(0x15, 0x00, len(added) + len(stored), 0)
    yield from (_insn(0xDB, register << 4, at, 0) for at, register in added)  # atomically
    yield from (_insn(0x7B, register << 4, at, 0) for at, register in stored)
    yield _insn(0xB7, 0x00, 0, 0)
    yield _insn(0x95, 0x00, 0, 0)
