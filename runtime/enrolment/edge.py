"""An edge that enrols: from a token to an identity, which `heliod` finds, and renews.

Below the agent's state, all of root's own (0600):

    identity/edge.key, edge.pem, ca.pem    as `identity.read_identity` takes them: `identity/edge`
    identity/controller.json               where the controller is, and where our agent is
    enrolling/                             the same while it is not whole

The key is made here and goes nowhere. Who was interrupted asks again with the same key, so that a
token that was spent by then still works for it.
"""

from __future__ import annotations

import base64
import http.client
import json
import os
import shutil
import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...lang.text.diagnostics import Diagnostic
from ..base.errors import refused
from ..base.identity import read_identity
from ..journal.files import sync_directory
from ..kernel.system import give_to_owner
from .certificates import (
    certificates_in,
    check_granted,
    der_of,
    fingerprint,
    make_request,
    new_key_pem,
    pem_of,
    renewal_due,
    subject_of,
)
from .est_server import ANNOUNCE, EST
from .token import Token, read_token

PORT = 50051
TIMEOUT = 10.0
_LARGEST = 1 << 20


@dataclass(frozen=True)
class Home:
    """Where an edge keeps its identity. `controller`: HOST:PORT; `address`: of our agent."""

    path: Path
    controller: str
    address: str

    @property
    def identity(self) -> Path:
        """As `identity.read_identity` takes it."""
        return self.path / "edge"


def home(state: Path) -> Home | None:
    """The identity that an enrolment left in an agent's state. Raises `Refused`."""
    path = state / "identity"
    try:
        fields = json.loads((path / "controller.json").read_text())
        return Home(path, str(fields["controller"]), str(fields["address"]))
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError):
        why = "it is damaged: enrol again, with `--replace`"
        raise refused(_bad_answer(str(path / "controller.json"), why)) from None


def enrol(
    controller: str, text: str, state: Path, address: str = "", replace: bool = False
) -> tuple[str, Home]:
    """The edge's name, and where its identity is. `text`: the token. `address`: where the
    controller reaches our agent; without, where we reach the controller from, port 50051. Raises
    `Refused`, `OSError`."""
    token, known = read_token(text), home(state)
    if known is not None and not replace:
        name = subject_of((known.path / "edge.pem").read_bytes())
        raise refused(_enrolled_already(name, known.controller))
    pending = state / "enrolling"
    pending.mkdir(mode=0o700, parents=True, exist_ok=True)
    give_to_owner(pending)
    key = _key(pending / "edge.key")
    authority, from_ = _authority(controller, token)
    _write(pending / "ca.pem", pem_of(authority))
    asked = base64.encodebytes(make_request(key, token.edge))
    basic = base64.b64encode(f"{token.edge}:{token.secret}".encode()).decode()
    headers = {"Content-Type": "application/pkcs10", "Authorization": f"Basic {basic}"}
    context = ssl.create_default_context(cafile=str(pending / "ca.pem"))
    answer = _call(controller, context, "POST", EST + "simpleenroll", asked, headers)
    _write(pending / "edge.pem", _granted(controller, answer, authority, key, token.edge))
    fields = {"controller": controller, "address": address or from_}
    _write(pending / "controller.json", json.dumps(fields).encode())
    made = state / "identity"
    if made.exists():
        if (revoked := made / "revoked").exists():  # they stay so
            _write(pending / "revoked", revoked.read_bytes())
        shutil.rmtree(made)
    pending.rename(made)
    sync_directory(state)
    return token.edge, Home(made, controller, fields["address"])


def renew(at: Home) -> bool:
    """Have a new certificate for the same key if the last third of the old one's time has begun.
    The file changes in one moment. Raises `Refused`, `OSError`."""
    found = read_identity(at.identity)
    if not renewal_due(found.certificate):
        return False
    name = subject_of(found.certificate)
    asked = base64.encodebytes(make_request(found.key, name))
    headers = {"Content-Type": "application/pkcs10"}
    answer = _call(at.controller, _mutual(at), "POST", EST + "simplereenroll", asked, headers)
    granted = _granted(at.controller, answer, der_of(found.authority), found.key, name)
    _write(at.path / "edge.pem", granted)
    return True


def announce(at: Home, fields: dict[str, Any]) -> None:
    """Raises `Refused`, `OSError`."""
    read_identity(at.identity)
    headers = {"Content-Type": "application/json"}
    _call(at.controller, _mutual(at), "POST", ANNOUNCE, json.dumps(fields).encode(), headers)


# ---- files ----------------------------------------------------------------------------------


def _key(path: Path) -> bytes:
    """The key of an enrolment that was interrupted, or a new one."""
    if not path.exists():
        _write(path, new_key_pem())
    return path.read_bytes()


