"""Returns memory to the system that the C library keeps though it is free."""

from __future__ import annotations

import os
from contextlib import suppress

from ..kernel.system import malloc_trim

#: Bytes by which a process has to have grown before its memory is trimmed.
_GROWN = 64 << 20
_PAGE = os.sysconf("SC_PAGESIZE")


class Memory:
    """Returns free memory: glibc does so only at the heap's end."""

    def __init__(self) -> None:
        self._least = resident()

    def give_back(self) -> None:
        """If the process has grown by `_GROWN`."""
        now = resident()
        self._least = min(self._least, now)
        if now > self._least + _GROWN:
            malloc_trim()
            self._least = resident()


def resident() -> int:
    """Bytes of this process that are in memory, of no file (proc(5)); 0: unknown."""
    with suppress(OSError), open("/proc/self/statm", "rb") as file:
        _, pages, shared, *_ = map(int, file.read().split())
        return (pages - shared) * _PAGE
    return 0
