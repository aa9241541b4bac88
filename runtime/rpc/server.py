"""The gRPC server: where it listens, and the standard services beside the control service."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import Event, Thread
from typing import Any

import grpc
from grpc_health.v1 import health, health_pb2
from grpc_reflection.v1alpha import reflection

from ...lang.diagnostics import Refused
from ..agent import faults
from ..certs import read_identity
from ..faults import refused
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
    # At each of its addresses: who opens many at one leaves the others alone.
    ("grpc.max_allowed_incoming_connections", 1_000),
    # Who does not finish a handshake, or has gone without a word, holds nothing for long.
    ("grpc.server_handshake_timeout_ms", 5_000),
    ("grpc.keepalive_time_ms", 30_000),
    ("grpc.keepalive_timeout_ms", 10_000),
    ("grpc.http2.ping_timeout_ms", 10_000),  # by this gRPC's core waits for a keepalive's answer
    ("grpc.http2.min_recv_ping_interval_without_data_ms", 10_000),
)
#: Seconds between two looks at the list of those who are let in no more.
_LOOK = 1.0
#: Threads besides those that may last: for more clients than one that have all their calls going;
#: and how many of all one host has at a time.
SPARE, EACH = 192, 40
_ADDRESS = re.compile(r"(\[[0-9a-fA-F:.%]+\]|[^:\s/]+):\d{1,5}")


class Server:
    """Listens from `start` to `stop`."""

    def __init__(self, service: Service, limits: Limits = Limits()) -> None:  # noqa: B008
        # Streams and watches hold a thread each: there are always some for the others.
        self._service = service
        threads = Fair(limits.all_lasting + SPARE, EACH)
        self._server = grpc.server(threads, options=_OPTIONS)
        self._guard = guard = Guard(limits)
        service.clients = guard.clients
        self._health = health.HealthServicer()
        own = [service.full_name for service in SERVICES]
        told = reflection.ReflectionServicer((*own, HEALTH.full_name, REFLECTION.full_name))
        for served, of in ((service, SERVICES), (self._health, [HEALTH]), (told, [REFLECTION])):
            self._server.add_generic_rpc_handlers(handlers(served, guard, of))
        self._sockets: list[Path] = []
        self._revoked: Revoked | None = None
        self._ended = Event()
        self._watching = Thread(target=self._watch_revoked, name="revoked", daemon=True)

    def listen_tcp(self, address: str, identity: Path) -> None:
        """At `HOST:PORT` for clients with certificates. `identity`: see `certs.read_identity`, with
        `revoked` beside it; the files are read again when they have changed. Raises `Refused`."""
        first = _Fresh(identity)
        self._service.identity = identity
        self._guard.revoked = self._revoked = Revoked(identity.parent / REVOKED)
        fetch: Any = first.changed  # None is allowed, whatever the stubs say
        credentials = grpc.dynamic_ssl_server_credentials(first.now(), fetch, True)
        self._bind(address, lambda: self._server.add_secure_port(address, credentials))

    def listen_insecure(self, address: str) -> None:
        """At `HOST:PORT`, for anybody, who may do everything. Raises `Refused`."""
        self._bind(address, lambda: self._server.add_insecure_port(address))

    def _bind(self, address: str, bind: Callable[[], int]) -> None:
        if not _ADDRESS.fullmatch(address):
            raise refused(faults.bad_address(address))
        try:
            bind()
        except RuntimeError:
            why = "it is in use, or no address of this machine"
            raise refused(faults.address_taken(address, why)) from None

    def listen(self, path: Path) -> None:
        """At a Unix socket that only its owner may use. Raises `Refused`."""
        address = f"unix:{path}"
        with suppress(OSError):
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _remove_stale(path)
        before = os.umask(0o177)
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
        if self._revoked is not None:
            self._watching.start()
        self._say(health_pb2.HealthCheckResponse.SERVING)

    def _say(self, status: int) -> None:
        for name in ("", *(service.full_name for service in SERVICES)):
            self._health.set(name, status)

    def _watch_revoked(self) -> None:
        assert self._revoked is not None
        while not self._ended.wait(_LOOK):
            if self._revoked.changed():
                self._guard.cut_off()

    def stop(self, grace: float) -> None:
        """Take nothing new, give what runs `grace` seconds, and end."""
        self._ended.set()
        self._health.enter_graceful_shutdown()
        self._server.stop(grace).wait()
        for path in self._sockets:
            path.unlink(missing_ok=True)


class _Fresh:
    """Certificates as their files are now."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known = read_identity(path)

    def now(self) -> grpc.ServerCertificateConfiguration:
        known = self._known
        pair = [(known.key, known.certificate)]
        return grpc.ssl_server_certificate_configuration(pair, known.authority)

    def changed(self) -> grpc.ServerCertificateConfiguration | None:
        """At every handshake: None where they are what they were, or cannot be used."""
        try:
            found = read_identity(self._path)
        except Refused:
            return None
        if found == self._known:
            return None
        self._known = found
        return self.now()


def _remove_stale(path: Path) -> None:
    """Take away a socket at which nobody listens any more. Raises `Refused` if somebody does."""
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            path.unlink(missing_ok=True)
        except OSError:
            return
        else:
            raise refused(faults.address_taken(f"unix:{path}", "another process listens there"))
