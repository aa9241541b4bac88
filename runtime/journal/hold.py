"""One agent at a time works with a journal, and nobody else writes it."""

from __future__ import annotations

import fcntl
import os
import stat
from contextlib import suppress
from pathlib import Path

from ...lang.diagnostics import Diagnostic
from ..faults import refused
from . import faults

#: Permissions of a directory that let others write.
_OTHERS = stat.S_IWGRP | stat.S_IWOTH


def keep_private(directory: Path) -> Diagnostic | None:
    """See that only we can write it; returns what is to be said of that. Raises `Refused` where it
    is another user's, who could put anything there."""
    about = os.stat(directory)
    if about.st_uid != os.geteuid():
        raise refused(faults.of_another(str(directory), about.st_uid))
    if not about.st_mode & _OTHERS:
        return None
    with suppress(OSError):  # on a read-only disk nobody writes it
        os.chmod(directory, stat.S_IMODE(about.st_mode) & ~_OTHERS)
    return faults.open_to_others(str(directory), stat.S_IMODE(about.st_mode))


def hold(directory: Path) -> int:
    """Lock the directory, made if need be, for this process; where none can be, as it is."""
    path, most = directory / "lock", os.O_RDWR | os.O_CREAT
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise refused(faults.cannot_write(str(directory), why)) from None
    for what, how in ((path, most), (path, os.O_RDONLY), (directory, os.O_RDONLY)):
        try:
            held = os.open(what, how | os.O_CLOEXEC, 0o600)
            break
        except OSError as error:
            failed = (error.strerror or str(error)).lower()
    else:
        raise refused(faults.cannot_write(str(directory), failed))
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(held)
        raise refused(faults.in_use(str(directory))) from None
    return held
