"""A pipeline's log: the requests since its last snapshot, and how it is written (docs/journal.md).

A record is written by one write before its request is made; a header and all records that came
since the last come to the disk by one fdatasync.
"""

from __future__ import annotations

import os
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from ...lang.text.diagnostics import Diagnostic
from ..base.errors import refused
from ..kernel.system import begin_writing
from . import errors
from .disk import why
from .files import sync_directory
from .heads import HEADS, NOT_BEGUN, Head
from .records import Entry, encode

#: Bytes that are preallocated at a time.
_STEP = 64 << 10
#: Longer than a record's header.
_NO_RECORD = bytes(64)
_new = tuple.__new__  # a third of what a named tuple's own takes


class Mark(NamedTuple):
    """How far a log goes: bytes of records, and the revision of the last."""

    size: int
    revision: int


class Log:
    """The file that is written to. `append`, `withdraw` and `turn_over` are for one thread at a
    time; the others are for any."""

    def __init__(self, path: Path, head: Head, mark: Mark) -> None:
        """`head`: the one in force, or of a log that has not begun, whose file `open_new` makes;
        `mark`: the records that are sound. The file is opened when something is written."""
        self.path, self._head, self.mark = path, head, mark
        self._file = -1
        #: Somebody waits for the disk behind each record.
        self.awaited = False
        #: The last header may not be on the disk: the next one takes its place, not the other's,
        #: which was.
        self._head_fresh = False
        #: It is open, and there is nothing behind `mark` up to `_room`, the end of the file.
        self._ready, self._room = False, 0
        #: Bytes of records that are on the disk, as far as we know.
        self._safe = head.confirmed
        self._old: list[int] = []
        self._lock = threading.RLock()
        self._changed, self._waiting = threading.Condition(self._lock), 0
        # What a killed agent wrote may not be on the disk yet.
        self._written, self._synced = int(mark.size > head.confirmed), 0
        self._syncing = False
        #: Why nothing is written any more.
        self.failed = ""
        #: When something came to the disk last, by the monotonic clock; 0: not yet.
        self.synced = 0.0

    def close(self) -> None:
        """May be called again. Nobody waits for the disk any more: what it is of was unloaded, or
        is in a snapshot."""
        with self._lock:
            self._wait()
            if self._ready:
                with suppress(OSError):
                    os.ftruncate(self._file, HEADS + self.mark.size)
            for descriptor in (*self._old, self._file):
                if descriptor >= 0:
                    os.close(descriptor)
            self._old, self._file, self._ready = [], -1, False
            if not self.failed:
                self._synced = self._written

    def append(self, entry: Entry) -> None:
        """Write an entry. Raises `Refused`, and then it is not written."""
        if self.failed:
            raise refused(errors.cannot_write(str(self.path), self.failed, for_good=True))
        record = encode(entry)
        at = HEADS + self.mark.size
        try:
            if not self._ready:
                self._make_ready()
            if at + len(record) > self._room:
                self._room = at + self._allocate(at, len(record))
            done = os.pwrite(self._file, record, at)
            while done < len(record):
                done += os.pwrite(self._file, memoryview(record)[done:], at + done)
        except OSError as error:
            self.withdraw(self.mark)
            raise refused(errors.cannot_write(str(self.path), error)) from None
        self.mark = _new(Mark, (self.mark.size + len(record), entry.revision))
        self._written += 1
        if self.awaited and self._synced == self._written - 1:
            self._begin_writing()

    def _begin_writing(self) -> None:
        """The first record of a group: the disk has work while the request is made. What cannot be
        written who waits for the disk is told."""
        with self._lock, suppress(OSError):
            if not self._syncing:
                self._write_head()
                begin_writing(self._file)

    def _allocate(self, at: int, size: int) -> int:
        """Have this many bytes there on the disk, or more; returns how many. Raises OSError."""
        with suppress(OSError):
            os.posix_fallocate(self._file, at, size + _STEP)
            return size + _STEP
        os.posix_fallocate(self._file, at, size)
        return size

    def withdraw(self, mark: Mark) -> bool:
        """Take back what was written behind it: it could not be made. If the disk does not let us,
        nothing is written until it does. Returns whether a start finds it no more."""
        with self._lock:
            self._wait()
            self.mark, self._ready = mark, False
            self._safe = min(self._safe, mark.size)
            with suppress(OSError):
                self._make_ready()
                self._sync_file(self._file)
                return True
            return False

    def _make_ready(self) -> None:
        with self._lock:
            if self._file < 0:
                self._file = os.open(self.path, os.O_RDWR | os.O_CLOEXEC)
            self._room = HEADS + self.mark.size
            try:
                if self._head.written > self.mark.size:  # it must not say more than there is
                    self._write_head()
                    self._sync_file(self._file)
            finally:
                self._cut()
            self._ready = True

    def _cut(self) -> None:
        """Leave no record behind the last."""
        if os.fstat(self._file).st_size > self._room:
            with suppress(OSError):  # also where it cannot be cut off
                os.pwrite(self._file, _NO_RECORD, self._room)
            os.ftruncate(self._file, self._room)

    def _sync_file(self, descriptor: int) -> None:
        """What the kernel could not write it may have thrown away, and it says so only once for
        each descriptor: trust nothing from then on. Raises OSError."""
        try:
            os.fdatasync(descriptor)
        except OSError as error:
            self.failed = self.failed or why(error)
            raise
        if descriptor == self._file:
            self._head_fresh = False

    def _write_head(self, ended: int = 0) -> None:
        (size, revision), head = self.mark, self._head
        generation = head.generation + (not self._head_fresh)
        fresh = _new(Head, (
            head.directory, head.pipeline, head.number, generation, head.base,
            head.behind, min(self._safe, size), size, revision, ended,
        ))  # fmt: skip
        os.pwrite(self._file, fresh.encode(), fresh.place)
        self._head, self._head_fresh = fresh, True

    def _wait(self, target: int = 1 << 64) -> None:
        """Until nobody waits for the disk, or `target` records are on it. The lock is had."""
        while self._syncing and self._synced < target:
            self._waiting += 1
            try:
                self._changed.wait()
            finally:
                self._waiting -= 1

    @property
    def whose(self) -> tuple[bytes, int]:
        """The directory and the pipeline that it is of."""
        return self._head.directory, self._head.pipeline

    def turn_over(self, path: Path, descriptor: int, revision: int) -> None:
        """Go on behind this revision in a new file, which `open_new` made. Raises `Refused`."""
        with self._lock:
            self._wait()
            number, behind = self._head.number + 1, self.mark.revision
            head = Head(*self.whose, number, 0, revision, behind, revision=revision)
            try:
                for generation in (3, 4):  # behind those of `open_new`
                    head = head._replace(generation=generation)
                    os.pwrite(descriptor, head.encode(), head.place)
                # Only now: what fails before this leaves nothing that a start would look for.
                with suppress(FileNotFoundError):  # somebody removed it: there is none to end
                    if self._head.base != NOT_BEGUN:
                        if self._file < 0:
                            self._make_ready()
                        self._write_head(ended=1)
            except OSError as error:
                raise refused(errors.cannot_write(str(path), error)) from None
            if self._file >= 0:
                with suppress(OSError):  # on a full disk the new one needs what this one has left
                    os.ftruncate(self._file, HEADS + self.mark.size)
                self._old.append(self._file)
            self.path, self._file, self._head = path, descriptor, head
            self.mark, self._safe = Mark(0, revision), 0
            self._ready, self._room, self._head_fresh = True, HEADS, False

    @property
    def there(self) -> bool:
        """Its file is where a start looks for it, as far as can be seen."""
        with self._lock:
            try:
                found = os.stat(self.path)
            except FileNotFoundError:
                return self._head.base == NOT_BEGUN
            except OSError:
                return True
            return self._file < 0 or os.path.samestat(found, os.fstat(self._file))

    @property
    def pending(self) -> bool:
        """Whether anything written is not on the disk yet."""
        return self._synced < self._written

    def durable(self) -> None:
        """Return when all that was written so far is on the disk. Who comes while another waits for
        the disk shares the next waiting. Raises `Refused` if the disk fails: then nothing more is
        written."""
        target = self._written
        with self._lock:
            if self._syncing:
                self._wait(target)
            if self._synced >= target:
                return
            if self.failed:
                raise refused(_not_durable(str(self.path), self.failed))
            if self._file < 0:
                try:
                    self._make_ready()
                except OSError as error:
                    raise refused(errors.cannot_write(str(self.path), error)) from None
            self._syncing = True
        self._sync()

    def confirm(self) -> None:
        """Have the header say of what is on the disk that it is, which else the next one does.
        Raises `Refused` if the disk fails."""
        with self._lock:
            said = self._head.confirmed == self.mark.size
            if said or self._syncing or self.pending or self.failed or not self._ready:
                return
            self._syncing = True
        self._sync()

    def _sync(self) -> None:
        """Whoever set `_syncing` does it."""
        failed, upto, files, safe = "", 0, list[int](), 0
        try:
            with self._lock:
                upto, files = self._written, [*self._old, self._file]
                if not (self._head_fresh and self._head.written == self.mark.size):
                    self._write_head()
                safe = self._head.written
            for descriptor in files:
                self._sync_file(descriptor)
        except OSError as error:
            failed = why(error)
        with self._lock:
            self._syncing = False
            if not failed:
                self._safe, self._synced = safe, max(self._synced, upto)
                self.synced = time.monotonic()
                for descriptor in files[:-1]:
                    self._old.remove(descriptor)
                    os.close(descriptor)
            if self._waiting:
                self._changed.notify_all()
        if failed:
            raise refused(_not_durable(str(self.path), failed))


