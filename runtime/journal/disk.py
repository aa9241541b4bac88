"""The disk below a path, for people who are to fix it; and why a file could not be used."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from dataclasses import dataclass
from errno import EDQUOT, EIO, ENOSPC, EROFS
from pathlib import Path

_MOUNTS = Path("/proc/self/mountinfo")
_ESCAPED = re.compile(rb"\\([0-7]{3})")


@dataclass(frozen=True)
class Disk:
    """A file system. `what`: its type, and what it is on; `free`, `size`: bytes."""

    mount: str
    what: str
    free: int
    size: int
    read_only: bool
    files_left: bool

    @property
    def full(self) -> bool:
        """Not to the last byte: a database wants some pages at a time."""
        return self.free < 128 << 10 or not self.files_left


def disk_of(path: Path) -> Disk | None:
    """Where `path` is, or would be. None where nobody knows."""
    with suppress(OSError):
        at = path.resolve()
        while not at.exists():
            at = at.parent
        about = os.statvfs(at)
        while not os.path.ismount(at):
            at = at.parent
        return Disk(
            str(at), _mounted_at(at), about.f_bavail * about.f_frsize,
            about.f_blocks * about.f_frsize, bool(about.f_flag & os.ST_RDONLY),
            about.f_favail > 0 or not about.f_files,
        )  # fmt: skip
    return None


def why(error: OSError) -> str:
    """In the system's words."""
    return (error.strerror or str(error)).lower()


def fix_of(path: Path, errno: int) -> str:
    """What is to be done about a disk on which `path` could not be written: `errno` says why, 0
    where it was not the system that refused it."""
    disk = disk_of(path)
    if disk is None:
        return "Mend the disk"
    it = f"The file system at `{disk.mount}` ({disk.what})"
    # After an error ext4 refuses to write (emergency_ro), and its flags do not say so.
    if disk.read_only or errno == EROFS:
        return (f"{it} is read-only: `dmesg` may say why; `mount -o remount,rw {disk.mount}`, or "
                "where an error made it so `umount`, `fsck` and `mount` it")  # fmt: skip
    if errno == EIO:
        return f"{it} fails: `dmesg` says why"
    if disk.full or errno in (ENOSPC, EDQUOT):
        left = f"{disk.free >> 10:,} of {disk.size >> 10:,} KiB are free"
        if not disk.files_left:
            left = "no files are free"
        return f"{it} is full, {left}: make room (`du -xh {disk.mount} | sort -h`)"
    return f"{it} does not take it: let the agent write there (`namei -l {path}`), or mend it"


def _mounted_at(mount: Path) -> str:
    """By proc(5): … mount point (5th), …, `-`, type, source, …"""
    found = "of unknown type"
    for line in _MOUNTS.read_bytes().splitlines():
        before, _, after = line.partition(b" - ")
        if _plain(before.split()[4]) == os.fsencode(mount):  # the last one is on top
            kind, source = after.split()[:2]
            found = f"{os.fsdecode(kind)} on {os.fsdecode(_plain(source))}"
    return found


def _plain(word: bytes) -> bytes:
    return _ESCAPED.sub(lambda found: bytes([int(found[1], 8)]), word)
