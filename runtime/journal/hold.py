"""One agent at a time works with a journal."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from ..faults import refused
from . import faults


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
