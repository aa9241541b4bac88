"""Serves `GET /healthz` and `GET /readyz` over HTTP: whether the agent works, for its supervisor.

200 and `ok`, or 503 and one line that says why. Nothing else is reported here.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from http import HTTPStatus
from urllib.parse import urlsplit

from .http_server import Answer, HttpServer


@contextmanager
def health_servers(
    listening: Iterable[socket.socket], stuck: Callable[[], str], unready: Callable[[], str]
) -> Iterator[None]:
    """Serves within the block. `stuck`, `unready`: why the agent does not live, and why it is not
    ready; empty where it does and is."""
    asked: Mapping[str, Callable[[], str]] = {"/healthz": stuck, "/readyz": unready}

    def page(path: str, _: str) -> Answer:
        look = asked.get(urlsplit(path).path)
        if look is None:
            return Answer(HTTPStatus.NOT_FOUND, b"there are /healthz and /readyz\n")
        why = look()
        status = HTTPStatus.SERVICE_UNAVAILABLE if why else HTTPStatus.OK
        return Answer(status, f"{why or 'ok'}\n".encode())

    with ExitStack() as servers:
        for each in listening:
            servers.enter_context(HttpServer(each, page))
        yield
