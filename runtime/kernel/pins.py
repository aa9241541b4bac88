"""File descriptors of kernel resources, and the names in bpffs that keep those alive."""

from __future__ import annotations

import fcntl
import os
import re
import sys
import warnings
from collections.abc import Callable
from contextlib import suppress
from errno import EINVAL, ENOENT, ENOTDIR, EPERM
from pathlib import Path
from typing import TypeVar

from . import libbpf
from .libbpf import BpfError
from .system import BPFFS_MAGIC, filesystem_magic, give_to_owner

BPFFS = Path("/sys/fs/bpf")
MOUNT = (
    f"mount -t bpf bpf {BPFFS}; in `ip netns exec`, which hides it, use `nsenter "
    "--net=/run/netns/NAME`"
)
_Descriptor = TypeVar("_Descriptor", bound="Descriptor")
_Pin = TypeVar("_Pin", bound="Pin")


class Descriptor:
    """Owns one file descriptor; the kernel resource lives while any descriptor, pin or user of it
    does."""

    def __init__(self, fd: int) -> None:
        self._fd = fd

    def fileno(self) -> int:
        """The descriptor. Raises ValueError once closed."""
        if self._fd < 0:
            raise ValueError(f"{type(self).__name__} is closed")
        return self._fd

    @property
    def closed(self) -> bool:
        return self._fd < 0

    def duplicate(self: _Descriptor) -> _Descriptor:
        """A second owner of the same resource, closed on its own."""
        return type(self)(duplicate_fd(self.fileno()))

    def pin(self, path: Path, *, replace: bool = False) -> Pin:
        """Name the resource in bpffs; see `Pin.create`."""
        return Pin.create(self, path, replace=replace)

    def close(self) -> None:
        """Give the descriptor up; what the class says survives, survives. May be called again."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    def __enter__(self: _Descriptor) -> _Descriptor:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self, _finalizing: Callable[[], bool] = sys.is_finalizing) -> None:
        # At the interpreter's end half of what this needs is gone, and the kernel closes it anyway.
        if getattr(self, "_fd", -1) >= 0 and not _finalizing():
            warnings.warn(f"unclosed {self!r}", ResourceWarning, source=self, stacklevel=2)
            self.close()


def require_kind(fd: int, kind: str) -> None:
    """Raises BpfError where `fd` is no BPF `map`, `prog` or `link`."""
    target = str(Path(f"/proc/self/fd/{fd}").readlink())
    if target.replace("_", "-") != f"anon-inode:bpf-{kind}":
        raise BpfError(f"open a BPF {kind}", EINVAL, fix=f"this is {target.partition(':')[2]}")


def duplicate_fd(fd: int) -> int:
    """A copy of `fd` that programs started by this process do not inherit."""
    return fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 0)


class Pin:
    """A name in bpffs. It keeps its resource alive after `close` of every descriptor and after the
    process ends, until it is removed or the machine restarts.

    As a context manager it is removed at the end, unless `keep` was called: so a load that fails
    half-way leaves no pins.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._kept = False

    @classmethod
    def create(cls: type[_Pin], resource: Descriptor, path: Path, *, replace: bool = False) -> _Pin:
        """Pin `resource` at `path`, whose directory exists. With `replace`, whatever is pinned
        there gives way in one step: at no time is there nothing. Raises BpfError."""
        check_name(path)
        first = path.with_name(f"{path.name}~{os.getpid()}") if replace else path
        _pin(resource.fileno(), first)
        give_to_owner(first)
        if replace:
            try:
                first.rename(path)
            except OSError as error:
                first.unlink()
                raise BpfError(f"replace the pin `{path}`", error.errno or EINVAL) from None
        return cls(path)

    def keep(self) -> None:
        """Let the pin outlive the `with` block."""
        self._kept = True

    def remove(self) -> None:
        """Remove the name; descriptors and users keep the resource. May be called again."""
        try:
            self.path.unlink(missing_ok=True)
        except OSError as error:
            raise BpfError(f"remove the pin `{self.path}`", error.errno or EINVAL) from None

    def __enter__(self: _Pin) -> _Pin:
        return self

    def __exit__(self, *_: object) -> None:
        if not self._kept:
            self.remove()


