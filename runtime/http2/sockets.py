"""Sockets that do not block, with TLS or without."""

from __future__ import annotations

import ssl
from enum import Enum, auto
from fcntl import ioctl
from termios import FIONREAD
from typing import Protocol

#: The socket can do no more for now.
AGAIN = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)
#: Where nothing is left to be read; and how often what comes is read at once: there may be hardly
#: any data in it (front/secured.py).
_NOTHING, _TIMES = bytes(4), 4


class Tls(Enum):
    """How TLS fails: of the other side's certificate, of this side's, of what is no TLS."""

    ENDED = auto()
    NOT_YET = auto()
    OTHER_NAME = auto()
    OTHER_AUTHORITY = auto()
    REFUSED_HERE = auto()
    NONE = auto()


#: By OpenSSL's X509_V_ERR_…, and by the name of its reason (of an alert by its ending).
_VERIFIED = {
    10: Tls.ENDED, 9: Tls.NOT_YET, 62: Tls.OTHER_NAME, 64: Tls.OTHER_NAME,
    **dict.fromkeys((2, 4, 7, 18, 19, 20, 21, 29), Tls.OTHER_AUTHORITY),
}  # fmt: skip
_NO_TLS = ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "UNKNOWN_PROTOCOL", "RECORD_LAYER_FAILURE")
_ALERTS = tuple(
    f"_ALERT_{alert}"
    for alert in ("UNKNOWN_CA", "NO_CERTIFICATE", "BAD_CERTIFICATE", "UNSUPPORTED_CERTIFICATE",
                  "CERTIFICATE_REVOKED", "CERTIFICATE_EXPIRED", "CERTIFICATE_UNKNOWN",
                  "CERTIFICATE_REQUIRED", "BAD_CERTIFICATE_STATUS_RESPONSE",
                  "BAD_CERTIFICATE_HASH_VALUE")
)  # fmt: skip


class Why(str):
    """Why a connection is lost, in a line of ours, and which failure of TLS that is."""

    tls: Tls | None

    def __new__(cls, said: str, tls: Tls | None = None) -> Why:
        made = super().__new__(cls, said)
        made.tls = tls
        return made


class Readable(Protocol):
    """A socket that does not block, or what reads as one does."""

    def fileno(self) -> int: ...

    def recv(self, most: int, /) -> bytes: ...


def receive(at: Readable, most: int) -> tuple[bytes, str]:
    """What has come, about `most` bytes of it, and why (`Why`) nothing will any more."""
    parts: list[bytes] = []
    size = 0
    try:
        while size < most and len(parts) < _TIMES:
            part = at.recv(most)
            if not part:
                return b"".join(parts), "it was closed"
            parts.append(part)
            size += len(part)
            # TLS gives a part at a time, and takes four times as long to say that there is none.
            if getattr(at, "drained", False) or ioctl(at, FIONREAD, _NOTHING) == _NOTHING:
                break
    except AGAIN:
        pass
    except OSError as error:
        return b"".join(parts), failure(error)
    return b"".join(parts), ""


def failure(error: OSError) -> Why:
    """Nothing that the other side wrote is in it."""
    if isinstance(error, ssl.SSLCertVerificationError):
        tls = _VERIFIED.get(error.verify_code)
        return Why(f"its certificate is refused: {error.verify_message}", tls)
    if isinstance(error, ssl.SSLError):
        reason = error.reason or "ENDED_EARLY"
        tls = Tls.NONE if reason in _NO_TLS else None
        tls = Tls.REFUSED_HERE if reason.endswith(_ALERTS) else tls
        return Why(f"TLS: {reason.lower().replace('_', ' ')}", tls)
    if isinstance(error, TimeoutError):
        return Why("no answer in time")
    return Why((error.strerror or str(error) or "it was closed").lower())
