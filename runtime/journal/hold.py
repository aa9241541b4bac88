"""Locks a journal's directory for one agent, and sees that no other user can write it."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from ...lang.text.diagnostics import Diagnostic
from ..base.errors import refused
from ..base.file_lock import lock_file
from . import errors

#: Permissions of a directory that let others write.
_OTHERS = stat.S_IWGRP | stat.S_IWOTH


def keep_private(directory: Path) -> Diagnostic | None:
    """See that only we can write it; returns what is to be said of that. Raises `Refused` where it
    is another user's, who could put anything there."""
    about = os.stat(directory)
    if about.st_uid != os.geteuid():
        raise refused(_of_another(str(directory), about.st_uid))
    if not about.st_mode & _OTHERS:
        return None
    with suppress(OSError):  # on a read-only disk nobody writes it
        os.chmod(directory, stat.S_IMODE(about.st_mode) & ~_OTHERS)
    return _open_to_others(str(directory), stat.S_IMODE(about.st_mode))


@contextmanager
def hold(directory: Path) -> Iterator[None]:
    """Lock the directory, made if need be, for this process; on a disk that cannot be written as it
    is. Raises `Refused`."""
    with ExitStack() as held:
        try:
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            held.callback(os.close, locked := os.open(directory, os.O_RDONLY | os.O_CLOEXEC))
            # Releases before this one lock a file, which somebody may remove.
            with suppress(OSError):
                how = os.O_RDONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK  # it may be a FIFO
                file = os.open(directory / "lock", how, 0o600)
                held.callback(os.close, file)
                _lock(file, directory)
            _lock(locked, directory)
        except OSError as error:
            raise refused(errors.cannot_write(str(directory), error)) from None
        yield


def _lock(descriptor: int, directory: Path) -> None:
    if not lock_file(descriptor):
        raise refused(_in_use(str(directory)))


# ---- errors ---------------------------------------------------------------------------------


def _in_use(path: str) -> Diagnostic:
    return Diagnostic("H0782", f"another agent keeps its journal in `{path}`", (),
                      "one directory for each agent: `heliod --state DIRECTORY`")  # fmt: skip


def _of_another(path: str, user: int) -> Diagnostic:
    return Diagnostic("H0797", f"`{path}` is a directory of user {user}'s", (),
                      "a journal is read as what was acknowledged: give the directory to the user "
                      "that `heliod` runs as (chown), or take another (`--state`)")  # fmt: skip


def _open_to_others(path: str, mode: int) -> Diagnostic:
    title = f"others could write `{path}` (mode {mode:04o}); now they cannot"
    return Diagnostic("H0797", title, (), "look whether anybody did: `helioctl status` and the log "
                      "name files that are damaged or not ours", "warning")  # fmt: skip
