"""A file's octets, never more of them than were asked for: what is named may be a device."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path
from typing import BinaryIO

from . import faults

MIB = 1 << 20
#: Octets that are taken of what is no regular file and does not say how long it is: a pipe.
UNSIZED = 64 * MIB


def read_octets(path: Path, largest: int) -> bytes:
    """All of a file of at most `largest` octets; `-` is standard input. Raises `Refused`."""
    try:
        if str(path) == "-":
            return _bounded("<stdin>", sys.stdin.buffer, largest)
        with path.open("rb") as file:
            return _bounded(str(path), file, largest)
    except OSError as error:
        why = error.strerror or "unreadable"
        raise faults.refused(faults.unreadable(str(path), why)) from None
    except ValueError as error:  # a NUL in the path
        raise faults.refused(faults.unreadable(str(path), str(error))) from None


def _bounded(name: str, file: BinaryIO, largest: int) -> bytes:
    about = os.fstat(file.fileno())
    said = about.st_size if stat.S_ISREG(about.st_mode) else 0
    bound = min(largest, max(said, UNSIZED))
    data = b"" if said > largest else file.read(bound + 1)
    if said > largest or len(data) > bound:
        raise faults.refused(faults.too_large(name, bound // MIB, bound < largest))
    return data
