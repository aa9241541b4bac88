"""A block device that records what is written and when it is flushed, and a file system on it.

The kernel's loop device writes to a file that records (recorded_file.py): a flush of the device is
a sync of the file. What a power cut leaves is made of the log: all that came before the last flush,
and any sectors of what came later.
"""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import recorded_file
from lab import command, until
from recorded_file import ENTRY, SECTOR, SYNCED

_SIZE = 24 << 20


@dataclass
class Device:
    """`root`: where its file system is mounted."""

    root: Path
    _log: Path

    def now(self) -> int:
        """How long the log is."""
        return self._log.stat().st_size

    def read(self) -> list[tuple[int, int, bytes]]:
        """Each entry: how long the log was behind it, where (or `SYNCED`) and what was written."""
        data, found, at = self._log.read_bytes(), [], 0
        while at + ENTRY.size <= len(data):
            where, size = ENTRY.unpack_from(data, at)
            at += ENTRY.size + size
            found.append((at, where, data[at - size : at]))
        return found


@contextmanager
def ext4(disk: Path, root: Path) -> Iterator[None]:
    """One that is new, of 24 MiB, in a file, mounted there."""
    with disk.open("wb") as file:
        file.truncate(_SIZE)
    command("mkfs.ext4", "-q", str(disk))
    command("mount", "-t", "ext4", "-o", "loop", str(disk), str(root))
    try:
        yield
    finally:
        command("umount", str(root))


@contextmanager
def device(place: Path) -> Iterator[Device]:
    """With an ext4 that is new; below a directory that is in memory."""
    file, log, root = place / "disk", place / "log", place / "root"
    file.touch()
    root.mkdir()
    with ExitStack() as owned:
        words = [sys.executable, recorded_file.__file__, str(file), str(log), str(_SIZE)]
        served = owned.enter_context(subprocess.Popen(words, stdout=subprocess.PIPE, text=True))
        owned.callback(served.kill)
        assert served.stdout is not None and served.stdout.readline() == "served\n"
        owned.callback(command, "umount", str(file))
        loop = command("losetup", "--find", "--show", str(file)).strip()
        owned.callback(_detach, loop)
        command("mkfs.ext4", "-q", "-E", "nodiscard,lazy_itable_init=0,lazy_journal_init=0", loop)
        command("mount", "-t", "ext4", loop, str(root))
        owned.callback(command, "umount", str(root))
        yield Device(root, log)


def _detach(loop: str) -> None:
    """The kernel takes its time where somebody else just looks at it."""
    command("losetup", "--detach", loop)
    backing = Path("/sys/block", Path(loop).name, "loop/backing_file")
    until(lambda: not backing.exists(), f"{loop} is free")


@dataclass
class Cuts:
    """Power cuts at moments that only go on."""

    entries: list[tuple[int, int, bytes]]

    def __post_init__(self) -> None:
        self._firm, self._flushed = bytearray(_SIZE), 0

    def cut(self, at: int, chance: random.Random) -> bytes:
        """What the device holds where power failed when the log was so long."""
        behind = next((i for i, each in enumerate(self.entries) if each[0] > at), len(self.entries))
        flushes = [i for i in range(self._flushed, behind) if self.entries[i][1] == SYNCED]
        if flushes:
            for _, where, content in self.entries[self._flushed : flushes[-1]]:
                _put(self._firm, where, content)
            self._flushed = flushes[-1] + 1
        made, often = bytearray(self._firm), chance.choice((0.0, 0.2, 0.5, 0.8, 1.0))
        for _, where, content in self.entries[self._flushed : behind]:
            for start in range(0, len(content), SECTOR):
                if chance.random() < often:
                    _put(made, where + start, content[start : start + SECTOR])
        return bytes(made)


def _put(content: bytearray, at: int, part: bytes) -> None:
    if at != SYNCED:
        content[at : at + len(part)] = part


@contextmanager
def mounted(image: bytes, place: Path) -> Iterator[Path]:
    """What the kernel makes of it."""
    file, root = place / "left", place / "found"
    file.unlink(missing_ok=True)  # the device that had it may not be gone yet
    file.write_bytes(image)
    root.mkdir(exist_ok=True)
    command("mount", "-t", "ext4", "-o", "loop", str(file), str(root))
    try:
        yield root
    finally:
        command("umount", str(root))