def begin(directory: Path, whose: tuple[bytes, int, int], revision: int) -> Log:
    """A log whose file is new, and begins behind this revision. Raises `Refused`."""
    path, (of, pipeline, number) = directory / log_name(*whose[1:]), whose
    log = Log(path, Head(of, pipeline, number - 1), Mark(0, revision))
    log.turn_over(path, open_new(path, whose), revision)
    return log


def log_name(pipeline: int, number: int) -> str:
    return f"requests-{pipeline}-{number}"


def open_new(path: Path, whose: tuple[bytes, int, int]) -> int:
    """A new file for `turn_over`, of which its directory knows. Raises `Refused`."""
    descriptor = -1
    try:
        # One that a killed agent left is never without headers: the log before may name it.
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        for generation in (1, 2):
            head = Head(*whose, generation)
            os.pwrite(descriptor, head.encode(), head.place)
        os.ftruncate(descriptor, HEADS)
        os.fsync(descriptor)
        sync_directory(path.parent)
    except OSError as error:
        if descriptor >= 0:
            os.close(descriptor)
            with suppress(OSError):
                path.unlink()
        raise refused(errors.cannot_write(str(path), error)) from None
    return descriptor


# ---- errors ---------------------------------------------------------------------------------


def _not_durable(path: str, why: str) -> Diagnostic:
    return Diagnostic("H0783", f"in force, but perhaps not on the disk: `{path}`: {why}", (),
                      "a reboot may lose this request; the agent takes no others until it is "
                      "started again on a sound disk")  # fmt: skip
