"""Memory that nobody uses is given back."""

from __future__ import annotations

import json
import subprocess
import sys

PROGRAM = """
import json, os
from helioc.runtime.base.memory import Memory

def resident():
    # bytes of this process that are in memory, of no file (proc(5))
    _, pages, shared, *_ = map(int, open("/proc/self/statm").read().split())
    return (pages - shared) * os.sysconf("SC_PAGESIZE")

memory, found = Memory(), [resident()]
taken = [b"x" * (100_000 + n) for n in range(2_000)]  # too small to be mapped
stays = bytes(1_000)
memory.give_back()
found.append(resident())
taken.clear()
memory.give_back()
found.append(resident())
print(json.dumps(found))
"""


def test_what_lies_below_something_that_stays() -> None:
    """What glibc does not give back by itself. In a process that nothing else was done in."""
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, check=True)
    before, used, left = (each >> 20 for each in json.loads(done.stdout))
    assert used > before + 150, "it is used"
    assert left < before + 64
