"""Counts of sessions in a file below /run that is mapped: there after the agent was killed, whole,
and gone with a reboot, as counters of pipelines are.

A slot has two copies of a session's counts, written in turn, each with its number and a checksum:
one that was not written to its end is not taken. Behind them is a bit for each of the numbers sent
last. Room for a slot is allocated when it is taken, for who writes to a mapped file on a full disk
is killed; where there is none its counts are in memory.
"""

from __future__ import annotations

import mmap
import os
import struct
import zlib
from contextlib import suppress
from pathlib import Path

from ..base.paths import RUN, this_namespace

#: Sessions of an agent, and bytes of a slot: its copies, and the bits.
MOST, _COPY, BITS = 1000, 1024, 1 << 17
_SIZE = 2 * _COPY + BITS // 8
_HEAD = struct.Struct("<QQII")  # whose, number of the copy, checksum, length


class KeptCounts:
    """Of an agent. Close it, once no slot is used any more."""

    def __init__(self, path: Path | None) -> None:
        """In memory alone without a path, or where there cannot be such a file, which is made with
        the first slot."""
        self._path, self._descriptor = path, -1
        self._map: mmap.mmap | None = None
        self._view = memoryview(b"")
        self._slots: dict[int, int] = {}
        self._open(os.O_RDWR)
        for number in range(MOST if self._map is not None else 0):
            if whose := self._whose(number):
                self._slots[whose] = number
        self._free = sorted(set(range(MOST)) - {*self._slots.values()}, reverse=True)

    def _open(self, flags: int) -> None:
        """What is there, or a sparse file."""
        if self._path is None or self._map is not None:
            return
        with suppress(OSError, ValueError):
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._descriptor = os.open(self._path, flags | os.O_CLOEXEC, 0o600)
            os.ftruncate(self._descriptor, MOST * _SIZE)
            self._map = mmap.mmap(self._descriptor, MOST * _SIZE)
            self._view = memoryview(self._map)

    def _whose(self, number: int) -> int:
        at = number * _SIZE
        return int(max(_HEAD.unpack_from(self._view, at + n * _COPY)[0] for n in (0, 1)))

    def keep_only(self, tokens: set[int]) -> None:
        """Those of other sessions are free."""
        for token in self._slots.keys() - tokens:
            self.free(token)

    def slot(self, token: int, bits: int) -> Slot:
        """That of a session, a new one with all counts 0. `bits`: how many numbers it remembers."""
        size = 2 * _COPY + bits // 8
        self._open(os.O_RDWR | os.O_CREAT)
        if (number := self._slots.get(token)) is None:
            if self._map is None or not self._free or not self._allocated(self._free[-1], size):
                return in_memory(bits)
            number = self._slots[token] = self._free.pop()
        return Slot(self._view[number * _SIZE : number * _SIZE + size], token)

    def _allocated(self, number: int, size: int) -> bool:
        try:
            os.posix_fallocate(self._descriptor, number * _SIZE, size)
        except OSError:
            return False
        self._view[number * _SIZE : number * _SIZE + size] = bytes(size)
        return True

    def free(self, token: int) -> None:
        number = self._slots.pop(token, None)
        if number is not None:
            at = number * _SIZE
            self._view[at : at + 2 * _COPY] = bytes(2 * _COPY)
            self._free.append(number)

    def close(self) -> None:
        """The file stays if there is something in it. May be called again."""
        if self._path is not None and self._map is not None and not self._slots:
            self._path.unlink(missing_ok=True)
        self._view.release()
        if self._map is not None:
            self._map.close()
            self._map = None
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


class Slot:
    """A session's. `bits` are the caller's to change."""

    def __init__(self, view: memoryview, token: int) -> None:
        self._view, self._token, self._number = view, token, 0
        self.bits = view[2 * _COPY :]

    def write(self, counts: bytes) -> None:
        self._number += 1
        at = self._number % 2 * _COPY
        head = self._token, self._number, _checksum(counts, self._number), len(counts)
        self._view[at + _HEAD.size : at + _HEAD.size + len(counts)] = counts
        _HEAD.pack_into(self._view, at, *head)

    def read(self) -> bytes | None:
        """The counts that were written last; None of a new session."""
        found = dict[int, bytes]()
        for at in (0, _COPY):
            whose, number, checksum, size = _HEAD.unpack_from(self._view, at)
            counts = bytes(self._view[at + _HEAD.size : at + min(_HEAD.size + size, _COPY)])
            if whose == self._token and _checksum(counts, number) == checksum:
                found[number] = counts
        self._number = max(found, default=0)
        return found.get(self._number)


def in_memory(bits: int) -> Slot:
    """One that ends with the process."""
    return Slot(memoryview(bytearray(2 * _COPY + bits // 8)), 1)


def kept_counts() -> KeptCounts:
    """Those of the agent of this network namespace."""
    return KeptCounts(RUN / f"stamp.{this_namespace()}")


def _checksum(counts: bytes, number: int) -> int:
    return zlib.crc32(counts, number & 0xFFFFFFFF)