def _write(path: Path, content: bytes) -> None:
    """In one moment, and on the disk."""
    new = path.with_suffix(".new")
    how = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(new, how, 0o600)
    give_to_owner(new)  # the agent's user, who may not be ours
    with os.fdopen(descriptor, "wb") as out:
        out.write(content)
        out.flush()
        os.fsync(out.fileno())
    new.rename(path)
    sync_directory(path.parent)


# ---- calls ----------------------------------------------------------------------------------


def _authority(controller: str, token: Token) -> tuple[bytes, str]:
    """The authority (DER) that the token names, and the address that we come from. Whoever answers
    is not known yet, so nothing is sent to it."""
    anybody = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    anybody.check_hostname, anybody.verify_mode = False, ssl.CERT_NONE
    with _connected(controller, anybody) as connection:
        answer = _ask(connection, controller, "GET", EST + "cacerts", b"", {})
    for der in _certificates(controller, answer):
        if fingerprint(der) == token.pin:
            own = connection.own
            return der, f"[{own}]:{PORT}" if ":" in own else f"{own}:{PORT}"
    raise refused(_other_authority(controller))


def _granted(controller: str, answer: bytes, authority: bytes, key: bytes, name: str) -> bytes:
    try:
        (der,) = _certificates(controller, answer)
        return check_granted(der, authority, key, name)
    except ValueError as error:
        raise refused(_bad_answer(controller, str(error))) from None


def _certificates(controller: str, answer: bytes) -> list[bytes]:
    try:
        return certificates_in(base64.b64decode(answer))
    except ValueError as error:
        raise refused(_bad_answer(controller, str(error))) from None


def _mutual(at: Home) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=str(at.path / "ca.pem"))
    context.load_cert_chain(f"{at.identity}.pem", f"{at.identity}.key")
    return context


def _connected(controller: str, context: ssl.SSLContext) -> _Connection:
    host, colon, port = controller.rpartition(":")
    if not colon or not port.isdecimal() or len(port) > 5:
        raise refused(_no_controller(controller, "HOST:PORT is expected"))
    return _Connection(host.strip("[]"), int(port), timeout=TIMEOUT, context=context)


class _Connection(http.client.HTTPSConnection):
    """Closed at the end of a block. `own`: the address that it comes from."""

    own = ""

    def connect(self) -> None:
        super().connect()
        self.own = str(self.sock.getsockname()[0])

    def __enter__(self) -> _Connection:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _call(
    controller: str, context: ssl.SSLContext, method: str, path: str, body: bytes,
    headers: dict[str, str],
) -> bytes:  # fmt: skip
    with _connected(controller, context) as connection:
        return _ask(connection, controller, method, path, body, headers)


def _ask(
    connection: http.client.HTTPSConnection, controller: str, method: str, path: str, body: bytes,
    headers: dict[str, str],
) -> bytes:  # fmt: skip
    """The body of the answer. Raises `Refused`, as the controller says it."""
    try:
        connection.connect()
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        content = answer.read(_LARGEST)
    except ssl.SSLCertVerificationError as error:
        raise refused(_no_controller(controller, error.verify_message)) from None
    except (OSError, http.client.HTTPException) as error:
        why = getattr(error, "strerror", None) or str(error) or "it hung up"
        raise refused(_no_controller(controller, why)) from None
    if answer.status < 300:
        return content
    raise refused(_refusal(controller, answer.status, content))


def _refusal(controller: str, status: int, content: bytes) -> Diagnostic:
    try:
        fields = json.loads(content)
        return Diagnostic(str(fields["code"]), str(fields["title"]), (), str(fields["help"]))
    except (ValueError, KeyError, TypeError):
        return _bad_answer(controller, f"HTTP status {status}")


# ---- errors ---------------------------------------------------------------------------------


def _other_authority(controller: str) -> Diagnostic:
    title = f"`{controller}` is not the controller that the token is of"
    return Diagnostic("H0871", title, (), "its authority is another: ask whom you have the token "
                      "from where the controller is; nothing was sent")  # fmt: skip


def _no_controller(controller: str, why: str) -> Diagnostic:
    return Diagnostic("H0874", f"no controller answers at `{controller}`: {why}", (),
                      "does it run, with `--listen`, and has its certificate this name or address "
                      "(`controller init --host`)?")  # fmt: skip


def _enrolled_already(name: str, controller: str) -> Diagnostic:
    title = f"this edge is enrolled already, as `{name}` with `{controller}`"
    return Diagnostic("H0875", title, (), "`--replace` takes another identity in its place")


def _bad_answer(controller: str, why: str) -> Diagnostic:
    return Diagnostic("H0877", f"`{controller}` answers what cannot be used: {why}", (),
                      "is it Helio's controller that listens there?")  # fmt: skip
