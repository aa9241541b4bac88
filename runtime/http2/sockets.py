"""Sockets that do not block, with TLS or without."""

from __future__ import annotations

import ssl
from fcntl import ioctl
from termios import FIONREAD
from typing import Protocol

#: The socket can do no more for now.
AGAIN = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)
#: Where nothing is left to be read; and how often what comes is read at once: there may be hardly
#: any data in it (front/secured.py).
_NOTHING, _TIMES = bytes(4), 4


class Readable(Protocol):
    """A socket that does not block, or what reads as one does."""

    def fileno(self) -> int: ...

    def recv(self, most: int, /) -> bytes: ...


def receive(at: Readable, most: int) -> tuple[bytes, str]:
    """What has come, about `most` bytes of it, and why nothing will any more."""
    parts, size = list[bytes](), 0
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


def failure(error: OSError) -> str:
    """Why, in a line of ours: nothing that the other side wrote is in it."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is refused: {error.verify_message}"
    if isinstance(error, ssl.SSLError):
        return f"TLS: {(error.reason or 'ended early').lower().replace('_', ' ')}"
    if isinstance(error, TimeoutError):
        return "no answer in time"
    return (error.strerror or str(error) or "it was closed").lower()
