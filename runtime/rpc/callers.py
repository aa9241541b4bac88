"""Who calls: whoever may open the Unix socket, or whom a certificate names."""

from __future__ import annotations

from math import inf
from typing import NamedTuple

from ..base.identity import Role, role_of
from ..base.source_limits import source_of
from ..front.listener import Peer
from .audit import Entry, Fields


class Caller(NamedTuple):
    """`name` is the certificate's, or the host's where there is none; `host` an IP address, empty
    by a Unix socket; `fingerprint` the certificate's SHA-256 in hex, empty without TLS; `ends` when
    the certificate does, in seconds of the Unix epoch."""

    name: str
    role: Role | None
    host: str = ""
    port: int = 0
    fingerprint: str = ""
    ends: float = inf

    @property
    def place(self) -> str:
        """Where its calls wait for each other: a source (base/source_limits.py)."""
        return source_of(self.host) if self.host else self.name

    @property
    def known(self) -> bool:
        """It has a role."""
        return self.role is not None

    @property
    def whose(self) -> tuple[bool, str, str]:
        """Whose limits count: of all certificates with a name and a role, for a client that renews
        its own keeps these. A certificate's name is no host's, and not the Unix socket's."""
        return bool(self.fingerprint), self.name, self.role or ""

    @property
    def itself(self) -> tuple[bool, str, str]:
        """Who is charged where it is not let in: this certificate, for others of its name may be
        good."""
        return (True, self.fingerprint, "itself") if self.fingerprint else self.whose


#: Who may open the Unix socket may do everything.
LOCAL = Caller("unix", "admin")
#: Of whom nothing is known.
NOBODY = Caller("", None)


def caller_of(peer: Peer) -> Caller:
    """Without TLS anybody may do everything: see `heliod --insecure-tcp`."""
    if not peer.host:
        return LOCAL
    if not peer.fingerprint:
        return Caller(peer.host, "admin", peer.host, peer.port)
    return Caller(
        peer.name, role_of(peer.uris), peer.host, peer.port, peer.fingerprint, peer.ends
    )  # fmt: skip


class Refusal(Entry):
    """Connections of one source that were refused for one reason, in a second."""

    def __init__(self, host: str, why: str, count: int) -> None:
        super().__init__(("", host or "many", "", ""), "connect")
        self.answer, self.why, self.times = "refused", why, count

    def details(self) -> Fields:
        return {"why": self.why, "count": self.times}
