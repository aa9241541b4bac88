"""A log's header, which stands twice in front of its records (docs/journal.md)."""

from __future__ import annotations

import struct
from typing import NamedTuple
from zlib import crc32

_MAGIC = b"HELIOLG2"
_CONTENT, _HEAD = struct.Struct("<8s8sIIQQQQQQI"), struct.Struct("<8s8sIIQQQQQQII")
#: Bytes from one header to the other, and of both.
PAGE, HEADS = 4096, 8192
#: `base` of a log that has not begun.
NOT_BEGUN = (1 << 64) - 1


class Head(NamedTuple):
    """`directory`, `pipeline`, `number`: whose it is. `base`: revision of the snapshot that it goes
    with; `behind`: the last in the log before. `confirmed`: bytes of records on the disk before
    this was written; `written`: with the group that it is written with, of which `revision` is the
    last. `ended`: it goes on in the next number."""

    directory: bytes
    pipeline: int
    number: int
    generation: int = 0
    base: int = NOT_BEGUN
    behind: int = 0
    confirmed: int = 0
    written: int = 0
    revision: int = 0
    ended: int = 0

    @property
    def place(self) -> int:
        """The byte of the log at which it stands."""
        return self.generation % 2 * PAGE

    @property
    def whose(self) -> tuple[bytes, int, int]:
        return self.directory, self.pipeline, self.number

    def encode(self) -> bytes:
        content = _CONTENT.pack(_MAGIC, *self)
        return content + crc32(content).to_bytes(4, "little")


def decode(content: bytes) -> tuple[Head | None, Head | None]:
    """The headers of a log, None where one cannot be read."""
    return _decode(content, 0), _decode(content, PAGE)


def _decode(content: bytes, at: int) -> Head | None:
    if len(content) < at + _HEAD.size:
        return None
    magic, *found, checksum = _HEAD.unpack_from(content, at)
    if magic != _MAGIC or crc32(content[at : at + _HEAD.size - 4]) != checksum:
        return None
    return Head(*found)
