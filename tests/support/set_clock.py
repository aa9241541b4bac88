"""A wall clock that a test can set, of the processes that it says, and of nobody else."""

from __future__ import annotations

import struct
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

HOUR, DAY = 3600, 86_400


@dataclass
class Clock:
    """`by`: the words that run a command by it. `off`: by how many seconds it is off."""

    by: tuple[str, ...]
    path: Path
    off: int = 0

    def jump(self, seconds: int) -> None:
        self.off += seconds
        with self.path.open("r+b") as file:
            file.write(struct.pack("=q", self.off))

    def now(self) -> float:
        return time.time() + self.off


def clock(folder: Path) -> Clock:
    """Compiled there."""
    made, path = folder / "set_clock.so", folder / "clock"
    source = Path(__file__).with_name("set_clock.c")
    words = ["cc", "-O2", "-Wall", "-Werror", "-shared", "-fPIC", "-o", str(made), str(source)]
    subprocess.run(words, check=True)
    path.write_bytes(bytes(8))
    return Clock(("env", f"LD_PRELOAD={made}", f"HELIO_TEST_CLOCK={path}"), path)
