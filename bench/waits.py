"""How long an acknowledged request waits, beside a bare loop of append and fdatasync on that disk.

The agent as it is started by hand: acknowledge after the disk, both CPUs, no priority. In each
round the loop and each kind of client take turns, so that all of them meet the same disk.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

from agent import Edge, Run, Times, ask, build_client, edge, updates
from helioc.compiler.bundle import Bundle
from helioc.runtime.base.latency_stats import LatencyReport, read_latency
from helioc.runtime.base.waits import CAUSES, SLOW
from helioc.runtime.journal.heads import HEADS

#: Bytes of a record of one rule's update (docs/journal.md), and of a header.
RECORD, HEAD = 64, 64
#: Microseconds; and as many as requests take that are back to back: a disk that rests meanwhile
#: takes longer than one that has work all the time.
PACE, ALIKE = 2000, 400
DEPTH = 256
FLOOR = "append and fdatasync"
CLIENTS = (
    Run("stream", PACE, "after"), Run("stream", 0, "after"),
    Run("unary", PACE, "after"), Run("unary", 0, "after"),
)  # fmt: skip


def floor(directory: Path, count: int, pace: int) -> list[float]:
    """Milliseconds of each: a header and a record are written, and brought to the disk."""
    found = []
    descriptor = os.open(directory / "floor", os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        os.posix_fallocate(descriptor, 0, HEADS + count * RECORD)
        os.fsync(descriptor)
        due = time.monotonic()
        for i in range(count):
            if pace:
                due += pace / 1e6
                time.sleep(max(0.0, due - time.monotonic()))
            begun = time.perf_counter()
            os.pwrite(descriptor, b"r" * RECORD, HEADS + i * RECORD)
            os.pwrite(descriptor, b"h" * HEAD, i % 2 * (HEADS // 2))
            os.fdatasync(descriptor)
            found.append((time.perf_counter() - begun) * 1000)
    finally:
        os.close(descriptor)
        os.unlink(directory / "floor")
    return found


@contextmanager
def writer(directory: Path) -> Iterator[None]:
    """A process that writes a MiB at a time to that disk and has it synced."""
    words = [
        "dd",
        "if=/dev/zero",
        f"of={directory / 'other'}",
        "bs=1M",
        "count=4096",
        "oflag=dsync",
    ]
    with subprocess.Popen(words, stderr=subprocess.DEVNULL) as process:
        try:
            yield
        finally:
            process.terminate()


def print_rows(bundle: Bundle, count: int, rounds: int, say: Callable[[str], None]) -> None:
    columns = ("p50", "p90", "p99", "max", "mean")
    say(f"{'ms':16}{'':40}" + "".join(f"{c:>9}" for c in columns))
    with tempfile.TemporaryDirectory() as out, edge(bundle, "after", (), first=()) as made:
        program = build_client(Path(out))
        for beside, other in (("quiet", nullcontext), ("another writes", writer)):
            found, before = dict[str, list[float]](), _slow(made)
            with other(made.directory):
                for _ in range(rounds):
                    _round(made, program, count, found)
            for name, values in found.items():
                row = Times(values).row
                say(f"{beside:16}{name:40}" + "".join(f"{row[c]:9.3f}" for c in columns))
            say(
                f"{beside:16}requests of {1000 * SLOW:g} ms and more: {_parts(before, _slow(made))}"
            )
        for depth in (1, 16, DEPTH):
            rate = _rate(made, program, depth, 10 * count)
            say(f"one stream, {depth:3} not answered: {rate:,.0f} requests a second")


def _slow(made: Edge) -> LatencyReport:
    found = read_latency(made.name)
    assert found is not None
    return found


def _parts(before: LatencyReport, after: LatencyReport) -> str:
    """What those in between waited for, in parts of a hundred."""
    waits = {cause: after.waits[cause] - before.waits[cause] for cause in CAUSES}
    total = sum(waits.values()) or 1.0
    parts = ", ".join(f"{cause} {100 * waits[cause] / total:.1f} %" for cause in CAUSES)
    return f"{after.slow - before.slow}, of whose time {parts}"


def _round(made: Edge, program: Path, count: int, found: dict[str, list[float]]) -> None:
    for pace in (PACE, ALIKE, 0):
        name = f"{FLOOR}, {f'one per {pace / 1000:g} ms' if pace else 'back to back'}"
        found.setdefault(name, []).extend(floor(made.directory, count, pace))
    for run in CLIENTS:
        asked = ask(made, program, run, updates(made, count))
        found.setdefault(run.name, []).extend(ns / 1e6 for ns, _ in asked)


def _rate(made: Edge, program: Path, depth: int, count: int) -> float:
    """Requests a second of one stream, acknowledged after the disk."""
    run = Run("stream", 0, "after")
    ask(made, program, run, updates(made, 200), depth=depth)
    found = ask(made, program, run, updates(made, count), depth=depth)
    begun = found[0][1] - found[0][0]
    return count / (found[-1][1] - begun) * 1e9
