"""How much memory the agent and its processes take, and what a call of `helioctl` costs.

Memory is `Pss` of /proc/PID/smaps, in which pages that several processes share are counted once,
without the maps of pipelines: these are the kernel's."""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from agent import MILLION, Edge, edge, of_a_million
from control import Row

CALLS = 20
_COMMANDS = ("show FAR 5", "status", "stats", "update FAR 5 [(action, u8, DROP)]")


def rows() -> Iterator[Row]:
    with edge(of_a_million(), "after", cpu=(), first=()) as made:
        yield Row("memory of all processes, idle", _memory(made), "MB", "<= 60 MB")
        for words in _COMMANDS:
            yield Row(f"helioctl {words}: CPU", _cpu(made, words.split()), "s", "<= 0.15 s")
        made.by_tls("bulk").wait()
        yield Row("memory of all with 1 M rules", _memory(made), "MB", "<= 300 MB")
        with made.client() as client:
            begun = time.perf_counter()
            listed = sum(1 for _ in client.rules())
            spent = time.perf_counter() - begun
        assert listed > MILLION
        yield Row("1 M rules listed with texts", spent, "s", "<= 3 s")
        yield Row("memory of all after that", _memory(made), "MB")


def _memory(made: Edge) -> float:
    """MB."""
    with made.client() as client:
        return sum(map(_size, _processes(client.status().pid)))


def _processes(pid: int) -> Iterator[int]:
    yield pid
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in children.read_text().split():
            yield from _processes(int(child))


def _size(pid: int) -> float:
    found, is_map = 0, False
    for line in Path(f"/proc/{pid}/smaps").read_text().splitlines():
        word = line.split(None, 1)[0]
        if not word.endswith(":"):
            is_map = "bpf-map" in line
        elif word == "Pss:" and not is_map:
            found += int(line.split()[1])
    return found / 1024


def _cpu(made: Edge, words: list[str]) -> float:
    """Of the call that took least: seconds of the user and of the system."""
    program = [sys.executable, "-m", "helioc.commands.helioctl", "--agent", f"unix:{made.socket}"]
    command = made.edge.inside(*program, "--name", made.name, *words)
    spent = []
    for _ in range(CALLS):
        before = _children()
        subprocess.run(command, check=True, capture_output=True)
        spent.append(_children() - before)
    return min(spent)


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
