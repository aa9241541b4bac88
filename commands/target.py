"""Chooses what `helioctl` works on: an agent, or the kernel's maps."""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..runtime.base.paths import SOCKET
from .local_control import Local
from .remote_control import Remote

if TYPE_CHECKING:
    from ..runtime.client import Client
    from .control import Control


@dataclass(frozen=True)
class Target:
    """Whom `helioctl` speaks to. `agent`: an address; empty: the local agent if there is one.
    `identity`: for TCP, see `identity.read_identity`."""

    name: str = ""
    agent: str = ""
    local: bool = False
    identity: Path | None = None

    @contextmanager
    def open(self) -> Iterator[Control]:
        from ..runtime.tracing.stale_traces import stale_traces

        if stale_traces():
            from ..runtime.tracing.swap import restore_plain_builds

            restore_plain_builds()
        if self.local or not self._address:
            with closing(Local(self.name)) as control:
                yield control
            return
        with self.need_agent() as client:
            yield Remote(client)

    @contextmanager
    def need_agent(self) -> Iterator[Client]:
        """The agent. Raises `Refused` where there is none."""
        address = self._address
        if self.local or not address:
            from ..runtime.base.errors import refused
            from ..runtime.intents.errors import needs_agent

            raise refused(needs_agent(self.local))
        from ..runtime.client import Client

        with Client(address, self.name, identity=self.identity) as client:
            yield client

    @property
    def has_agent(self) -> bool:
        return not self.local and bool(self._address)

    @property
    def _address(self) -> str:
        return self.agent or (f"unix:{SOCKET}" if agent_here(SOCKET) else "")


def agent_here(path: Path) -> bool:
    """Whether an agent of our own network namespace listens at a Unix socket. One of another
    namespace knows other interfaces and must be named (`--agent`). A user other than root cannot
    tell, nor one who may not open the socket: then it counts as ours."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC) as probe:
        try:
            probe.connect(str(path))
            peer = probe.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
            pid, _, _ = struct.unpack("3i", peer)
            return os.path.samefile(f"/proc/{pid}/ns/net", "/proc/self/ns/net")
        except PermissionError:
            return True
        except OSError:
            return False
