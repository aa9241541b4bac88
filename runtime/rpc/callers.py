"""Who calls: by a connection of the front (front/), or by a Unix socket.

The agent's gRPC server listens at Unix sockets alone. A connection of the front has a name of its
own there, which gRPC says as the peer; whose it is the front has reported before it connected.
"""

from __future__ import annotations

import json
import logging
import re
import select
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Container, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from ..certs import Role, role_of
from ..front.listener import agent_name
from ..front.report import PACKET, Opened
from .audit import Audit, Entry, Fields

#: Seconds before a front that has ended is started again.
_AGAIN = 0.2
_log = logging.getLogger("heliod.front")


class Caller(NamedTuple):
    """`name` is the certificate's, or the host's where there is none; `host` an IP address, empty
    by a Unix socket; `fingerprint` the certificate's SHA-256 in hex, empty without TLS."""

    name: str
    role: Role | None
    host: str = ""
    port: int = 0
    fingerprint: str = ""

    @property
    def place(self) -> str:
        """Where its calls wait for each other: not those of local clients for connections that have
        ended."""
        return self.host or self.name


#: Who may open the Unix socket may do everything.
LOCAL = Caller("unix", "admin")
#: A connection that has ended: nobody reads an answer.
GONE = Caller("", None)


class Callers:
    """The front, and the connections that came by it. May be asked by any thread."""

    def __init__(self, agent: Path, audit: Audit) -> None:
        """`agent`: the socket at which the agent's server listens for the front. `audit` is told of
        connections that it refuses."""
        self._agent, self._audit = agent, audit
        self._listening: list[tuple[socket.socket, bool]] = []
        self._identity: Path | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._peer = re.compile("")
        self._opened: dict[int, Caller] = {}
        self._lock, self._ended = threading.Lock(), threading.Event()
        self._keeper = threading.Thread(target=self._keep, name="front", daemon=True)

    def listen(self, at: Sequence[socket.socket], identity: Path | None) -> None:
        """Before `start`: also take connections here, with TLS if there is an identity."""
        self._listening += [(each, identity is not None) for each in at]
        self._identity = identity or self._identity

    def start(self) -> None:
        if self._listening:
            self._begin()
            self._keeper.start()

    def stop(self) -> None:
        """Take no connections any more, and end those that there are."""
        self._ended.set()
        if self._process is not None:
            self._process.kill()
            self._keeper.join()
        for each, _ in self._listening:
            each.close()

    def of(self, peer: str) -> Caller:
        """Whose call it is, by what gRPC says of its peer."""
        if (found := self._peer.fullmatch(peer)) is None:
            return LOCAL if peer.startswith("unix:") else GONE
        number = int(found[1])
        with self._lock:
            self._read()  # what was reported before the connection was made
            return self._opened.get(number, GONE)

    def close(self, fingerprints: Container[str]) -> None:
        """End the connections of these certificates."""
        with self._lock:
            self._read()
            mine = [n for n, caller in self._opened.items() if caller.fingerprint in fingerprints]
            if mine and self._control is not None:
                with suppress(OSError):  # the front is gone, and they with it
                    self._control.send(json.dumps({"close": mine}).encode())

    # ---- the process ------------------------------------------------------------------------

    def _begin(self) -> None:
        mine, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        descriptors: dict[bool, list[int]] = {True: [], False: []}
        for each, tls in self._listening:
            descriptors[tls].append(each.fileno())
        wanted = {
            "control": theirs.fileno(), "agent": str(self._agent), "identity": str(self._identity),
            "tls": descriptors[True], "open": descriptors[False],
        }  # fmt: skip
        with theirs:
            process = subprocess.Popen(
                [sys.executable, "-m", "helioc.runtime.front", json.dumps(wanted)],
                pass_fds=[theirs.fileno(), *descriptors[True], *descriptors[False]],
                stdin=subprocess.DEVNULL,
            )
        with self._lock:
            self._process, self._control = process, mine
            self._opened.clear()
            name = re.escape(agent_name(process.pid, 0)[:-1])
            self._peer = re.compile(rf"unix-abstract:{name}(\d+)")

    def _keep(self) -> None:
        """Read what the front reports, and start it again if it ends."""
        while True:
            assert self._control is not None and self._process is not None
            alive = True
            while alive:
                select.select([self._control], [], [])
                with self._lock:
                    alive = self._read()
            self._control.close()
            status = self._process.wait()
            if self._ended.is_set():
                return
            _log.error("the front ended with status %d; its connections are lost", status)
            if self._ended.wait(_AGAIN):
                return
            self._begin()

    def _read(self) -> bool:
        """All that was reported; whether the front is still there."""
        assert self._control is not None
        try:
            while packet := self._control.recv(PACKET, socket.MSG_DONTWAIT):
                self._take(json.loads(packet))
        except BlockingIOError:
            return True
        except OSError:
            return False
        return False

    def _take(self, said: dict[str, object]) -> None:
        kinds: dict[str, Callable[..., None]] = {
            "opened": self._on_opened, "closed": self._on_closed, "refused": self._on_refused,
        }  # fmt: skip
        for kind, what in said.items():
            kinds[kind](what)

    def _on_opened(self, what: dict[str, object]) -> None:
        found = Opened(**what)  # type: ignore[arg-type]
        role: Role | None = role_of(found.uris) if found.fingerprint else "admin"
        name = found.name if found.fingerprint else found.host
        self._opened[found.number] = Caller(name, role, found.host, found.port, found.fingerprint)

    def _on_closed(self, number: int) -> None:
        self._opened.pop(number, None)

    def _on_refused(self, what: dict[str, object]) -> None:
        self._audit.record(_Refusal(**what))  # type: ignore[arg-type]


class _Refusal(Entry):
    """Connections of one source that were refused for one reason, in a second."""

    __slots__ = ("why",)

    def __init__(self, host: str, why: str, count: int) -> None:
        super().__init__(("", host or "many", "", ""), "connect")
        self.answer, self.why, self.times = "refused", why, count

    def details(self) -> Fields:
        return {"why": self.why, "count": self.times}
