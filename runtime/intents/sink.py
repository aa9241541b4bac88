"""Posts reports to a collector: a bounded queue, and a thread that sends what is in it.

As OTLP 1.x requires of HTTP: what a collector answers with 429, 502, 503 or 504, or not at all, is
sent again, later each time, or when its Retry-After says; after any other error it is dropped.
"""

from __future__ import annotations

import http.client
import json
import logging
import random
import socket
import ssl
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from ..edge.push_settings import Push, endpoint
from .push_status import OUTCOMES, PushStatus

#: Reports that wait, the oldest of which gives way; bytes of one report, and of an answer.
MOST, LONGEST, LONGEST_ANSWER = 64, 4 << 20, 64 << 10
_LONGEST_WHY = 200  # characters of what a collector says where it should answer
#: Seconds that a collector has for all of one report.
PATIENCE = 10.0
#: Seconds before it is asked again: the first time; at most, or the period if that is longer; and
#: at most whatever the period, and a Retry-After, say.
SOONEST, LATER, LATEST = 1.0, 10.0, 60.0
_PASSING = (429, 502, 503, 504)
_log = logging.getLogger("heliod.reports")


class Failed(Exception):
    """A report did not arrive. `again`: it may, later; `after`: seconds before it is sent again."""

    def __init__(self, why: str, again: bool = True, after: float = 0.0) -> None:
        super().__init__(why)
        self.again, self.after = again, after


class _Secure(http.client.HTTPSConnection):
    """Over TLS. Its socket is known from the handshake on, which may be ended therefore."""

    def __init__(self, host: str, port: int | None, context: ssl.SSLContext, timeout: float):
        super().__init__(host, port, timeout=timeout, context=context)
        self._tls = context

    def connect(self) -> None:
        http.client.HTTPConnection.connect(self)
        sock = self._tls.wrap_socket(
            self.sock, server_hostname=self.host, do_handshake_on_connect=False
        )
        self.sock = sock
        sock.do_handshake()


