"""Where Helio's files lie on this host, unless the user says otherwise."""

from __future__ import annotations

import os
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
