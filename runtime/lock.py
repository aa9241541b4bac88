"""One writer a pipeline: a lock that ends with its process, however that ends."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from . import faults

RUN = Path("/run/helio")


class Lock:
    """Held from construction to `close`. Raises `Refused` where another process holds it."""

    def __init__(self, name: str) -> None:
        self.path = RUN / f"{name}.lock"
        self._fd = -1
        while not self._taken(name):
            self.close()  # its last holder removed the file just now: take the new one
        os.ftruncate(self._fd, 0)
        os.pwrite(self._fd, f"{os.getpid()}\n".encode(), 0)

    def _taken(self, name: str) -> bool:
        try:
            RUN.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            what = f"lock the pipeline `{name}` by `{self.path}`: {error.strerror}"
            raise faults.refused(faults.no_privilege(what)) from None
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            holder = os.pread(self._fd, 16, 0).decode(errors="replace").strip()
            self.close()
            raise faults.refused(faults.busy(name, holder)) from None
        try:
            return os.path.samestat(os.fstat(self._fd), self.path.stat())
        except FileNotFoundError:
            return False

    def remove(self) -> None:
        """The pipeline is gone, and with it the need for the file."""
        self.path.unlink(missing_ok=True)

    def close(self) -> None:
        """May be called again."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)
