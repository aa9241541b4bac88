"""A disk that loses power: what a directory holds after a cut, as POSIX and ext4 leave it open.

Each call by which this process changes files of a directory is recorded. A cut keeps what was
synced before it; of what was written since, any sectors; of names and sizes that changed since the
last sync of the directory, those up to any moment.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SECTOR = 512


@dataclass
class Op:
    """`what`: write, size, sync, name (`target`: empty: it is gone), names (are synced)."""

    what: str
    file: int = 0
    at: int = 0
    content: bytes = b""
    name: str = ""
    target: str = ""


@dataclass
class Disk:
    """Records what happens below `root` while `recording`. `synced`: whether syncs are made."""

    root: Path
    synced: bool = True
    ops: list[Op] = field(default_factory=list)
    _files: dict[int, int] = field(default_factory=dict)

    def _file(self, descriptor: int) -> int | None:
        return self._files.get(os.fstat(descriptor).st_ino)

    def _name(self, path: Any) -> str | None:
        path = Path(path)
        return path.name if path.parent == self.root else None

    @contextmanager
    def recording(self) -> Iterator[None]:
        real = {name: getattr(os, name) for name in _CALLS}
        for name, make in _CALLS.items():
            setattr(os, name, make(self, real[name]))
        try:
            yield
        finally:
            for name, call in real.items():
                setattr(os, name, call)

    def open(self, real: Callable[..., int]) -> Callable[..., int]:
        def call(path: Any, flags: int, *rest: Any, **named: Any) -> int:
            name, new = self._name(path), not os.path.exists(path)
            descriptor = real(path, flags, *rest, **named)
            if name is not None and flags & os.O_CREAT:
                if new:
                    self._files[os.fstat(descriptor).st_ino] = len(self.ops)
                    self.ops.append(Op("name", file=len(self.ops), target=name))
                elif flags & os.O_TRUNC and (file := self._file(descriptor)) is not None:
                    self.ops.append(Op("size", file))
            return descriptor

        return call

    def pwrite(self, real: Callable[..., int]) -> Callable[..., int]:
        def call(descriptor: int, content: Any, at: int) -> int:
            done = real(descriptor, content, at)
            if (file := self._file(descriptor)) is not None:
                self.ops.append(Op("write", file, at, bytes(content)[:done]))
            return done

        return call

    def ftruncate(self, real: Callable[..., None]) -> Callable[..., None]:
        def call(descriptor: int, size: int) -> None:
            real(descriptor, size)
            if (file := self._file(descriptor)) is not None:
                self.ops.append(Op("size", file, size))

        return call

    def posix_fallocate(self, real: Callable[..., None]) -> Callable[..., None]:
        def call(descriptor: int, at: int, size: int) -> None:
            real(descriptor, at, size)
            if (file := self._file(descriptor)) is not None:
                self.ops.append(Op("size", file, os.fstat(descriptor).st_size))

        return call

    def sync(self, real: Callable[..., None]) -> Callable[..., None]:
        def call(descriptor: int) -> None:
            file = self._file(descriptor)
            if file is not None and not any(o.file == file and o.what == "write" for o in self.ops):
                # written by a buffer of Python's
                content = Path(f"/proc/self/fd/{descriptor}").read_bytes()
                self.ops.append(Op("write", file, 0, content))
            if self.synced and file is not None:
                self.ops.append(Op("sync", file))
            elif self.synced and os.readlink(f"/proc/self/fd/{descriptor}") == str(self.root):
                self.ops.append(Op("names"))

        return call

    def rename(self, real: Callable[..., None]) -> Callable[..., None]:
        def call(path: Any, to: Any) -> None:
            real(path, to)
            name = self._name(path)
            if name is not None:
                self.ops.append(Op("name", name=name, target=self._name(to) or ""))

        return call

    def unlink(self, real: Callable[..., None]) -> Callable[..., None]:
        def call(path: Any, **named: Any) -> None:
            real(path, **named)
            name = self._name(path)
            if name is not None:
                self.ops.append(Op("name", name=name))

        return call

    # ---- a cut ------------------------------------------------------------------------------

    def cut(self, at: int, chance: random.Random, into: Path) -> None:
        """What is there if power failed behind the first `at` calls."""
        ops = self.ops[:at]
        synced = {op.file: i for i, op in enumerate(ops) if op.what == "sync"}
        firm = max((i for i, op in enumerate(ops) if op.what == "names"), default=-1)
        lucky = chance.randint(firm + 1, at)  # names and sizes up to here
        often = chance.choice((0.0, 0.2, 0.5, 0.8, 1.0))
        contents: dict[int, bytearray] = {}
        names: dict[str, int] = {}
        for i, op in enumerate(ops):
            content = contents.setdefault(op.file, bytearray())
            safe = i <= synced.get(op.file, -1)
            if op.what == "write":
                for start in range(0, len(op.content), SECTOR):
                    if safe or chance.random() < often:
                        _put(content, op.at + start, op.content[start : start + SECTOR])
            elif op.what == "size" and (safe or i < lucky):
                del content[op.at :]
                content += bytes(op.at - len(content))
            elif op.what == "name" and i < lucky:
                file = names.pop(op.name) if op.name else op.file
                if op.target:
                    names[op.target] = file
        for name, file in names.items():
            (into / name).write_bytes(contents[file])


def _put(content: bytearray, at: int, sector: bytes) -> None:
    content += bytes(max(0, at - len(content)))
    content[at : at + len(sector)] = sector


_CALLS: dict[str, Callable[[Disk, Callable[..., Any]], Callable[..., Any]]] = {
    "open": Disk.open, "pwrite": Disk.pwrite, "ftruncate": Disk.ftruncate,
    "posix_fallocate": Disk.posix_fallocate, "fdatasync": Disk.sync, "fsync": Disk.sync,
    "rename": Disk.rename, "unlink": Disk.unlink,
}  # fmt: skip
