"""What is read from a capture, and the stream that it is read from."""

from __future__ import annotations

from typing import Literal, NamedTuple, Protocol

from . import errors

Order = Literal["<", ">"]
ETHERNET = 1  # LINKTYPE_ETHERNET
LARGEST_PACKET = 1 << 18  # MAXIMUM_SNAPLEN of libpcap
AT_ONCE = 1 << 16  # bytes that are read at once


class Captured(NamedTuple):
    """A packet of a capture. `number` counts from 1. `length`: bytes that it had on the wire,
    more than `data` where the capture kept only its beginning. `link`: LINKTYPE_…; `interface`:
    its name, where the file has it. `time`: nanoseconds since 1970, None where it is unknown.
    `notes`: how it differs from the file, and why."""

    number: int
    data: bytes
    length: int
    link: int = ETHERNET
    interface: str = ""
    time: int | None = None
    notes: tuple[str, ...] = ()

    @property
    def is_cut(self) -> bool:
        """Whether only its beginning was captured."""
        return len(self.data) < self.length

    @property
    def whole(self) -> bytes:
        """As long as it was on the wire, zeros in place of what was not captured."""
        return self.data.ljust(min(self.length, LARGEST_PACKET), b"\0")

    @property
    def missing(self) -> int:
        """How many bytes of `whole` were not captured."""
        return len(self.whole) - len(self.data)


class Readable(Protocol):
    """As much of a file as reading a capture needs."""

    def read(self, size: int, /) -> bytes: ...


class Stream:
    """A file from one byte to the next. `at`: bytes read so far."""

    def __init__(self, name: str, file: Readable) -> None:
        self.name, self.at = name, 0
        self._file = file

    def take(self, count: int, what: str, since: int | None = None) -> bytes:
        """That many bytes. Raises `Refused` where the file ends within `what`, which began at
        byte `since`."""
        began = self.at if since is None else since
        data = self.maybe(count)
        if len(data) < count:
            raise errors.refused(errors.cut_off(self.name, began, what))
        return data

    def maybe(self, count: int) -> bytes:
        """That many bytes, or fewer where the file ends."""
        parts, left = [], count  # a wrong length must not allocate memory
        while left and (part := self._file.read(min(left, AT_ONCE))):
            parts.append(part)
            left -= len(part)
        self.at += count - left
        return b"".join(parts)
