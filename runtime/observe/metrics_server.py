"""Serves `GET /metrics` over HTTP, for Prometheus to scrape.

    GET /metrics               every pipeline of this network namespace
    GET /metrics?rules=PDR     and what single rules of a kind counted (rules=PDR&rules=FAR: of two)

Anybody who reaches it may read; it accepts nothing else. Pages are made one at a time and reused
for a second, so that nobody can keep the machine busy with them.
"""

from __future__ import annotations

import logging
import socket
import threading
import time
from http import HTTPStatus
from urllib.parse import parse_qs, urlsplit

from prometheus_client.exposition import choose_encoder

from .http_server import Answer, HttpServer
from .metrics import Metrics, render

_log = logging.getLogger("heliod")
_FRESH = 1.0  # seconds
_MOST_KINDS = 16


class MetricsServer(HttpServer):
    """Serves until it is closed, by threads of this process."""

    def __init__(self, listening: socket.socket, metrics: Metrics | None = None) -> None:
        self._metrics, self._making = metrics or Metrics(), threading.Lock()
        self._made: dict[tuple[tuple[str, ...], str], tuple[float, bytes, str]] = {}
        self._known, self._looked = set[str](), float("-inf")
        super().__init__(listening, self._page)

    def _page(self, path: str, accept: str) -> Answer:
        asked = urlsplit(path)
        if asked.path != "/metrics":
            return Answer(HTTPStatus.NOT_FOUND, b"there is only /metrics\n")
        kinds = tuple(sorted(set(parse_qs(asked.query).get("rules", []))))[:_MOST_KINDS]
        try:
            if kinds and (unknown := self._unknown(kinds)):
                return Answer(HTTPStatus.BAD_REQUEST, unknown.encode())
            return Answer(HTTPStatus.OK, *self._rendered(kinds, accept))
        except Exception as error:
            _log.warning("metrics: %s", error)
            return Answer(HTTPStatus.INTERNAL_SERVER_ERROR, b"the maps cannot be read\n")

    def _unknown(self, kinds: tuple[str, ...]) -> str:
        """What there is to say of kinds that no pipeline has; none is unknown where none is."""
        with self._making:
            if time.monotonic() >= self._looked + _FRESH:
                self._known, self._looked = self._metrics.kinds(), time.monotonic()
            strange = [kind for kind in kinds if self._known and kind not in self._known]
        message = (
            f"no pipeline has rules of these kinds; there are {', '.join(sorted(self._known))}\n"
        )
        return message if strange else ""

    def _rendered(self, kinds: tuple[str, ...], accept: str) -> tuple[bytes, str]:
        """The metrics and their content type."""
        encode, content_type = choose_encoder(accept)
        with self._making:
            now = time.monotonic()
            self._made = {key: m for key, m in self._made.items() if m[0] > now - _FRESH}
            key = kinds, content_type
            if key not in self._made:
                page = render(self._metrics.families(kinds), encode)
                self._made[key] = time.monotonic(), page, content_type
            return self._made[key][1:]
