"""Frames that the queues of CPUs had no place for, behind XDP: the kernel counts them nowhere and
tells tracepoints alone, of eight frames at a time. What frames they were it does not say."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING

from ..kernel import libbpf
from ..kernel.libbpf import BpfError
from ..kernel.maps import BPF_F_MMAPABLE, Map, MapSpec, MapType
from ..kernel.pins import Descriptor

if TYPE_CHECKING:
    from ..loading.either import AnyLoaded

_INSN = struct.Struct("<BBhi")  # code, source << 4 | destination, offset, immediate
_LOOK_UP, _THIS_CPU = 1, 8  # enum bpf_func_id


class QueueDrops:
    """Counts for one CPU map, from when it is made. Takes CAP_PERFMON. Close it."""

    def __init__(self, cpus: Map) -> None:
        """Raises BpfError."""
        self._owned = ExitStack()
        count = cpus.spec.max_entries
        try:
            spec = MapSpec(MapType.ARRAY, 4, 8, count, BPF_F_MMAPABLE, "queue_drops")
            drops = self._owned.enter_context(Map.create(spec))
            # trace/events/xdp.h: map_id, processed, drops, and then to_cpu, which a thread is on
            for point, to_cpu in ("xdp_cpumap_enqueue", 3), ("xdp_cpumap_kthread", None):
                program = b"".join(_counting(cpus.id, drops.fileno(), to_cpu))
                fd = libbpf.check(libbpf.load_tracepoint("queue_drops", program), f"count {point}")
                with Descriptor(fd) as loaded:
                    fd = libbpf.lib().bpf_raw_tracepoint_open(point.encode(), loaded.fileno())
                    self._owned.enter_context(Descriptor(libbpf.check(fd, f"attach to {point}")))
            self._words = drops.mmap().cast("Q")
            self._owned.callback(self._words.release)
        except BaseException:
            self.close()
            raise

    def by_cpu(self) -> dict[int, int]:
        """Since this was made."""
        return dict(enumerate(self._words))

    def close(self) -> None:
        """May be called again."""
        self._owned.close()


class PipelineDrops:
    """Of the CPU map that a pipeline has at the time: another build has another. Close it."""

    def __init__(self) -> None:
        self._drops: QueueDrops | None = None
        self._map = 0

    def by_cpu(self, loaded: AnyLoaded) -> dict[int, int] | None:
        """Since this was first asked, or the pipeline was upgraded. None where it steers nothing,
        or this process may not look (CAP_PERFMON)."""
        cpus = loaded.maps.get("cpus")
        if cpus is None:
            return None
        if cpus.id != self._map:
            self.close()
            self._map = cpus.id
            with suppress(BpfError):
                self._drops = QueueDrops(cpus)
        return self._drops.by_cpu() if self._drops is not None else None

    def close(self) -> None:
        """May be called again."""
        if self._drops is not None:
            self._drops.close()
        self._drops, self._map = None, 0


def _counting(map_id: int, counters: int, to_cpu: int | None) -> Iterator[bytes]:
    """The program: of this map, add what was dropped to the CPU's counter."""
    insn = _INSN.pack
    yield insn(0xBF, 0x16, 0, 0)  # r6 = the arguments, eight octets each
    yield insn(0x61, 0x62, 0, 0)  # r2 = map_id
    yield insn(0x55, 0x02, 11, map_id)  # another map: end
    yield insn(0x61, 0x67, 16, 0)  # r7 = drops
    yield insn(0x15, 0x07, 9, 0)  # none: end
    if to_cpu is None:
        yield insn(0x85, 0x00, 0, _THIS_CPU)
    else:
        yield insn(0x61, 0x60, to_cpu * 8, 0)
    yield insn(0x63, 0x0A, -4, 0)  # the key: r0
    yield insn(0xBF, 0xA2, 0, 0)
    yield insn(0x07, 0x02, 0, -4)
    yield insn(0x18, 0x11, 0, counters) + insn(0, 0, 0, 0)
    yield insn(0x85, 0x00, 0, _LOOK_UP)
    yield insn(0x15, 0x00, 1, 0)
    yield insn(0xDB, 0x70, 0, 0)  # *r0 += r7, atomically
    yield insn(0xB7, 0x00, 0, 0)
    yield insn(0x95, 0x00, 0, 0)
