"""A server of EST (RFC 7030), where edges enrol: an authority and a registry of edges.

    GET  /.well-known/est/cacerts          the authority; asked for by who does not know it yet
    POST /.well-known/est/simpleenroll     with a token (RFC 7617): a certificate for a PKCS #10
    POST /.well-known/est/simplereenroll   the same by the certificate that is about to run out
    POST /helio/v1/announce                what an edge says of itself, by its certificate

Refusals are JSON: {"code": "H0872", "title": …, "help": …}.
"""

from __future__ import annotations

import base64
import binascii
import json
import logging
import socket
import ssl
import threading
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any, NamedTuple

from ...lang.text.diagnostics import Diagnostic, Refused
from ...lang.text.exit_status import diagnosed
from ..base.errors import refused
from ..base.identity import read_identity
from . import errors
from .announcement import read_announcement
from .certificates import (
    Asked,
    degenerate,
    der_of,
    end_of,
    grant,
    peer_of,
    pem_of,
    read_asked,
)
from .edge_registry import EdgeRegistry

EST, ANNOUNCE = "/.well-known/est/", "/helio/v1/announce"
PKCS7 = "application/pkcs7-mime; smime-type=certs-only"
#: Bytes of a request for a certificate and of an announcement; calls at a time, seconds of one.
LARGEST, LARGEST_ANNOUNCEMENT, CALLS, SECONDS = 16 << 10, 1 << 20, 64, 10.0
_LIFETIME = timedelta(days=90)
_STATUS = {"H0872": HTTPStatus.UNAUTHORIZED, "H0876": HTTPStatus.FORBIDDEN,
           "H9999": HTTPStatus.INTERNAL_SERVER_ERROR}  # fmt: skip
_log = logging.getLogger("controller.enrolment")


class Answer(NamedTuple):
    status: HTTPStatus
    kind: str
    content: bytes


class EstService:
    """Answers requests; `EstServer` listens. Any thread may call it."""

    def __init__(
        self, directory: Path, register: EdgeRegistry, heard: Callable[[], None] = lambda: None,
        lifetime: timedelta = _LIFETIME,
    ) -> None:  # fmt: skip
        """`directory`: of the authority. `heard` is called when an edge has announced itself.
        `lifetime`: of certificates."""
        self.directory, self.register, self.heard = directory, register, heard
        self.lifetime = lifetime

    def answer(
        self, method: str, path: str, authorization: str, body: bytes, peer: bytes | None
    ) -> Answer:
        """`peer`: the certificate (DER) that the caller has shown, verified by TLS."""
        try:
            if (method, path) == ("GET", EST + "cacerts"):
                return _certificates(der_of((self.directory / "ca.pem").read_bytes()))
            if (method, path) == ("POST", EST + "simpleenroll"):
                return self._enrol(authorization, body)
            if (method, path) == ("POST", EST + "simplereenroll"):
                return self._renew(body, peer)
            if (method, path) == ("POST", ANNOUNCE):
                return self._announce(body, peer)
        except Exception as error:
            (found, *_) = diagnosed(error, "controller")
            if not isinstance(error, Refused):
                _log.exception("an internal error")
            _log.warning("refused: %s: %s", found.code, found.title)
            return refusal(found)
        return Answer(HTTPStatus.NOT_FOUND, "text/plain", b"no such path\n")

    def _enrol(self, authorization: str, body: bytes) -> Answer:
        edge, secret = _credentials(authorization)
        asked = _asked(body)
        if asked.name != edge:
            raise refused(errors.bad_request(f"the token is for `{edge}`, not `{asked.name}`"))
        hosts = self.register.redeem(edge, secret, asked.key_hash)
        _log.info("%s has enrolled", edge)
        return self._grant(asked, hosts)

    def _renew(self, body: bytes, peer: bytes | None) -> Answer:
        edge, hosts = self._known(peer)
        asked = _asked(body)
        assert peer is not None
        if (asked.name, asked.key_hash) != peer_of(peer):
            raise refused(errors.bad_request("it has another name or key than the certificate"))
        _log.info("%s has a new certificate", edge)
        return self._grant(asked, hosts)

    def _grant(self, asked: Asked, hosts: list[str]) -> Answer:
        made = grant(self.directory, asked, hosts, self.lifetime)
        self.register.grant(asked.name, asked.key_hash, pem_of(made), end_of(made))
        return _certificates(made)

    def _announce(self, body: bytes, peer: bytes | None) -> Answer:
        edge, _ = self._known(peer)
        self.register.announce(edge, read_announcement(body))
        self.heard()
        return Answer(HTTPStatus.NO_CONTENT, "text/plain", b"")

    def _known(self, peer: bytes | None) -> tuple[str, list[str]]:
        if peer is None:
            raise refused(errors.not_an_edge("it shows no certificate"))
        edge, key = peer_of(peer)
        return edge, self.register.check(edge, key)


def _asked(body: bytes) -> Asked:
    try:
        return read_asked(base64.b64decode(body))
    except ValueError as error:  # binascii.Error is one
        why = "it is not base64" if isinstance(error, binascii.Error) else str(error)
        raise refused(errors.bad_request(why)) from None


