"""The agent's gRPC server: where it listens, and gRPC's own services beside the control service."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Mapping
from itertools import count
from pathlib import Path
from threading import Event, Thread
from typing import Any

from ...lang.text.diagnostics import Diagnostic
from ..base import agent_errors as faults
from ..base.errors import refused
from ..base.identity import expiring_soon
from ..base.identity_check import Expiries, check_identity
from ..base.listening import listen, listen_unix
from ..base.logs import text as log_text
from ..base.published import publish_agent
from ..base.revoked import NAME as REVOKED
from ..base.revoked import Revoked
from ..front import calls
from ..front.budget import Budget
from ..front.calls import Call
from ..front.server import Server as Front
from ..http2 import nghttp2
from .access import HEALTH, REFLECTION
from .audit import Audit
from .callers import Caller, Refusal, caller_of
from .clients import Limits
from .failures import status_codes
from .guard import Guard
from .health import NOT_SERVING, SERVING, Health
from .methods import SERVICES, path_of
from .service import ORDERED, Service

#: In the health service: whether all is there that was acknowledged.
JOURNAL = "helio.journal"
#: Seconds between two looks at the list of those who are let in no more.
_LOOK = 1.0
#: So many of them between two looks at the certificates; and of those between two warnings.
_ENDINGS, _WARN = 60, 60
_log = logging.getLogger("heliod")
#: Threads besides those that may last: for more clients than one that have all their calls going;
#: and how many of all one host has at a time.
SPARE, EACH = 192, 40
#: Bytes of requests that have not come whole, or wait: of one host, and of all.
ARRIVING = 64 << 20, 256 << 20


class Server:
    """Listens from `start` to `stop`."""

    def __init__(
        self,
        service: Service,
        path: Path,
        limits: Limits = Limits(),  # noqa: B008
        mode: int = 0o600,
    ) -> None:
        """`path`: the Unix socket, `mode` its permissions. Raises `Refused`."""
        try:
            nghttp2.library()
        except OSError:
            raise refused(faults.no_library(nghttp2.NAME, nghttp2.PACKAGE)) from None
        self._service, self._path, self._audit = service, path, Audit()
        self._guard, self._health = Guard(limits, self._audit), Health()
        service.locked_out = self.locked_out
        service.clients, service.losses_changed = self._guard.clients, self._say_journal
        self._front = Front(
            self._methods(), caller_of, lambda *found: self._audit.record(Refusal(*found)),
            # Watches hold a thread each: there are always some for the others.
            threads=limits.all_lasting + SPARE, each=EACH,
            patience=limits.patience, arriving=Budget(*ARRIVING),
        )  # fmt: skip
        self._front.listen([listen_unix(path, 0o777 & ~mode)])
        self._revoked: Revoked | None = None
        self._ended = Event()
        self._watching = Thread(target=self._watch_revoked, name="revoked", daemon=True)

    def listen_tcp(self, address: str, identity: Path) -> None:
        """At `HOST:PORT` for clients with certificates. `identity`: see `base/identity.py`, with
        `revoked` beside it; the files are read again when they have changed. Raises `Refused`."""
        check_identity(identity)
        self._service.certificates = Expiries(identity)
        self._guard.revoked = self._revoked = Revoked(identity.parent / REVOKED)
        self._front.listen(listen(address), identity)

    def listen_insecure(self, address: str) -> None:
        """At `HOST:PORT`, for anybody, who may do everything. Raises `Refused`."""
        self._front.listen(listen(address))

    def start(self) -> None:
        status_codes()
        for name in ("", *(service.full_name for service in SERVICES)):
            self._health.set(name, SERVING)
        self._say_journal()
        self._front.start()
        if self._revoked is not None:
            self._watching.start()

    def unattended(self) -> float:
        """Seconds for which no thread waited for clients; 0 where one does."""
        return self._front.unattended()

    def locked_out(self) -> tuple[Diagnostic, ...]:
        """Why nobody is let in by TLS; empty where some are."""
        return self._revoked.unread if self._revoked is not None else ()

    def stop(self, grace: float) -> None:
        """Take nothing new, give what runs `grace` seconds, and end."""
        self._ended.set()
        self._health.end()
        self._front.stop(grace)
        self._audit.close()
        publish_agent("certificates", [])
        self._path.unlink(missing_ok=True)

    def _methods(self) -> Mapping[bytes, calls.Method]:
        made: dict[bytes, calls.Method] = {}
        own, reflection = (self._service, SERVICES), (_Reflection(), [REFLECTION])
        for of, services in (own, reflection, (self._health, [HEALTH])):
            for described in (each for service in services for each in service.methods):
                if (method := getattr(of, described.name, None)) is not None:
                    make = self._guard.ordered if described.name in ORDERED else self._guard.method
                    made[path_of(described).encode()] = make(described, method)
        return made

    def _say_journal(self) -> None:
        lost = bool(self._service.agent.losses)
        self._health.set(JOURNAL, NOT_SERVING if lost else SERVING)

    def _watch_revoked(self) -> None:
        revoked = self._revoked
        assert revoked is not None

        def is_revoked(caller: Caller) -> bool:
            return caller.fingerprint in revoked

        def has_ended(caller: Caller) -> bool:
            return caller.ends <= now

        for look in count():
            if not look % _ENDINGS:
                self._see_certificates(warn=not look % (_ENDINGS * _WARN))
            if self._ended.wait(_LOOK):
                return
            if revoked.changed():
                self._front.close(is_revoked)
            now = time.time()
            self._front.close(has_ended, "its certificate has ended")

    def _see_certificates(self, warn: bool) -> None:
        """Post when they end; `warn` of those that have, will soon, or cannot be read."""
        certificates, wrong = self._service.certificates_now()
        publish_agent("certificates", certificates)
        if warn:
            for found in [*wrong, *expiring_soon(certificates, time.time())]:
                _log.warning("%s", log_text(found))


class _Reflection:
    """The reflection service of gRPC."""

    def ServerReflectionInfo(self, requests: Iterator[Any], context: Call) -> Iterator[Any]:
        from grpc_reflection.v1alpha import reflection  # brings all of gRPC: few ever ask

        names = [service.full_name for service in (*SERVICES, HEALTH, REFLECTION)]
        servicer: Any = reflection.ReflectionServicer(names)
        found: Iterator[Any] = servicer.ServerReflectionInfo(requests, context)
        return found
