"""Reads files up to a size limit, since a named file may be a device."""

from __future__ import annotations

import os
import shlex
import stat
import sys
from pathlib import Path
from typing import BinaryIO

from ...lang.text.diagnostics import Diagnostic, Label
from ...lang.text.source import Source, Span
from . import errors

MIB = 1 << 20
#: Bytes that are taken of what is no regular file and does not say how long it is: a pipe.
UNSIZED = 64 * MIB


def read_bytes(path: Path, largest: int) -> bytes:
    """All of a file of at most `largest` bytes; `-` is standard input. Raises `Refused`."""
    try:
        if str(path) == "-":
            return _bounded("<stdin>", sys.stdin.buffer, largest)
        with path.open("rb") as file:
            return _bounded(str(path), file, largest)
    except OSError as error:
        why = error.strerror or "unreadable"
        raise errors.refused(errors.unreadable(str(path), why)) from None
    except ValueError as error:  # a NUL in the path
        raise errors.refused(errors.unreadable(str(path), str(error))) from None


def read_source(path: Path, largest: int = MIB) -> Source:
    """A file's text, without a byte order mark; `-` is standard input. Raises `Refused`."""
    name = "<stdin>" if str(path) == "-" else str(path)
    data = read_bytes(path, largest).removeprefix(b"\xef\xbb\xbf")
    try:
        return Source(name, data.decode(), path)
    except UnicodeDecodeError as error:
        before, bad = data[: error.start].decode(), data[error.start :]
        shown = Source(name, before + bad.decode(errors="replace"), path)
        where = shown.span(len(before), len(before) + 1)
        raise errors.refused(_not_utf8(where, bad[0])) from None


def _bounded(name: str, file: BinaryIO, largest: int) -> bytes:
    about = os.fstat(file.fileno())
    size = about.st_size if stat.S_ISREG(about.st_mode) else 0
    bound = min(largest, max(size, UNSIZED))
    data = b"" if size > largest else file.read(bound + 1)
    if size > largest or len(data) > bound:
        raise errors.refused(_too_large(name, bound // MIB, bound < largest))
    return data


def file_stamp(path: Path) -> tuple[int, int, int]:
    """Changes when the file is written or replaced. Raises OSError."""
    about = path.stat()
    return about.st_ino, about.st_size, about.st_mtime_ns


# ---- errors ---------------------------------------------------------------------------------


def _not_utf8(where: Span, byte: int) -> Diagnostic:
    name = where.source.name
    help_ = "save it as UTF-8"
    if name != "<stdin>":
        quoted = shlex.quote(name)
        help_ += f", or convert it: iconv -f LATIN1 -t UTF-8 {quoted} > {quoted}.utf8"
    return Diagnostic("H0740", f"`{name}` is not UTF-8 text",
                      (Label(where, f"the byte 0x{byte:02x} stands here"),), help_)  # fmt: skip


def _too_large(path: str, most: int, piped: bool) -> Diagnostic:
    help_ = "split it: several requests, one after the other"
    if piped:
        help_ = "it is no regular file: put what it gives into one first"
    return Diagnostic("H0745", f"`{path}` is larger than {most} MiB", (), help_)
