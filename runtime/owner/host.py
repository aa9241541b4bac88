"""Reads drops of packets and the load of CPUs from the kernel's counters under /proc."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

PROC = Path("/proc")
_Key = TypeVar("_Key")


@dataclass(frozen=True)
class Busy:
    """Of a CPU since boot, in ticks: `busy` of `all`. Waiting for disks is idle."""

    busy: int
    all: int


@dataclass(frozen=True)
class Sample:
    """At a moment, each since boot. `softnet`: frames that the input queue of a CPU dropped, by CPU
    (of every network namespace). `ports`: frames that interfaces of this one dropped on arrival,
    by name; an interface that is not there is left out. `cpus` that are online."""

    softnet: Mapping[int, int]
    ports: Mapping[str, int]
    cpus: Mapping[int, Busy]


def sample(interfaces: Collection[str], proc: Path = PROC) -> Sample:
    """Raises OSError."""
    return Sample(
        softnet_drops((proc / "net/softnet_stat").read_text()),
        port_drops((proc / "net/dev").read_text(), interfaces),
        cpu_times((proc / "stat").read_text()),
    )


def softnet_drops(text: str) -> dict[int, int]:
    """Of /proc/net/softnet_stat: hexadecimal, a line each online CPU, whose number is the 13th
    (from Linux 5.10 on)."""
    found: dict[int, int] = {}
    for number, line in enumerate(text.splitlines()):
        words = [int(word, 16) for word in line.split()]
        found[words[12] if len(words) > 12 else number] = words[1]
    return found


def port_drops(text: str, interfaces: Collection[str]) -> dict[str, int]:
    """Of /proc/net/dev: what a receive queue had no place for, or no memory (`drop`, `fifo`)."""
    found: dict[str, int] = {}
    for line in text.splitlines():
        name, colon, rest = line.partition(":")
        if colon and name.strip() in interfaces:
            words = rest.split()
            found[name.strip()] = int(words[3]) + int(words[4])
    return found


def cpu_times(text: str) -> dict[int, Busy]:
    """Of /proc/stat: user, nice, system, idle, iowait, irq, softirq, steal (proc(5)). Guests are
    counted in the first two already."""
    found: dict[int, Busy] = {}
    for line in text.splitlines():
        name, *words = line.split()
        if name.startswith("cpu") and name[3:].isdecimal():
            ticks = [int(word) for word in words[:8]]
            idle = sum(ticks[3:5])
            found[int(name[3:])] = Busy(sum(ticks) - idle, sum(ticks))
    return found


def softirq_seconds(text: str) -> dict[int, float]:
    """Of /proc/stat: what each CPU has spent in softirqs since boot (proc(5))."""
    lines = (line.split() for line in text.splitlines())
    return {
        int(words[0][3:]): int(words[7]) / os.sysconf("SC_CLK_TCK")
        for words in lines if words[0].startswith("cpu") and words[0][3:].isdecimal()
    }  # fmt: skip


def cpus_of_queues(interfaces: Iterable[str], proc: Path = PROC) -> dict[int, int]:
    """Of receive queues the CPU that takes their interrupts, as far as a driver calls these by
    interface and queue (`nic0-rxtx-3`, as the NFP's does); of two interfaces the first's."""
    found: dict[int, int] = {}
    with suppress(OSError):
        lines = [line.split() for line in (proc / "interrupts").read_text().splitlines()]
        for interface in interfaces:
            called = re.compile(rf"{re.escape(interface)}-(?:rxtx|TxRx|rx)-(\d+)")
            for words in lines:
                if (match := called.fullmatch(words[-1] if words else "")) is not None:
                    irq = proc / "irq" / words[0].rstrip(":") / "effective_affinity_list"
                    cpu = re.match(r"\d+", irq.read_text())
                    if cpu is not None:
                        found.setdefault(int(match[1]), int(cpu[0]))
    return found


def load(before: Busy | None, now: Busy) -> float:
    """How busy a CPU was in between, 0 to 1; 0 where no tick has passed."""
    if before is None or now.all <= before.all:
        return 0.0
    return min(1.0, max(0.0, (now.busy - before.busy) / (now.all - before.all)))


def since(before: Mapping[_Key, int], now: Mapping[_Key, int]) -> int:
    """How much counters have grown; one that is new, or began again, counts from now on."""
    return sum(max(0, count - before.get(name, count)) for name, count in now.items())
