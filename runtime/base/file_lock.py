"""Locks a file for one process: flock(2), which ends with its process, however that ends.

Who comes second waits a while: writers are done in milliseconds, and a process that was killed
holds its locks until the kernel has taken its memory back. flock takes no timeout; asking again
every few milliseconds costs next to nothing, and works in threads, where an alarm would not.
"""

from __future__ import annotations

import fcntl
import time

#: Seconds: how long it is waited for, and between two attempts.
PATIENCE, PAUSE = 5.0, 0.01


def lock_file(descriptor: int) -> bool:
    """Lock an open file. False where another has held it for `PATIENCE`."""
    until = time.monotonic() + PATIENCE
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if time.monotonic() >= until:
                return False
            time.sleep(PAUSE)
