"""Allows one writer of a pipeline: a lock that ends with its process, however that ends."""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from pathlib import Path

from ...lang.text.diagnostics import Diagnostic
from ..base import errors
from ..base.file_lock import lock_file
from ..base.paths import RUN
from ..kernel.system import give_to_owner


class Exclusive:
    """A file that one process at a time holds. Raises BlockingIOError where another does, and other
    `OSError`s."""

    def __init__(self, path: Path) -> None:
        self.path = path
        while not self._taken():
            os.close(self._fd)  # its last holder removed the file just now: take the new one

    def _taken(self) -> bool:
        self._fd = _opened(self.path)
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._fd)
            raise
        return is_at(self._fd, self.path)

    def remove(self) -> None:
        self.path.unlink(missing_ok=True)

    def __enter__(self) -> Exclusive:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._fd)


def _opened(path: Path) -> int:
    how = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(path, how, 0o600)
    with suppress(FileNotFoundError):  # its last holder removed it just now
        give_to_owner(path)
    return descriptor


def is_at(descriptor: int, path: Path) -> bool:
    """Whether the file that is open is the one that is there by this name."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False


def holder(name: str) -> int:
    """The process that holds the lock of a pipeline, as an agent does; 0 where none is known to."""
    with suppress(OSError, ValueError), open(RUN / f"{name}.lock") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return int(file.read(16))
    return 0


class Lock:
    """Held from construction to `close`. Raises `Refused` where another process holds it, and does
    not let go of it soon."""

    def __init__(self, name: str) -> None:
        self.path = RUN / f"{name}.lock"
        self._fd = -1
        while not self._taken(name):
            self.close()  # its last holder removed the file just now: take the new one
        with suppress(OSError):  # /run is full: nobody learns which process it is
            os.ftruncate(self._fd, 0)
            os.pwrite(self._fd, f"{os.getpid()}\n".encode(), 0)

    def _taken(self, name: str) -> bool:
        try:
            RUN.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._fd = _opened(self.path)
            locked = lock_file(self._fd)
        except OSError as error:
            self.close()
            what = f"lock the pipeline `{name}` by `{self.path}`: {error.strerror}"
            raise errors.refused(errors.no_privilege(what)) from None
        if not locked:
            holder = os.pread(self._fd, 16, 0).decode(errors="replace").strip()
            self.close()
            raise errors.refused(_busy(name, holder)) from None
        return is_at(self._fd, self.path)

    def duplicate(self) -> Lock:
        """A second holder: the lock is let go of when both are closed."""
        made = object.__new__(Lock)
        made.path, made._fd = self.path, os.dup(self._fd)
        return made

    @property
    def held(self) -> bool:
        """Whether this one has not been closed."""
        return self._fd >= 0

    def remove(self) -> None:
        """The pipeline is gone, and with it the need for its files. Whoever traces it now removes
        the other one."""
        # What agents post, also those that were killed.
        for suffix in (
            ".lock",
            ".overlays",
            ".steering",
            ".reports",
            ".rules",
            ".tally",
            ".journal",
        ):
            self.path.with_suffix(suffix).unlink(missing_ok=True)
        if (trace := self.path.with_suffix(".trace")).exists():
            with suppress(OSError), Exclusive(trace) as held:
                held.remove()

    def close(self) -> None:
        """May be called again."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)


# ---- errors ---------------------------------------------------------------------------------


def _busy(name: str, by: str) -> Diagnostic:
    who = f" (process {by})" if by else ""
    return Diagnostic("H0709", f"another program{who} is changing the pipeline `{name}`", (),
                      "one writer works at a time: try again when it has ended; if that is an "
                      "agent (`heliod`), leave out `--local`")  # fmt: skip
