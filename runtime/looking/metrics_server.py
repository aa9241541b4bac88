"""`GET /metrics` over HTTP: what Prometheus scrapes.

    GET /metrics               every pipeline of this network namespace
    GET /metrics?rules=PDR     and what single rules of a kind counted (rules=PDR&rules=FAR: of two)

Whoever reaches it may read; it takes nothing. Answers are made one at a time, and are good for a
second, so that nobody can keep the machine busy with them.
"""

from __future__ import annotations

import logging
import socket
import threading
import time
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from prometheus_client.exposition import choose_encoder

from .metrics import Metrics, render

_log = logging.getLogger("heliod")
_FRESH = 1.0  # seconds
_PATIENCE = 10.0  # seconds that a client has for its request, and for each part of the answer
_MOST_CLIENTS = 32
_MOST_KINDS = 16


class MetricsServer:
    """Serves until it is closed, by threads of this process."""

    def __init__(self, listening: socket.socket, metrics: Metrics | None = None) -> None:
        """`listening` is bound and listens (`socket.create_server`); it is closed with this."""
        self._server = _Server(listening, metrics or Metrics())
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    def close(self) -> None:
        """May be called again."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def __enter__(self) -> MetricsServer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, listening: socket.socket, metrics: Metrics) -> None:
        super().__init__(listening.getsockname()[:2], _Handler, bind_and_activate=False)
        self.socket.close()
        self.socket = listening
        self.server_address = listening.getsockname()
        self._metrics, self._making = metrics, threading.Lock()
        self._made: dict[tuple[tuple[str, ...], str], tuple[float, bytes, str]] = {}
        self._clients = 0
        self._silent: dict[Any, None] = {}  # who has not asked yet, the oldest first
        self._counting = threading.Lock()

    def answer(self, kinds: tuple[str, ...], accept: str) -> tuple[bytes, str]:
        """The metrics and their content type."""
        encode, content_type = choose_encoder(accept)
        with self._making:
            now = time.monotonic()
            self._made = {key: m for key, m in self._made.items() if m[0] > now - _FRESH}
            key = kinds, content_type
            if key not in self._made:
                octets = render(self._metrics.families(kinds), encode)
                self._made[key] = time.monotonic(), octets, content_type
            return self._made[key][1:]

    def process_request(self, request: Any, client_address: Any) -> None:
        """Where there are too many, who says nothing gives way to who comes."""
        with self._counting:
            if self._clients >= _MOST_CLIENTS:
                if not self._silent:
                    self.shutdown_request(request)
                    return
                oldest = next(iter(self._silent))
                del self._silent[oldest]
                with suppress(OSError):
                    oldest.shutdown(socket.SHUT_RDWR)
            self._clients += 1
            self._silent[request] = None
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            with self._counting:
                self._silent.pop(request, None)
                self._clients -= 1

    def asked(self, request: Any) -> None:
        """It is to be answered."""
        with self._counting:
            self._silent.pop(request, None)

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that went away is no news."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    timeout = _PATIENCE
    server_version = "heliod"
    sys_version = ""

    def do_GET(self) -> None:
        self._answer(with_content=True)

    def do_HEAD(self) -> None:
        self._answer(with_content=False)

    def _answer(self, with_content: bool) -> None:
        self.server.asked(self.request)
        asked = urlsplit(self.path)
        if asked.path != "/metrics":
            self.send_error(HTTPStatus.NOT_FOUND, "there is only /metrics")
            return
        kinds = tuple(sorted(set(parse_qs(asked.query).get("rules", []))))[:_MOST_KINDS]
        try:
            octets, content_type = self.server.answer(kinds, self.headers.get("Accept", ""))
        except Exception as error:
            _log.warning("metrics: %s", error)
            self.send_error(HTTPStatus.INTERNAL_SERVER_ERROR, "the maps cannot be read")
            return
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(octets)))
        self.end_headers()
        if with_content:
            self.wfile.write(octets)

    def log_message(self, format: str, *arguments: object) -> None:
        """Scrapes are no news."""
