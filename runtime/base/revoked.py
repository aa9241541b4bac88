"""The list of revoked certificates, though an authority signed them and they have not expired.

A file `revoked` beside the agent's own identity: each line begins with the SHA-256 of a certificate
(of its DER, in hex, with or without colons, as `openssl x509 -fingerprint -sha256` prints it); `#`
begins a comment. An empty file revokes none, and neither does a missing one; but where the file
disappears while the agent works, all are revoked until it is there again.
"""

from __future__ import annotations

import logging
import re
from pathlib import Path

from ...lang.text.diagnostics import Diagnostic, Refused
from . import agent_errors as errors
from .errors import refused
from .files import file_stamp, read_bytes
from .logs import text as log_text

NAME = "revoked"
_LARGEST = 1 << 20
_FINGERPRINT = re.compile(r"(?:sha256 fingerprint=)?([0-9a-f]{2}(?::?[0-9a-f]{2}){31})", re.I)
_log = logging.getLogger("heliod")


class Revoked:
    """The list, as its file is now. May be asked by any thread."""

    def __init__(self, path: Path) -> None:
        """Raises `Refused`."""
        self._path = path
        self._known: frozenset[str] = frozenset()
        #: Why the list cannot be read now: nobody knows who is revoked.
        self.unread: tuple[Diagnostic, ...] = ()
        self._seen = self._stamp()
        if self._seen is not None:
            self._known = _read(path)

    def __contains__(self, fingerprint: object) -> bool:
        """The SHA-256 of a certificate in hex; where the list cannot be read it may be any. Who
        shows none is not revoked."""
        return fingerprint in self._known or bool(fingerprint and self.unread)

    def need_valid(self, fingerprint: str, method: str) -> None:
        """That a certificate may call. Raises `Refused` where it is revoked, or where the list
        cannot be read: it may be in it."""
        if fingerprint in self._known:
            raise refused(errors.revoked(method))
        if self.unread:
            raise refused(*self.unread)

    def changed(self) -> bool:
        """Look whether the file has changed, and with it whose certificates are revoked: all of
        them where it cannot be read."""
        if (now := self._stamp()) == self._seen:
            return False
        self._seen = now
        try:
            if now is None:
                raise refused(_no_revoked(str(self._path)))
            self._known, self.unread = _read(self._path), ()
        except Refused as error:
            self.unread = tuple(error.diagnostics)
            for found in error.diagnostics:
                _log.error("%s", log_text(found))
            return True
        _log.info("%d certificates are revoked", len(self._known))
        return True

    def _stamp(self) -> object:
        try:
            return file_stamp(self._path)
        except FileNotFoundError:
            return None
        except OSError as error:
            return error.errno


def _read(path: Path) -> frozenset[str]:
    found = set[str]()
    for number, line in enumerate(
        read_bytes(path, _LARGEST).decode(errors="replace").split("\n"), 1
    ):
        entry = line.partition("#")[0].strip()
        fingerprint = _FINGERPRINT.match(entry)
        if fingerprint is None and entry:
            raise refused(_bad_revoked(str(path), number))
        if fingerprint is not None:
            found.add(fingerprint[1].replace(":", "").lower())
    return frozenset(found)


# ---- errors ---------------------------------------------------------------------------------


def _bad_revoked(path: str, line: int) -> Diagnostic:
    return Diagnostic("H0777", f"line {line} of `{path}` is no certificate's SHA-256", (),
                      "64 digits in hex, as `helioctl certs revoke` writes them")  # fmt: skip


def _no_revoked(path: str) -> Diagnostic:
    return Diagnostic("H0777", f"`{path}` was there, and is gone", (),
                      "until it is there again nobody is let in by TLS; with an empty file nobody "
                      "is revoked")  # fmt: skip
