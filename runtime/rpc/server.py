"""The gRPC server: where it listens, and the standard services beside the control service."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from threading import Event, Thread

import grpc
from grpc_health.v1 import health, health_pb2
from grpc_reflection.v1alpha import reflection

from ..agent import faults
from ..faults import refused
from ..identity_check import Endings, check_identity
from ..listening import listen, remove_stale
from .audit import Audit
from .callers import Callers
from .fair import Fair
from .guard import HEALTH, REFLECTION, Guard, Limits
from .methods import SERVICES, SIZES, handlers
from .revoked import NAME as REVOKED
from .revoked import Revoked
from .service import Service

_OPTIONS = (
    *SIZES,
    ("grpc.so_reuseport", 0),
    ("grpc.max_concurrent_streams", 64),
    # The front lets 1,000 of them in (front/sources.py); there is always room for local tools.
    ("grpc.max_allowed_incoming_connections", 1_500),
    # A client that has gone silently holds nothing for long.
    ("grpc.keepalive_time_ms", 30_000),
    ("grpc.keepalive_timeout_ms", 10_000),
    ("grpc.http2.ping_timeout_ms", 10_000),  # by this gRPC's core waits for a keepalive's answer
    ("grpc.http2.min_recv_ping_interval_without_data_ms", 10_000),
)
#: In the health service: whether all is there that was acknowledged.
JOURNAL = "helio.journal"
#: Seconds between two looks at the list of those who are let in no more.
_LOOK = 1.0
#: Threads besides those that may last: for more clients than one that have all their calls going;
#: and how many of all one host has at a time.
SPARE, EACH = 192, 40


class Server:
    """Listens from `start` to `stop`: at a Unix socket, and by TCP through the front (front/)."""

    def __init__(
        self,
        service: Service,
        path: Path,
        limits: Limits = Limits(),  # noqa: B008
        mode: int = 0o600,
    ) -> None:
        """`path`: the Unix socket, `mode` its permissions. Raises `Refused`."""
        self._service = service
        self._audit = Audit()
        self._callers = Callers(path, self._audit)
        # Streams and watches hold a thread each: there are always some for the others.
        threads = Fair(limits.all_lasting + SPARE, EACH, lambda peer: self._callers.of(peer).place)
        self._server = grpc.server(threads, options=_OPTIONS)
        self._guard = guard = Guard(self._callers.of, limits, self._audit)
        service.clients, service.losses_changed = guard.clients, self._say_journal
        self._health = health.HealthServicer()
        own = [service.full_name for service in SERVICES]
        told = reflection.ReflectionServicer((*own, HEALTH.full_name, REFLECTION.full_name))
        for served, of in ((service, SERVICES), (self._health, [HEALTH]), (told, [REFLECTION])):
            self._server.add_generic_rpc_handlers(handlers(served, guard, of))
        self._sockets: list[Path] = []
        self._listen(path, mode)
        self._revoked: Revoked | None = None
        self._ended = Event()
        self._watching = Thread(target=self._watch_revoked, name="revoked", daemon=True)

    def listen_tcp(self, address: str, identity: Path) -> None:
        """At `HOST:PORT` for clients with certificates. `identity`: see `certs.read_identity`, with
        `revoked` beside it; the files are read again when they have changed. Raises `Refused`."""
        check_identity(identity)
        self._service.certificates = Endings(identity)
        self._guard.revoked = self._revoked = Revoked(identity.parent / REVOKED)
        self._callers.listen(listen(address), identity)

    def listen_insecure(self, address: str) -> None:
        """At `HOST:PORT`, for anybody, who may do everything. Raises `Refused`."""
        self._callers.listen(listen(address), None)

    def _listen(self, path: Path, mode: int) -> None:
        address = f"unix:{path}"
        with suppress(OSError):
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        remove_stale(path)
        before = os.umask(0o777 & ~mode)
        try:
            self._server.add_insecure_port(address)
        except RuntimeError:
            why = "it is in use" if path.exists() else "its folder cannot be written"
            raise refused(faults.address_taken(address, why)) from None
        finally:
            os.umask(before)
        self._sockets.append(path)

    def start(self) -> None:
        self._server.start()
        self._callers.start()
        if self._revoked is not None:
            self._watching.start()
        self._say(health_pb2.HealthCheckResponse.SERVING)

    def _say(self, status: int) -> None:
        for name in ("", *(service.full_name for service in SERVICES)):
            self._health.set(name, status)
        self._say_journal()

    def _say_journal(self) -> None:
        status = health_pb2.HealthCheckResponse
        lost = bool(self._service.agent.losses)
        self._health.set(JOURNAL, status.NOT_SERVING if lost else status.SERVING)

    def _watch_revoked(self) -> None:
        assert self._revoked is not None
        while not self._ended.wait(_LOOK):
            if self._revoked.changed():
                self._callers.close(self._revoked)

    def stop(self, grace: float) -> None:
        """Take nothing new, give what runs `grace` seconds, and end."""
        self._ended.set()
        self._health.enter_graceful_shutdown()
        self._server.stop(grace).wait()
        self._callers.stop()
        self._audit.close()
        for path in self._sockets:
            path.unlink(missing_ok=True)