class Sink:
    """A pipeline's. `counts` by `OUTCOMES`: reports that arrived, that were dropped, and attempts
    that failed. `patience`, `soonest`: in seconds; `most`: reports that wait; `tried` is called
    after each attempt."""

    def __init__(
        self, pipeline: str, settings: Push, patience: float = PATIENCE, soonest: float = SOONEST,
        most: int = MOST, tried: Callable[[Sink], None] = lambda _: None,
    ) -> None:  # fmt: skip
        self.pipeline, self.settings, self._tried = pipeline, settings, tried
        self._last = 0.0, ""  # when an attempt ended, and why it failed
        self.counts = Counter(dict.fromkeys(OUTCOMES, 0))
        self._patience, self._soonest, self._most = patience, soonest, most
        self._queue: deque[bytes] = deque()
        self._changed = threading.Condition()
        self._ended = False
        self._connection: http.client.HTTPConnection | None = None
        self._lost = False  # the log says that the collector is not reached
        self._dropping = 0  # reports dropped since the log said that they are
        self._thread = threading.Thread(target=self._run, name="reports-sink", daemon=True)
        self._thread.start()

    def put(self, content: Mapping[str, Any]) -> None:
        """One more. Does not wait for anything."""
        body = json.dumps(content, separators=(",", ":")).encode()
        with self._changed:
            if len(body) > LONGEST:
                self._drop(f"a report has {len(body):,} bytes")
                return
            if len(self._queue) >= self._most:
                self._queue.popleft()
                self._drop(f"{self._most} reports wait")
            self._queue.append(body)
            self._changed.notify_all()

    @property
    def pushed(self) -> PushStatus:
        with self._changed:
            return PushStatus(**self.counts, tried=self._last[0], why=self._last[1])

    def close(self) -> None:
        """Reports that wait are dropped. May be called again."""
        with self._changed:
            self._ended = True
            self._changed.notify_all()
        self._hang_up()
        self._thread.join(self._patience)

    # ---- the thread -------------------------------------------------------------------------

    def _run(self) -> None:
        attempts = 0
        while (body := self._next()) is not None:
            wait, done = 0.0, True
            try:
                self._post(body)
                self._count("sent", "")
                self._reached()
                attempts = 0
            except Failed as error:
                self._count("failed", str(error))
                self._not_reached(str(error))
                done, attempts = not error.again, attempts + 1
                wait = max(error.after, self._backoff(attempts)) if error.again else 0.0
                if done:
                    with self._changed:
                        self._drop(str(error))
            with self._changed:
                if done and self._queue and self._queue[0] is body:
                    self._queue.popleft()
                if not attempts and not self._queue:
                    self._caught_up()
            self._tried(self)
            with self._changed:
                self._changed.wait_for(lambda: self._ended, wait)

    def _next(self) -> bytes | None:
        with self._changed:
            self._changed.wait_for(lambda: self._ended or self._queue)
            return None if self._ended else self._queue[0]

    def _backoff(self, attempts: int) -> float:
        bound = min(LATEST, max(LATER, self.settings.period))
        longest = min(bound, self._soonest * 2 ** min(attempts - 1, 16))
        return float(longest * random.uniform(0.5, 1.0))

    def _count(self, outcome: str, why: str) -> None:
        with self._changed:
            self.counts[outcome] += 1
            self._last = time.time(), why

    def _drop(self, why: str) -> None:
        if not self._dropping:
            _log.warning("%s: reports are dropped: %s", self.pipeline, why)
        self._dropping += 1
        self.counts["dropped"] += 1

    def _caught_up(self) -> None:
        if self._dropping:
            text = "%s: reports are no longer dropped; dropped in the meantime: %d"
            _log.warning(text, self.pipeline, self._dropping)
        self._dropping = 0

    def _not_reached(self, why: str) -> None:
        if not self._lost:
            _log.warning("%s: no reports to %s: %s", self.pipeline, self.settings.otlp, why)
        self._lost = True

    def _reached(self) -> None:
        if self._lost:
            _log.warning("%s: reports to %s again", self.pipeline, self.settings.otlp)
        self._lost = False

    # ---- HTTP -------------------------------------------------------------------------------

    def _post(self, body: bytes) -> None:
        """Raises Failed."""
        late = threading.Event()
        alarm = threading.Timer(self._patience, self._hang_up, (late,))
        alarm.daemon = True
        try:
            connection = self._connection = self._connected()
            alarm.start()
            path = urlsplit(self.settings.otlp)._replace(scheme="", netloc="").geturl() or "/"
            connection.request("POST", path, body, self._headers())
            answer = connection.getresponse()
            status, after = answer.status, _seconds(answer.getheader("Retry-After"))
            text = answer.read(LONGEST_ANSWER)
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise Failed(_why(error)) from None
        finally:
            alarm.cancel()
            self._hang_up()
        if late.is_set():  # what was read is not all of it
            raise Failed(f"no whole answer within {self._patience:g} s")
        if not 200 <= status < 300:
            raise Failed(f"HTTP status {status}", status in _PASSING, after)
        _rejected(self.pipeline, text)

    def _connected(self) -> http.client.HTTPConnection:
        parts = endpoint(self.settings.otlp)
        if parts is None or parts.hostname is None:
            raise ValueError("it is no URL")
        if parts.scheme == "http":
            return http.client.HTTPConnection(parts.hostname, parts.port, timeout=self._patience)
        context = ssl.create_default_context(cafile=self.settings.ca or None)
        return _Secure(parts.hostname, parts.port, context, self._patience)

    def _headers(self) -> dict[str, str]:
        headers = {"Content-Type": "application/json", "User-Agent": "heliod"}
        if self.settings.token_file:
            token = Path(self.settings.token_file).read_text().strip()
            headers["Authorization"] = f"Bearer {token}"
        return headers

    def _hang_up(self, late: threading.Event | None = None) -> None:
        """Whatever the connection waits for ends; `late` is set."""
        if late is not None:
            late.set()
        connection = self._connection
        sock = connection.sock if connection is not None else None
        with suppress(OSError):
            if sock is not None:
                socket.socket.shutdown(sock, socket.SHUT_RDWR)  # not what TLS makes of it
        if connection is not None and threading.current_thread() is self._thread:
            connection.close()
            self._connection = None


def _why(error: Exception) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return error.verify_message
    why = getattr(error, "strerror", None) or str(error)[:_LONGEST_WHY] or "it hung up"
    why = "".join(each if each.isprintable() else "?" for each in why)
    name = getattr(error, "filename", None)  # of the token, of the authority
    return f"{name}: {why}" if name else why


def _seconds(text: str | None) -> float:
    """Of Retry-After; a date, or nonsense, is as good as nothing."""
    return min(LATEST, float(text)) if text and text.isascii() and text.isdigit() else 0.0


def _rejected(pipeline: str, body: bytes) -> None:
    """A collector may take a part of a report only; what it says of that is logged."""
    with suppress(ValueError, AttributeError):
        partial = json.loads(body or b"{}").get("partialSuccess") or {}
        if int(partial.get("rejectedDataPoints") or 0):
            text = str(partial.get("errorMessage"))[:200]
            _log.warning("%s: the collector rejected data points: %s", pipeline, text)
