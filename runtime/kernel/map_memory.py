"""Computes how much kernel memory maps take, and how much is available.

Computed as kernel/bpf/arraymap.c, hashtab.c and ringbuf.c do (`*_map_mem_usage`, which
/proc/PID/fdinfo shows as `memlock`), plus the overhead of the kernel's allocators.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from .map_spec import BPF_F_MMAPABLE, BPF_F_NO_PREALLOC, MapSpec, MapType

_ARRAY_HEAD, _HASH_HEAD = 320, 896  # struct bpf_array, struct bpf_htab and its locks, about
_RING_HEAD, _RING_PAGES = 304, 3  # struct bpf_ringbuf_map; struct bpf_ringbuf and two positions
_BUCKET, _ELEMENT, _POINTER, _PAGE = 16, 48, 8, 4096
#: The allocator of per-CPU memory: 8 bytes for each 4 say which control group pays, and 1/16 is
#: maps of what is free; once, not for each CPU (mm/percpu-internal.h).
_PER_CPU_HEAD = 2 + 1 / 16
_CLASSES = (16, 32, 64, 96, 128, 192, 256, 512, 1024, 2048, 4096)  # of kmalloc
_CGROUP = 8  # per element of kmalloc: which control group pays


@dataclass(frozen=True)
class MapMemory:
    """Bytes that a map takes when it is created, what the allocators need for it included;
    `accounted` of them show as `memlock`. Each key takes `per_key` more."""

    at_load: int
    accounted: int
    per_key: int = 0


def map_memory(spec: MapSpec, cpus: int) -> MapMemory:
    """What a map takes on a machine with this many possible CPUs."""
    if spec.type in (MapType.HASH, MapType.LRU_HASH):
        return _hash_memory(spec, cpus)
    if spec.type == MapType.PERCPU_ARRAY:
        accounted = _ARRAY_HEAD + spec.max_entries * (_POINTER + spec.stride * cpus)
        return MapMemory(
            accounted + round(spec.max_entries * spec.stride * _PER_CPU_HEAD), accounted
        )
    if spec.type == MapType.RINGBUF:
        return _ring_memory(spec)
    whole = spec.max_entries * (spec.stride if spec.type == MapType.ARRAY else _POINTER)
    head = _ARRAY_HEAD
    if spec.flags & BPF_F_MMAPABLE:  # its head has a page of its own
        head, whole = _PAGE, -(-whole // _PAGE) * _PAGE
    return MapMemory(head + whole, head + whole)


def _ring_memory(spec: MapSpec) -> MapMemory:
    """Its data, and the pages in front of that; each is mapped by a pointer, the data twice."""
    data = -(-spec.max_entries // _PAGE)
    pages = (_RING_PAGES + data) * _PAGE + (_RING_PAGES + 2 * data) * _POINTER
    return MapMemory(_RING_HEAD + pages, _RING_HEAD + pages)


def _hash_memory(spec: MapSpec, cpus: int) -> MapMemory:
    buckets = 1 << max(spec.max_entries - 1, 0).bit_length()
    element = _ELEMENT + (spec.key_size + 7 & ~7) + spec.stride
    whole = _HASH_HEAD + buckets * _BUCKET
    if not spec.flags & BPF_F_NO_PREALLOC:
        whole += element * (spec.max_entries + cpus)
        return MapMemory(whole, whole)
    element += _POINTER  # in front of each, of the allocator for BPF
    taken = next((size for size in _CLASSES if size >= element), element)
    return MapMemory(whole, whole, taken + _CGROUP)


# ---- available memory ------------------------------------------------------------------------

#: Limit, use, and what of the use can be taken back: of control groups, versions 1 and 2.
_LIMITS = (
    ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
    ("memory.max", "memory.current", "inactive_file"),
)


def available(proc: Path = Path("/proc"), groups: Path = Path("/sys/fs/cgroup")) -> int:
    """Bytes that this process may still take: of the machine's memory, and of each control group's
    that it is in. A sixteenth of it is left to others."""
    found = re.search(r"^MemAvailable: +(\d+) kB", _read(proc / "meminfo"), re.MULTILINE)
    free = [int(found[1]) << 10] if found else []
    for group in _groups(proc, groups):
        free += _left(group)
    return max(min(free, default=1 << 63), 0) // 16 * 15


def _read(path: Path) -> str:
    """A file's content; empty where a sandbox hides it."""
    with suppress(OSError):
        return path.read_text()
    return ""


def _groups(proc: Path, groups: Path) -> Iterator[Path]:
    """The folder of each memory control group that this process is in, innermost first."""
    for line in _read(proc / "self" / "cgroup").splitlines():
        number, controllers, path = line.split(":", 2)
        if number == "0" or "memory" in controllers.split(","):
            root = groups if number == "0" else groups / "memory"
            inner = root / path.lstrip("/")
            yield from (each for each in (inner, *inner.parents) if each.is_relative_to(root))


def _left(group: Path) -> Iterator[int]:
    """What is left of a group's limit, if it has one."""
    for limit, used, reclaimable in _LIMITS:
        stat = dict(line.split() for line in _read(group / "memory.stat").splitlines())
        with suppress(ValueError):  # it is of the other version, or says "max"
            most, taken = int(_read(group / limit)), int(_read(group / used))
            yield most - taken + int(stat.get(reclaimable, 0))
