"""A pipeline's log: the requests since its last snapshot, one record behind the other in a file.

    record  length u32 of what follows the checksum, checksum u32 (CRC-32 of it), then
            revision u64, form u8, octets of key u8, of digest u8, of answer u32; then key,
            digest, answer, content

All numbers are little-endian. A record is written by one write; what a kill leaves is whole, and a
power cut leaves at worst a last record that is not, and is cut off.
"""

from __future__ import annotations

import json
import os
import struct
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

from ..faults import refused
from . import faults

#: A request as octets, one in packed columns, a mere note of the ports' ifindexes (JSON), or a
#: request as octets behind the ids that it gave to rules without one (see `allotted`).
IES, PACKED, NOTE, ALLOTTED = 0, 1, 2, 3
_PREFIX = struct.Struct("<II")
_HEAD = struct.Struct("<QBBBI")
_SIZE = struct.Struct("<I")
#: Octets behind a record that cannot be read in which the next one is looked for.
_NEAR = 1 << 16


class Entry(NamedTuple):
    """`key`, `digest` and `answer` are empty without an idempotency key."""

    revision: int
    form: int
    content: bytes
    key: str = ""
    digest: bytes = b""
    answer: bytes = b""


def with_allotted(ids: Mapping[str, Sequence[int]], request: bytes) -> bytes:
    """The content of an ALLOTTED entry: octets of JSON u32, JSON, request."""
    said = json.dumps(ids).encode()
    return _SIZE.pack(len(said)) + said + request


def allotted(content: bytes) -> tuple[dict[str, list[int]], bytes]:
    """Ids by kind in the order of the rules, and the request."""
    end = _SIZE.size + _SIZE.unpack_from(content)[0]
    return json.loads(content[_SIZE.size : end]), content[end:]


class Log:
    """The file that is written to. `append` and `turn_over` are for one thread at a time; `durable`
    is for any."""

    def __init__(self, path: Path, size: int | None = None) -> None:
        """Goes on behind its first `size` octets; without, behind what is sound of it. The file is
        opened when something is written. Raises `Refused`."""
        self.path = path
        self.size = read_whole(path)[1] if size is None else size
        self._file = -1
        #: It is open, and ends where we think.
        self._ready = False
        self._old: list[int] = []
        self._condition = threading.Condition()
        self._written = self._synced = 0
        self._syncing = False
        self._failed = ""
        #: When something came to the disk last, in seconds of the Unix epoch; 0: not yet.
        self.synced = 0.0

    def close(self) -> None:
        """May be called again. Nobody waits for the disk any more: what it is of was unloaded, or
        is in a snapshot."""
        with self._condition:
            while self._syncing:
                self._condition.wait()
            for descriptor in (*self._old, self._file):
                if descriptor >= 0:
                    os.close(descriptor)
            self._old, self._file, self._ready = [], -1, False
            if not self._failed:
                self._synced = self._written

    def append(self, entry: Entry) -> None:
        """Write an entry. Raises `Refused`, and then it is not written."""
        if self._failed:
            raise refused(faults.cannot_write(str(self.path), self._failed, for_good=True))
        revision, form, content, key, digest, answer = entry
        name = key.encode()
        body = b"".join((
            _HEAD.pack(revision, form, len(name), len(digest), len(answer)),
            name, digest, answer, content,
        ))  # fmt: skip
        record = _PREFIX.pack(len(body), crc32(body)) + body
        try:
            if not self._ready:
                self._make_ready()
            done = os.write(self._file, record)
            while done < len(record):
                done += os.write(self._file, memoryview(record)[done:])
        except OSError as error:
            self.withdraw(self.size)
            why = (error.strerror or str(error)).lower()
            raise refused(faults.cannot_write(str(self.path), why)) from None
        self.size += len(record)
        self._written += 1

    def withdraw(self, size: int) -> None:
        """Take back what was written behind the first `size` octets: it could not be made. If the
        disk does not let us, nothing is written until it does."""
        self.size, self._ready = size, False
        with suppress(OSError):
            self._make_ready()

    def _make_ready(self) -> None:
        if self._file < 0:
            there = self.path.exists()
            self._file = _open(self.path)
            if not there:
                sync_directory(self.path.parent)
        os.ftruncate(self._file, self.size)
        self._ready = True

    def turn_over(self, path: Path, descriptor: int) -> None:
        """Go on in a new file, which `open_new` made."""
        with self._condition:
            if self._file >= 0:
                self._old.append(self._file)
            self._file, self._ready = descriptor, True
        self.path, self.size = path, 0

    @property
    def pending(self) -> bool:
        """Whether anything written is not on the disk yet."""
        return self._synced < self._written

    def durable(self) -> None:
        """Return when all that was written so far is on the disk. Who comes while another waits for
        the disk shares the next waiting. Raises `Refused` if the disk fails: then nothing more is
        written."""
        wanted = self._written
        condition = self._condition
        with condition:
            while self._syncing and self._synced < wanted:
                condition.wait()
            if self._synced >= wanted:
                return
            if self._failed:
                raise refused(faults.not_durable(str(self.path), self._failed))
            self._syncing = True
            upto, files = self._written, [*self._old, self._file]
        failed = ""
        try:
            for descriptor in files:
                os.fdatasync(descriptor)
        except OSError as error:
            failed = (error.strerror or str(error)).lower()
        with condition:
            self._syncing = False
            # What the kernel could not write it may have thrown away, and it says so only once for
            # each descriptor: trust nothing from here on.
            if failed:
                self._failed = failed
            else:
                self._synced = max(self._synced, upto)
                self.synced = time.time()
                for descriptor in files[:-1]:
                    self._old.remove(descriptor)
                    os.close(descriptor)
            condition.notify_all()
        if failed:
            raise refused(faults.not_durable(str(self.path), failed))


