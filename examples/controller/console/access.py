"""Who may look: by a certificate of the fleet's authority with the role `console`, or a higher one;
or by a token.

A browser that has no certificate gives the token once (POST /api/session), and from then on has a
cookie that no script can read and no other site can send.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import ssl
import stat
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from helioc.runtime.base.errors import refused
from helioc.runtime.base.identity import role_of
from helioc.runtime.base.revoked import NAME, Revoked
from helioc.runtime.enrolment import errors
from helioc.runtime.rpc.access import may

COOKIE = "helio_console"
#: Seconds that a cookie is good for; cookies that are good at a time; characters of a token, and of
#: what is read of its file.
LIFETIME, MOST, SHORTEST, LONGEST = 12 * 3600.0, 256, 32, 4096


class Access:
    """Asked by the server's thread only."""

    def __init__(self, directory: Path, token: str) -> None:
        """`directory`: that of the authority, whose list of revoked certificates counts here, too.
        `token`: empty for none. Raises `Refused`."""
        self._token = hashlib.sha256(token.encode()).digest() if token else None
        self._revoked = Revoked(directory / NAME)
        self._sessions: dict[str, float] = {}

    def by_token(self, token: str) -> bool:
        given = hashlib.sha256(token.encode(errors="replace")).digest()
        return self._token is not None and hmac.compare_digest(given, self._token)

    def begin(self) -> str:
        """A new cookie. The oldest gives way."""
        now = time.monotonic()
        self._sessions = {k: ends for k, ends in self._sessions.items() if ends > now}
        if len(self._sessions) >= MOST:
            del self._sessions[min(self._sessions, key=lambda each: self._sessions[each])]
        made = secrets.token_urlsafe(32)
        self._sessions[made] = now + LIFETIME
        return made

    def end(self, cookie: str) -> None:
        self._sessions.pop(cookie, None)

    def may_look(self, authorization: str, cookie: str, tls: ssl.SSLObject | None) -> bool:
        scheme, _, token = authorization.partition(" ")
        if scheme.lower() == "bearer" and self.by_token(token.strip()):
            return True
        if self._sessions.get(cookie, 0.0) > time.monotonic():
            return True
        return tls is not None and self._by_certificate(tls)

    def _by_certificate(self, tls: ssl.SSLObject) -> bool:
        """TLS has verified it when it was shown; by now it may have ended, or be revoked."""
        shown, der = tls.getpeercert(), tls.getpeercert(binary_form=True)
        if not shown or der is None:
            return False
        self._revoked.changed()
        fits = may(role_of(_uris(shown)), "console")
        ended = ssl.cert_time_to_seconds(str(shown["notAfter"])) < time.time()
        return fits and not ended and hashlib.sha256(der).hexdigest() not in self._revoked


def _uris(shown: Mapping[str, Any]) -> list[str]:
    return [value for sort, value in shown.get("subjectAltName", ()) if sort == "URI"]


def read_token(path: Path) -> str:
    """Of a file of this user's, which nobody else may read; made, if there is none. Raises
    `Refused`, `OSError`."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with suppress(FileExistsError):
        made = secrets.token_urlsafe(32)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        with open(os.open(path, flags, 0o600), "w") as file:
            file.write(f"{made}\n")
        return made
    # A pipe that nobody writes into, and a directory, are opened, too, and are no files.
    found = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        about = os.fstat(found)
        if about.st_uid not in (0, os.geteuid()):
            raise refused(errors.token_of_another(str(path), about.st_uid))
        if about.st_mode & 0o077:
            raise refused(errors.open_token(str(path), about.st_mode & 0o777))
        is_file = stat.S_ISREG(about.st_mode)
        token = os.read(found, LONGEST).decode(errors="replace").strip() if is_file else ""
    finally:
        os.close(found)
    if len(token) < SHORTEST or any(each.isspace() for each in token):
        raise refused(errors.no_token(str(path), SHORTEST))
    return token
