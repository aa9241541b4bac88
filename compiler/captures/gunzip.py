"""gzip (RFC 1952), unpacked as it is read."""

from __future__ import annotations

import zlib

from ...lang.text.diagnostics import Diagnostic
from . import errors
from .packets import AT_ONCE, Readable

MAGIC = b"\x1f\x8b"
_GZIP = zlib.MAX_WBITS | 16  # of zlib: with gzip's header and check


class Gunzip:
    """The contents of a compressed file, member after member. No more is unpacked than is asked
    for: the memory used does not grow with what the file unpacks to."""

    def __init__(self, name: str, file: Readable, start: bytes) -> None:
        """`start`: what has been read of the file already."""
        self._name, self._file, self._packed = name, file, start
        self._at = len(start)  # bytes of the file that have been read
        self._member = zlib.decompressobj(_GZIP)

    def read(self, size: int, /) -> bytes:
        """Up to that many bytes; none only at the end. Raises `Refused` where the file is damaged
        or ends too early."""
        while True:
            if not self._packed:
                self._packed = self._file.read(AT_ONCE)
                self._at += len(self._packed)
            if self._member.eof and self._packed:
                self._member = zlib.decompressobj(_GZIP)
            elif self._member.eof:
                return b""
            elif not self._packed:
                raise errors.refused(errors.cut_off(self._name, self._at, "what gzip packed"))
            if data := self._unpacked(size):
                return data

    def _unpacked(self, size: int) -> bytes:
        try:
            data = self._member.decompress(self._packed, size)
        except zlib.error as error:
            raise errors.refused(_not_unpacked(self._name, self._at, str(error))) from None
        self._packed = self._member.unconsumed_tail or self._member.unused_data
        return data


# ---- errors ---------------------------------------------------------------------------------


def _not_unpacked(name: str, at: int, why: str) -> Diagnostic:
    title = f"{name} is damaged in front of byte {at:,}: gzip cannot unpack it ({why})"
    return Diagnostic("H0804", title, (), "what stands in front of it was read")
