"""A socket with TLS that reads a bounded part of what comes at a time.

OpenSSL, where it reads a socket by itself, does not come back while records without data come
(KeyUpdate, RFC 8446 section 4.6.3): who sends nothing else has a thread for itself.
"""

from __future__ import annotations

import socket
import ssl
from contextlib import suppress

#: Bytes of a record besides its data, at most; of a record, at most; and of answers that TLS itself
#: has for the other side, which need not take them.
_BESIDE, _RECORD, _UNTAKEN = 29, 17 << 10, 64 << 10


class Secured:
    """As a socket that does not block; it takes `made` over. `tls`: whose data it is."""

    def __init__(self, made: socket.socket, context: ssl.SSLContext) -> None:
        self._socket, self._in, self._out = made, ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = context.wrap_bio(self._in, self._out, server_side=True)
        #: What is encrypted and not sent, and how many bytes of data are in it.
        self._left, self._count = memoryview(b""), 0
        self._ended = False
        #: There was no more at the socket.
        self.drained = False
        #: Bytes without data, which a record may be of that has not come whole.
        self._beside = 0
        #: Records with data that have come, and bytes without data.
        self.records = self.wasted = 0

    def fileno(self) -> int:
        return self._socket.fileno()

    def shutdown(self, how: int) -> None:
        self._socket.shutdown(how)

    def close(self) -> None:
        self._socket.close()

    def do_handshake(self) -> None:
        """Raises ssl.SSLWantReadError, ssl.SSLWantWriteError; OSError where there is none."""
        try:
            while not self._shaken():
                try:
                    self._take(_RECORD)
                except BlockingIOError:
                    raise ssl.SSLWantReadError from None
            self._flush()
        except BlockingIOError:
            raise ssl.SSLWantWriteError from None

    def _shaken(self) -> bool:
        try:
            self.tls.do_handshake()
            return True
        except ssl.SSLWantReadError:
            return False
        finally:
            self._tell()

    def recv(self, most: int) -> bytes:
        """Nothing once it was closed. Raises BlockingIOError, OSError."""
        came = 0 if self._in.pending or self._ended else self._take(min(most, _RECORD))
        found = self._read()
        data = found[0] if len(found) == 1 else b"".join(found)
        beside = max(0, self._beside + came - len(data) - _BESIDE * len(found))
        self._beside = min(beside, _RECORD)
        self.wasted += beside - self._beside
        self.records += len(found)
        if not data and not self._ended:
            raise BlockingIOError
        return data

    def _read(self) -> list[bytes]:
        """The data of each record that is whole."""
        found: list[bytes] = []
        try:
            while self._in.pending or self._in.eof:
                if not (data := self.tls.read(_RECORD)):
                    self._ended = True
                    break
                found.append(data)
        except ssl.SSLWantReadError:
            pass
        except ssl.SSLEOFError:  # it did not say so
            self._ended = True
        finally:
            if self._out.pending:
                self._tell()
        return found

    def send(self, data: bytes | memoryview) -> int:
        """How much was. Raises BlockingIOError, and then it is to be called with the same data;
        OSError."""
        if not self._left:
            self._count = self.tls.write(data)
            self._left = memoryview(self._out.read())
        self._flush()
        count, self._count = self._count, 0
        return count

    def _take(self, most: int) -> int:
        came = self._socket.recv(most)
        self.drained = len(came) < most
        if came:
            self._in.write(came)
        else:
            self._in.write_eof()
        return len(came)

    def _tell(self) -> None:
        """What TLS has to say by itself: as much as is taken."""
        if not self._out.pending:
            return
        self._left = memoryview(bytes(self._left) + self._out.read())
        if len(self._left) > _UNTAKEN:
            raise OSError("it asks for more than it takes")
        with suppress(OSError):  # who reads or sends next is told
            self._flush()

    def _flush(self) -> None:
        left = self._left
        while left:
            left = self._left = left[self._socket.send(left) :]
