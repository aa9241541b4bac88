"""Files that are written whole, and read only as they were written."""

from __future__ import annotations

import os
import stat
import struct
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from hashlib import blake2b
from pathlib import Path
from typing import BinaryIO, NamedTuple, NoReturn

from ...lang.text.diagnostics import Refused
from ..base.errors import refused
from . import errors
from .disk import why

DIGEST_SIZE = 16
#: A file that is being written, and whatever is left of one.
UNFINISHED = "new~"
#: What comes of reading something that is not what we write.
NONSENSE = (
    ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError,
    struct.error,
)  # fmt: skip


class Mark(NamedTuple):
    """A file that must be there. `size` in bytes; `digest`: BLAKE2b-128 in hex."""

    name: str
    size: int
    digest: str


class Unsound(Exception):
    """A file is not what was written. Its text says why."""


class Doubtful(Refused):
    """Files are written, but perhaps not on the disk: a reboot may find what was there before."""


def digest_of(content: bytes) -> str:
    return blake2b(content, digest_size=DIGEST_SIZE).hexdigest()


def read_sound(directory: Path, mark: Mark) -> bytes:
    """Raises `Unsound`; `Refused` where it cannot be read."""
    content = read(directory / mark.name, mark.size)
    if len(content) < mark.size:
        raise Unsound(f"it has {len(content):,} bytes, not {mark.size:,}")
    if digest_of(content) != mark.digest:
        raise Unsound("its checksum is not that of its content")
    return content


def read(path: Path, most: int = sys.maxsize, cut: bool = False) -> bytes:
    """Raises `Unsound`, also where it has more than `most` bytes, unless it is to be `cut` there;
    `Refused` where it cannot be read: what it has nobody knows then."""
    try:
        about = path.stat()
        if not stat.S_ISREG(about.st_mode):  # it may never end, or not begin
            raise Unsound("it is no file")
        if about.st_size > most and not cut:
            raise Unsound(f"it has {about.st_size:,} bytes, and may have {most:,}")
        with path.open("rb") as file:
            return file.read(most if about.st_size > most else -1)
    except MemoryError:
        why_not = f"it has {about.st_size:,} bytes, more than there is memory for"
        raise refused(errors.cannot_read(str(path), why_not)) from None
    except FileNotFoundError:
        raise Unsound("it is gone") from None
    except OSError as error:
        raise refused(errors.cannot_read(str(path), why(error))) from None


def write_whole(path: Path, parts: Iterable[bytes]) -> Mark:
    """Its name is on the disk with the next `write_twice`. Raises `Refused`."""
    digest, size, new = blake2b(digest_size=DIGEST_SIZE), 0, path.with_name(UNFINISHED)
    try:
        with _opened(new) as file:
            for part in parts:
                size += file.write(part)
                digest.update(part)
        new.rename(path)
    except OSError as error:
        _give_up(path, error, new)
    return Mark(path.name, size, digest.hexdigest())


def write_twice(paths: Sequence[Path], content: bytes) -> None:
    """All of these files whole, before the name of any changes. Raises `Doubtful` once one has
    changed, before that `Refused`."""
    fresh = {path: path.with_name(f"{path.name}~") for path in paths}
    changed = False
    try:
        for new in fresh.values():
            with _opened(new) as file:
                file.write(content)
        for path, new in fresh.items():
            new.rename(path)
            changed = True
        sync_directory(paths[0].parent)
    except OSError as error:
        if changed:
            raise Doubtful([errors.doubtful(str(paths[0].parent), error)]) from None
        _give_up(paths[0], error, *fresh.values())


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    """A new file, on the disk when this ends."""
    # A FIFO that somebody put there is refused, and not waited for.
    how = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NONBLOCK
    with open(os.open(path, how, 0o600), "wb") as file:
        yield file
        file.flush()
        os.fdatasync(file.fileno())


def _give_up(path: Path, error: OSError, *begun: Path) -> NoReturn:
    for each in begun:
        with suppress(OSError):
            each.unlink(missing_ok=True)
    raise refused(errors.cannot_write(str(path), error)) from None


def sync_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
