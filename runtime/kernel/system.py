"""System calls that Python has no function for."""

from __future__ import annotations

import ctypes
import os
import platform
import time
from collections.abc import Callable
from ctypes import byref, c_int, c_int64, c_long, c_uint32, c_uint64
from functools import cache
from pathlib import Path

ENOTSUPP = 524  # the kernel's own "not supported", which libc has no name for
BPFFS_MAGIC = 0xCAFE4A11
_SYNC_FILE_RANGE_WRITE = 2
_ABSTIME, _CANCEL_ON_SET = 1, 2  # TFD_TIMER_*, linux/timerfd.h
_FAR = 1 << 40  # seconds since 1970: never
_MEMBARRIER_NUMBER = {"x86_64": 324, "aarch64": 283, "riscv64": 283, "s390x": 356, "ppc64le": 365}


class _Timex(ctypes.Structure):
    """struct timex (linux/timex.h), up to `status`."""

    _fields_ = (
        ("modes", ctypes.c_uint), ("offset", c_long), ("freq", c_long), ("maxerror", c_long),
        ("esterror", c_long), ("status", c_int), ("_rest", ctypes.c_char * 256),
    )  # fmt: skip


class _Timer(ctypes.Structure):
    """struct itimerspec."""

    _fields_ = (("interval", c_long * 2), ("value", c_long * 2))


@cache
def libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def current_cpu() -> int:
    """The CPU this thread runs on at this moment."""
    cpu: int = libc().sched_getcpu()
    return cpu


def membarrier_global() -> int:
    """membarrier(MEMBARRIER_CMD_GLOBAL), which synchronizes RCU where there are several CPUs: 0, or
    a positive error number."""
    number = _MEMBARRIER_NUMBER.get(platform.machine())
    if number is None:
        return ENOTSUPP
    return ctypes.get_errno() if libc().syscall(c_long(number), c_int(1), c_int(0), c_int(0)) else 0


@cache
def _sync_file_range() -> Callable[[int, int, int, int], int]:
    call = libc().sync_file_range
    call.argtypes = c_int, c_int64, c_int64, c_uint32
    return call


def begin_writing(descriptor: int) -> None:
    """sync_file_range(2): have what was written to a file begin its way to the disk. It is there,
    and an error is told, by the next fdatasync."""
    _sync_file_range()(descriptor, 0, 0, _SYNC_FILE_RANGE_WRITE)


def malloc_trim() -> None:
    """Give the system back what no object has, where the C library is glibc."""
    if (trim := getattr(libc(), "malloc_trim", None)) is not None:
        trim(0)


class _Mallinfo2(ctypes.Structure):
    """malloc.h, of glibc 2.33 on: `fordblks` is what is free."""

    _fields_ = tuple(
        (name, ctypes.c_size_t)
        for name in ("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks",
                     "uordblks", "fordblks", "keepcost")
    )  # fmt: skip


def malloc_free() -> int:
    """Bytes that the C library keeps and no object has; 0: unknown."""
    if (ask := getattr(libc(), "mallinfo2", None)) is None:
        return 0
    ask.restype = _Mallinfo2
    found: int = ask().fordblks
    return found


def prctl(option: int, *arguments: int) -> int:
    """prctl(2). Raises OSError."""
    words = [c_long(each) for each in (*arguments, 0, 0, 0, 0)[:4]]
    result: int = libc().prctl(c_int(option), *words)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), "prctl")
    return result


def set_capabilities(mask: int, inheritable: int = 0) -> None:
    """capset(2): this thread may do that, by a bit for each capability. Programs that it starts get
    nothing from it but what is inheritable and ambient. Raises OSError."""
    header = (c_uint32 * 2)(0x20080522, 0)  # _LINUX_CAPABILITY_VERSION_3
    low, high = mask & 0xFFFFFFFF, mask >> 32
    more, most = inheritable & 0xFFFFFFFF, inheritable >> 32
    sets = (c_uint32 * 6)(low, low, more, high, high, most)  # effective, permitted, inheritable
    if libc().capset(byref(header), byref(sets)):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), "capset")


def give_to_owner(path: Path) -> None:
    """Where we are root, and a directory is another user's, so is what we make there: else that
    user could not open it."""
    if os.geteuid():
        return
    owner = path.parent.stat()
    # That user may have put a link there, to a file that is none of its own.
    if owner.st_uid and (path.lstat().st_nlink == 1 or path.is_dir()):
        os.chown(path, owner.st_uid, owner.st_gid, follow_symlinks=False)


def filesystem_magic(path: str) -> int:
    """`statfs.f_type` of the file system that holds `path`. Raises OSError."""
    result = (c_uint64 * 32)()
    if libc().statfs(os.fsencode(path), byref(result)):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), path)
    return int(result[0]) & 0xFFFFFFFF


def adjtimex() -> tuple[int, int]:
    """adjtimex(2), which changes nothing here: the largest error of CLOCK_REALTIME, in µs, and
    STA_* bits. Raises OSError."""
    timex = _Timex()
    _checked(libc().adjtimex(byref(timex)), "adjtimex")
    return int(timex.maxerror), int(timex.status)


def step_timer() -> int:
    """timerfd_create(2) of CLOCK_REALTIME: a descriptor that blocks nobody. Raises OSError."""
    flags = os.O_CLOEXEC | os.O_NONBLOCK
    return _checked(libc().timerfd_create(time.CLOCK_REALTIME, flags), "timerfd_create")


def arm_step_timer(timer: int) -> None:
    """timerfd_settime(2): a read of the timer fails with ECANCELED once somebody sets the clock.
    Raises OSError."""
    never = _Timer(value=(_FAR, 0))
    done = libc().timerfd_settime(timer, _ABSTIME | _CANCEL_ON_SET, byref(never), None)
    _checked(done, "timerfd_settime")


def _checked(result: int, call: str) -> int:
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, f"{call}: {os.strerror(error)}")
    return result
