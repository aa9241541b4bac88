"""The gRPC server: where it listens, and the standard services beside the control service."""

from __future__ import annotations

import os
import socket
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from .. import agent_faults as faults
from ..faults import refused
from ..service import Service, guarded
from .methods import SERVICE, handlers

#: Octets of a message, either way.
LARGEST = 16 << 20
_THREADS = 32
_OPTIONS = (
    ("grpc.max_receive_message_length", LARGEST),
    ("grpc.max_send_message_length", LARGEST),
    ("grpc.so_reuseport", 0),
)


class Server:
    """Listens from `start` to `stop`."""

    def __init__(self, service: Service) -> None:
        self._server = grpc.server(ThreadPoolExecutor(_THREADS, "rpc"), options=_OPTIONS)
        self._server.add_generic_rpc_handlers((handlers(service, guarded),))
        self._health = health.HealthServicer()
        health_pb2_grpc.add_HealthServicer_to_server(self._health, self._server)
        names = (SERVICE.full_name, health.SERVICE_NAME, reflection.SERVICE_NAME)
        reflection.enable_server_reflection(names, self._server)
        self._sockets: list[Path] = []

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
        self._say(health_pb2.HealthCheckResponse.SERVING)

    def _say(self, status: int) -> None:
        for name in ("", SERVICE.full_name):
            self._health.set(name, status)

    def stop(self, grace: float) -> None:
        """Take nothing new, give what runs `grace` seconds, and end."""
        self._health.enter_graceful_shutdown()
        self._server.stop(grace).wait()
        for path in self._sockets:
            path.unlink(missing_ok=True)


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