def _pin(fd: int, path: Path) -> None:
    with libbpf.captured() as printed:
        result = libbpf.lib().bpf_obj_pin(fd, os.fsencode(path))
    if result < 0:
        raise _not_pinned(path, -result, "\n".join(printed))


def _not_pinned(path: Path, errno: int, log: str) -> BpfError:
    what, directory, fix = f"pin at `{path}`", path.parent, ""
    if not directory.is_dir():
        fix = f"the directory `{directory}` does not exist"
    elif not is_bpffs(directory):  # the kernel says EPERM, as to a missing privilege
        errno, fix = ENOTDIR, f"`{directory}` is not in a bpf file system: {MOUNT}"
    return BpfError(what, errno, log, fix=fix)


def open_pin(path: Path) -> int:
    """A descriptor of whatever is pinned at `path`. Raises BpfError."""
    fixes = {ENOENT: "nothing is pinned there", EPERM: "pins are opened as root, or with CAP_BPF"}
    with libbpf.captured() as printed:
        result = libbpf.lib().bpf_obj_get(os.fsencode(path))
    what = f"open the pin `{path}`"
    return libbpf.check(result, what, "\n".join(printed), fix=fixes.get(-result, ""))


def identity(path: Path) -> str:
    """Kind and kernel's id of what is pinned at `path`: `map 12`, `prog 7`, `link 3`. Raises
    BpfError."""
    descriptor = open_pin(path)
    try:
        about = Path(f"/proc/self/fdinfo/{descriptor}").read_text()
    finally:
        os.close(descriptor)
    found = re.search(r"^(map|prog|link)_id:\s*(\d+)$", about, re.MULTILINE)
    return " ".join(found.groups()) if found is not None else ""


def check_name(path: Path) -> None:
    """The kernel keeps names with a dot in bpffs for itself. Raises BpfError."""
    if "." in path.name:
        raise BpfError(f"pin at `{path}`", EPERM, fix="a name in bpffs may not contain a dot")


def is_bpffs(path: Path) -> bool:
    """Whether `path` exists in a bpf file system."""
    try:
        return filesystem_magic(str(path)) == BPFFS_MAGIC
    except OSError:
        return False


def ensure_bpffs(path: Path = BPFFS) -> Path:
    """Make the directory `path` in a mounted bpf file system; returns it. Raises BpfError."""
    while True:
        # Who removes what was the last pipeline may remove a parent in the meantime.
        with suppress(FileNotFoundError):
            _make_directories(path)
            return path


def _make_directories(path: Path) -> None:
    missing: list[Path] = []
    there = path
    # Path.exists would raise: bpffs answers EPERM to names with a dot.
    while not os.path.exists(there):
        missing.append(there)
        there = there.parent
    for part in missing:
        check_name(part)
    try:
        if filesystem_magic(str(there)) != BPFFS_MAGIC:
            what = f"use `{path}`, which is not in a bpf file system"
            raise BpfError(what, ENOTDIR, fix=MOUNT)
        for part in reversed(missing):
            part.mkdir(mode=0o700, exist_ok=True)
            give_to_owner(part)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise BpfError(f"make the directory `{path}`", error.errno or EINVAL) from None


def remove_directory(path: Path) -> None:
    """Remove a directory of pins with all that is in it; missing is fine. Attached programs whose
    link was pinned only here are detached by it."""
    with suppress(FileNotFoundError):
        for entry in list(path.iterdir()):
            if entry.is_dir() and not entry.is_symlink():
                remove_directory(entry)
            else:
                entry.unlink(missing_ok=True)
        path.rmdir()
