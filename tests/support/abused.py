"""An agent that hostile clients abuse, and what must hold of it then: a client beside them is
served, and what they took is given back."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from http2 import Target
from lab import Background, LabError

_HERE = Path(__file__).parent
#: Seconds that a report of the client beside may take.
_PATIENCE = 30.0


@dataclass(frozen=True)
class Usage:
    """Of the agent and all that it started. `size`: resident, in MiB."""

    size: int
    descriptors: int
    threads: int


def usage(pid: int) -> Usage:
    size = descriptors = threads = 0
    for each in tree(pid):
        try:
            lines = Path(f"/proc/{each}/status").read_text().splitlines()
            descriptors += len(os.listdir(f"/proc/{each}/fd"))
        except OSError:  # it has ended
            continue
        said = dict(line.split(":", 1) for line in lines)
        size += int(said.get("VmRSS", "0").split()[0]) >> 10
        threads += int(said["Threads"])
    return Usage(size, descriptors, threads)


def tree(pid: int) -> list[int]:
    """The process, and what it started."""
    found = [pid]
    for each in found:
        for task in Path(f"/proc/{each}/task").glob("*/children"):
            with suppress(OSError):  # a thread that has ended
                found += [int(child) for child in task.read_text().split()]
    return found


@dataclass(frozen=True)
class Seen:
    """By the client beside: its calls, the first of those that were refused, and milliseconds."""

    calls: int
    refused: list[str]
    p50: float
    p90: float
    p99: float
    most: float


class Beside:
    """A client that goes on calling (steady_client.py)."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        assert self._line() == "going\n"

    def _line(self) -> str:
        out = self._process.stdout
        assert out is not None and select.select([out], [], [], _PATIENCE)[0], "it does not go on"
        return out.readline()

    def report(self) -> Seen:
        """Since the last time."""
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        return Seen(**json.loads(self._line()))


@contextmanager
def beside(words: Sequence[str], **client: Any) -> Iterator[Beside]:
    """`words`: what runs it; `client`: see Client."""
    command = [*words, sys.executable, str(_HERE / "steady_client.py"), json.dumps(client)]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
    )
    with process:
        try:
            yield Beside(process)
        finally:
            process.kill()


def attack(
    words: Sequence[str], names: Sequence[str], target: Target, seconds: float, connections: int
) -> dict[str, dict[str, int]]:
    """Do each for so long, one after the other; what each did."""
    command = [*words, sys.executable, str(_HERE / "http2_abuse.py"), ",".join(names),
               str(seconds), str(connections), json.dumps(asdict(target))]  # fmt: skip
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=len(names) * (seconds + 60)
    )
    assert done.returncode == 0 and not done.stderr, done.stderr
    found: dict[str, dict[str, int]] = json.loads(done.stdout)
    return found


@contextmanager
def read(process: Background) -> Iterator[None]:
    """Its output, all the time: nobody waits for us."""

    def go() -> None:
        with suppress(LabError, ValueError):  # at its end, which another may see first
            process.expect("\0", 1e6)

    thread = threading.Thread(target=go)
    thread.start()
    try:
        yield
    finally:
        process.stop()
        thread.join()