def _credentials(authorization: str) -> tuple[str, str]:
    scheme, _, rest = authorization.partition(" ")
    try:
        user, colon, password = base64.b64decode(rest, validate=True).decode().partition(":")
    except ValueError:
        user = colon = password = ""
    if scheme.lower() != "basic" or not colon:
        raise refused(errors.token_refused("none was sent"))
    return user, password


def _certificates(der: bytes) -> Answer:
    return Answer(HTTPStatus.OK, PKCS7, base64.encodebytes(degenerate([der])))


def refusal(found: Diagnostic) -> Answer:
    fields = {"code": found.code, "title": found.title, "help": found.help}
    status = _STATUS.get(found.code, HTTPStatus.BAD_REQUEST)
    return Answer(status, "application/json", json.dumps(fields).encode())


# ---- listening ------------------------------------------------------------------------------


class EstServer:
    """Listens for edges by HTTPS until it is closed."""

    def __init__(self, service: EstService, address: tuple[str, int], identity: Path) -> None:
        """`identity`: of the server, see `identity.read_identity`. Raises `Refused`, `OSError`."""
        read_identity(identity)
        self._server = _Server(address, service, server_context(identity))
        self.port = int(self._server.server_address[1])
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.1,))
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
        self._server.done.wait(SECONDS)


def server_context(identity: Path) -> ssl.SSLContext:
    """Of a server of the fleet's, whose clients may show a certificate by its authority."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.load_cert_chain(f"{identity}.pem", f"{identity}.key")
    context.load_verify_locations(identity.parent / "ca.pem")
    context.verify_mode = ssl.CERT_OPTIONAL  # who enrols has none yet
    return context


class _Server(HTTPServer):
    """A thread for each call, a limited number of them, each with a time limit."""

    request_queue_size = 64

    def __init__(
        self, address: tuple[str, int], service: EstService, context: ssl.SSLContext
    ) -> None:
        if ":" in address[0]:
            self.address_family = socket.AF_INET6
        self.service, self.context = service, context
        self._places, self.running = threading.BoundedSemaphore(CALLS), 0
        self._counting, self.done = threading.Lock(), threading.Event()
        self.done.set()
        super().__init__(address, _Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        if not self._places.acquire(timeout=1):
            self.shutdown_request(request)
            return
        self._count(1)
        thread = threading.Thread(target=self._serve, args=(request, client_address), daemon=True)
        try:
            thread.start()
        except RuntimeError:  # there may be no more of them
            self._leave()
            self.shutdown_request(request)

    def _count(self, by: int) -> None:
        with self._counting:
            self.running += by
            (self.done.clear if self.running else self.done.set)()

    def _serve(self, request: socket.socket, client_address: Any) -> None:
        try:
            with (
                request,
                self.context.wrap_socket(
                    request, server_side=True, do_handshake_on_connect=False
                ) as secure,
            ):
                self._answer(secure, client_address)
        except (OSError, RuntimeError):  # a handshake that failed, who has gone; no thread
            pass
        finally:
            self._leave()

    def _answer(self, secure: ssl.SSLSocket, client_address: Any) -> None:
        """Raises OSError, and RuntimeError where no thread can be started."""
        enough = threading.Timer(SECONDS, _hang_up, (secure,))
        enough.start()
        try:
            secure.settimeout(SECONDS)
            secure.do_handshake()
            self.finish_request(secure, client_address)
        finally:
            enough.cancel()
            enough.join()

    def _leave(self) -> None:
        self._places.release()
        self._count(-1)

    def server_bind(self) -> None:
        """As the base class, without asking a name server."""
        socket.socket.setsockopt(self.socket, socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = str(self.server_address[0]), self.server_address[1]


def _hang_up(secure: socket.socket) -> None:
    with suppress(OSError):
        socket.socket.shutdown(secure, socket.SHUT_RDWR)


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    server_version, sys_version = "helio", ""

    def do_GET(self) -> None:
        self._answer(b"")

    def do_POST(self) -> None:
        most = LARGEST_ANNOUNCEMENT if self.path == ANNOUNCE else LARGEST
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal() or len(length) > 9 or int(length) > most:
            self._send(refusal(errors.bad_request(f"it has more than {most >> 10} KiB")))
            return
        self._answer(self.rfile.read(int(length)))

    def _answer(self, body: bytes) -> None:
        secure: Any = self.connection
        authorization = self.headers.get("Authorization", "")
        peer = secure.getpeercert(binary_form=True)
        self._send(self.server.service.answer(self.command, self.path, authorization, body, peer))

    def _send(self, answer: Answer) -> None:
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.kind)
        if answer.kind == PKCS7:
            self.send_header("Content-Transfer-Encoding", "base64")
        if answer.status is HTTPStatus.UNAUTHORIZED:
            self.send_header("WWW-Authenticate", 'Basic realm="helio"')
        self.send_header("Content-Length", str(len(answer.content)))
        self.end_headers()
        self.wfile.write(answer.content)

    def log_message(self, format: str, *args: Any) -> None:
        _log.debug(format, *args)
