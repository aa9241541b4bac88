"""Files written whole or not at all."""

from __future__ import annotations

import errno
import os
import shutil
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from .diagnostics import Diagnostic, Refused
from .exit_status import cannot_write


def write_files(files: Mapping[Path, bytes]) -> None:
    """Write these files; where one cannot be, all are as they were. Raises `Refused` (H0309)."""
    beside: list[tuple[Path, Path]] = []
    path = Path()
    try:
        for path, content in files.items():
            home = path.resolve()  # a link goes on leading to it
            if home.exists() and not home.is_file():
                home.write_bytes(content)  # a device, a pipe: nothing to keep whole
                continue
            beside.append((_beside(home), home))
            beside[-1][0].write_bytes(content)
            if home.exists():
                shutil.copymode(home, beside[-1][0])
        for new, path in beside:
            new.replace(path)
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise Refused([cannot_write(str(path), why)]) from None
    finally:
        for new, _ in beside:
            with suppress(OSError):
                new.unlink()


def refuse_over(out: Path, inputs: Iterable[Path | None]) -> None:
    """Raises `Refused` (H0815) if `out` is one of the files that are read, by whatever name."""
    there = _status(out)
    if there is None or not stat.S_ISREG(there.st_mode):
        return  # nothing that writing could destroy
    for path in inputs:
        read = None if path is None else _status(path)
        if read is not None and os.path.samestat(there, read):
            title = f"`{out}` is not written: it is the file that is read, `{path}`"
            raise Refused([Diagnostic("H0815", title, (), "name another file to write")])


@contextmanager
def written_whole(path: Path) -> Iterator[BinaryIO]:
    """A file that is written beside `path` and takes its place at the end; after an error what
    stood there is as it was (where nothing did, what there is of a refused input is put there). A
    device, a pipe, or what this process has open already (/dev/stdout) is written as it is. Raises
    `Refused` (H0309) where it cannot be opened or put there."""
    home = Path(os.path.realpath(path))  # a link goes on leading to it
    there = _status(home)
    direct = there is not None and (not stat.S_ISREG(there.st_mode) or _is_open(there))
    new = path if direct else _beside(home)
    try:
        with _or_refused(path):
            if there is not None and not os.access(home, os.W_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
            file = new.open("wb")
        try:
            yield file
        except BaseException as error:
            with suppress(OSError):
                file.close()
                if isinstance(error, Refused) and there is None:
                    new.replace(home)
            raise
        with _or_refused(path):
            file.close()
            if not direct:
                _replace(home, new, there)
    finally:
        if not direct:
            with suppress(OSError):
                new.unlink()


def _beside(home: Path) -> Path:
    """Where that is written which is to take a file's place."""
    return home.with_name(f"{home.name}~{os.getpid()}")


def _replace(home: Path, new: Path, there: os.stat_result | None) -> None:
    if there is not None:
        with suppress(OSError):  # only root gives files away
            os.chown(new, there.st_uid, there.st_gid)
        new.chmod(stat.S_IMODE(there.st_mode))
    new.replace(home)


@contextmanager
def _or_refused(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        help_ = "name a file in a directory that is there, and that you may write to"
        raise Refused([cannot_write(str(path), why, help_)]) from None


def _status(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except OSError:  # said when it is opened
        return None


def _is_open(status: os.stat_result) -> bool:
    """Whether one of this process's descriptors is that file."""
    for number in os.listdir("/dev/fd"):
        with suppress(OSError):
            if os.path.samestat(os.fstat(int(number)), status):
                return True
    return False
