"""What processes may do: their capabilities."""

from __future__ import annotations

from functools import reduce
from pathlib import Path

from helioc.runtime.kernel.privileges import NUMBERS

SETS = ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")


def mask(*names: str) -> int:
    return reduce(int.__or__, (1 << NUMBERS[name] for name in names), 0)


def threads(pid: int) -> set[tuple[int, ...]]:
    """Inheritable, permitted, effective, bounding and ambient capabilities of its threads, and
    whether programs that they start can get more."""
    found = set()
    for task in Path(f"/proc/{pid}/task").iterdir():
        try:
            status = (task / "status").read_text()
        except (FileNotFoundError, ProcessLookupError):  # that thread ended in this moment
            continue
        said = dict(line.split(":", 1) for line in status.splitlines())
        found.add((*(int(said[name], 16) for name in SETS), int(said["NoNewPrivs"])))
    return found


def children(pid: int) -> list[int]:
    texts = [path.read_text() for path in Path(f"/proc/{pid}/task").glob("*/children")]
    return [int(word) for text in texts for word in text.split()]
