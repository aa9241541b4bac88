"""A small HTTP/1 server of pages: GET and HEAD, a few clients at a time."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

_PATIENCE = 10.0  # seconds that a client has for its request, and for each part of the answer
_MOST_CLIENTS = 32
TEXT = "text/plain; charset=utf-8"


class Answer(NamedTuple):
    status: HTTPStatus
    content: bytes
    content_type: str = TEXT


#: Answers a path with its query, and an Accept header. May be called by several threads.
Pages = Callable[[str, str], Answer]


class HttpServer:
    """Serves until it is closed, by threads of this process."""

    def __init__(self, listening: socket.socket, pages: Pages) -> None:
        """`listening` is bound and listens (`socket.create_server`); it is closed with this."""
        self._server = _Server(listening, pages)
        self._thread = threading.Thread(target=self._server.serve_forever, name="http", daemon=True)
        self._thread.start()

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    def close(self) -> None:
        """May be called again."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def __enter__(self) -> HttpServer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, listening: socket.socket, pages: Pages) -> None:
        super().__init__(("", 0), _Handler, bind_and_activate=False)
        self.socket.close()
        self.socket = listening
        self.server_address = listening.getsockname()
        self.pages = pages
        self._clients = 0
        self._silent: dict[Any, None] = {}  # who has not asked yet, the oldest first
        self._counting = threading.Lock()

    def process_request(self, request: Any, client_address: Any) -> None:
        """Where there are too many clients, a silent one is dropped for the new one."""
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
        """A request has come, so its client is not silent."""
        with self._counting:
            self._silent.pop(request, None)

    def handle_error(self, request: object, client_address: object) -> None:
        """Not logged: a client went away."""


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
        answer = self.server.pages(self.path, self.headers.get("Accept", ""))
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.content_type)
        self.send_header("Content-Length", str(len(answer.content)))
        self.end_headers()
        if with_content:
            self.wfile.write(answer.content)

    def log_message(self, format: str, *arguments: object) -> None:
        """Requests are not logged."""
