"""Where Helio's files lie on this host, unless the user says otherwise."""

from __future__ import annotations

import os
from contextlib import suppress
from itertools import chain
from pathlib import Path

#: Removed at a reboot: locks, the agent's socket, what it publishes.
RUN = Path("/run/helio")
#: The agent's, for local tools.
SOCKET = RUN / "heliod.sock"
#: Pins of pipelines: see loading/releases.py.
PINNED = Path("/sys/fs/bpf/helio")
#: Kept over a reboot: the agent's journal, and its certificates.
STATE = Path("/var/lib/helio")


def this_namespace() -> int:
    """The network namespace that this thread is in."""
    return os.stat("/proc/thread-self/ns/net").st_ino


def namespace_exists(number: int) -> bool:
    """Whether there is such a network namespace: with a name, or with a process in it."""
    for path in chain(Path("/run/netns").glob("*"), Path("/proc").glob("[0-9]*/ns/net")):
        with suppress(OSError):  # just gone, or not for us to see
            if path.stat().st_ino == number:
                return True
    return False
