"""Grace periods: after one, no program still runs that began before it.

A packet's programs run with bottom halves disabled, so a CPU on which this thread comes to run has
ended whatever it was doing to a packet. Visiting every CPU is therefore a grace period, two orders
of magnitude quicker than the kernel's own (tens of microseconds against 8 to 32 ms).
"""

from __future__ import annotations

import os
from functools import cache, lru_cache
from pathlib import Path

from . import system
from .map_spec import MapSpec, MapType
from .maps import Map

_ONLINE = "/sys/devices/system/cpu/online"
_POSSIBLE = Path("/sys/devices/system/cpu/possible")
_REALTIME = Path("/sys/kernel/realtime")


def online_cpus_grace() -> None:
    """Wait until every packet that was in a program at the call has left it.

    Visits the online CPUs with this thread and restores its affinity. Where that proves nothing
    (PREEMPT_RT: bottom halves can be preempted) or is forbidden (a cpuset), `synchronize_rcu`.
    """
    if preempt_rt() or not _visit(online_cpus()):
        synchronize_rcu()


def _visit(cpus: set[int]) -> bool:
    """Run on each of `cpus` once; False where one may not be visited."""
    before = os.sched_getaffinity(0)
    # This thread runs here now, after the caller's stores: here nothing older is left.
    remaining = cpus - {system.current_cpu()}
    try:
        for cpu in remaining:
            os.sched_setaffinity(0, {cpu})
    except OSError:
        return False
    finally:
        if remaining:
            os.sched_setaffinity(0, before)
    return True


def synchronize_rcu() -> None:
    """The kernel's own grace period, 8 to 32 ms. Raises BpfError where no way to it is left."""
    # On one CPU membarrier returns at once, which does not do for readers that can be preempted.
    if len(online_cpus()) > 1 and system.membarrier_global() == 0:
        return
    # The kernel waits for all running programs before it returns from writing to a map of maps.
    number = MapSpec(MapType.ARRAY, 4, 4, 1)
    outer = MapSpec(MapType.ARRAY_OF_MAPS, 4, 4, 1)
    with Map.create(number) as inner, Map.create(outer, inner=inner) as maps:
        maps.update(bytes(4), inner.fileno().to_bytes(4, "little"))


@cache
def preempt_rt() -> bool:
    """Whether this is a PREEMPT_RT kernel."""
    return "PREEMPT_RT" in os.uname().version or (
        _REALTIME.exists() and _REALTIME.read_text().strip() == "1"
    )


def online_cpus() -> set[int]:
    """The CPUs that run now; one that comes up later starts with no packet."""
    # Bare calls: a Path.read_text would take longer than the rest of a grace period on one CPU.
    fd = os.open(_ONLINE, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return set(parse_cpus(os.read(fd, 65536).decode()))
    finally:
        os.close(fd)


def cpu_numbers() -> int:
    """From 0 up to that of the last CPU that the machine may ever have; they may have gaps."""
    return max(parse_cpus(_POSSIBLE.read_text())) + 1


@lru_cache(maxsize=8)
def parse_cpus(text: str) -> frozenset[int]:
    """`0-3,8` as a set."""
    found: set[int] = set()
    for part in text.strip().split(","):
        first, _, last = part.partition("-")
        found.update(range(int(first), int(last or first) + 1))
    return frozenset(found)