def _open(path: Path, how: int = 0) -> int:
    return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | how, 0o600)


def open_new(path: Path) -> int:
    """A new file for `turn_over`, of which its directory knows. Raises `Refused`."""
    descriptor = -1
    try:
        descriptor = _open(path, os.O_TRUNC)
        sync_directory(path.parent)
    except OSError as error:
        if descriptor >= 0:
            os.close(descriptor)
        why = (error.strerror or str(error)).lower()
        raise refused(faults.cannot_write(str(path), why)) from None
    return descriptor


def sync_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class Damage(Exception):
    """From an offset on a log cannot be read, and that is more than a record that was cut short."""

    def __init__(self, entries: list[Entry]) -> None:
        super().__init__("a checksum does not fit")
        self.entries = entries


def read(path: Path) -> list[Entry]:
    """All entries; none without a file, nor a last one that is not whole. Raises Damage with what
    is before it, and `Refused`."""
    return read_whole(path)[0]


def read_whole(path: Path) -> tuple[list[Entry], int]:
    """The same, and how many octets they take."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return [], 0
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise refused(faults.damaged(str(path), why)) from None
    found: list[Entry] = []
    good = 0
    for entry, end in _entries(content):
        found.append(entry)
        good = end
    rest = memoryview(content)[good:]
    if len(rest):
        length = _PREFIX.unpack_from(rest)[0] if len(rest) >= _PREFIX.size else len(rest)
        if (_PREFIX.size + length < len(rest) and any(rest)) or _goes_on(rest, found):
            raise Damage(found)
    return found, good


def _goes_on(rest: memoryview, found: list[Entry]) -> bool:
    """Whether there is a whole record somewhere behind one that is not: then it was not the last.
    Looks where the next may begin, as far as a request is usually long."""
    last = found[-1].revision if found else 0
    for at in range(1, min(len(rest) - _PREFIX.size - _HEAD.size, _NEAR)):
        length, checksum = _PREFIX.unpack_from(rest, at)
        start = at + _PREFIX.size
        if not _HEAD.size <= length <= len(rest) - start:
            continue
        revision, form, keys, _, _ = _HEAD.unpack_from(rest, start)
        likely = form in (IES, PACKED, NOTE, ALLOTTED) and keys <= 64 and last < revision
        if likely and crc32(rest[start : start + length]) == checksum:
            return True
    return False


def _entries(content: bytes) -> Iterator[tuple[Entry, int]]:
    at, view = 0, memoryview(content)
    while at + _PREFIX.size <= len(content):
        length, checksum = _PREFIX.unpack_from(content, at)
        start = at + _PREFIX.size
        at = start + length
        body = view[start:at]
        if len(body) < max(length, _HEAD.size) or crc32(body) != checksum:
            return
        revision, form, keys, digests, answers = _HEAD.unpack_from(body)
        ends = [_HEAD.size, keys, digests, answers]
        parts = []
        for i in range(1, 4):
            ends[i] += ends[i - 1]
            parts.append(bytes(body[ends[i - 1] : ends[i]]))
        content_ = bytes(body[ends[3] :])
        yield Entry(revision, form, content_, parts[0].decode(), parts[1], parts[2]), at
