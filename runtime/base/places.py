"""Where things of this host lie, unless the user says otherwise."""

from __future__ import annotations

from pathlib import Path

#: What ends with the host: locks, the agent's socket, what it posts.
RUN = Path("/run/helio")
#: The agent's, for local tools.
SOCKET = RUN / "heliod.sock"
#: What is pinned of pipelines: see loading/releases.py.
PINNED = Path("/sys/fs/bpf/helio")
#: What outlives it: the agent's journal, and its certificates.
STATE = Path("/var/lib/helio")
