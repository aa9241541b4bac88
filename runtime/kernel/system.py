"""System calls that Python has no function for."""

from __future__ import annotations

import ctypes
import os
import platform
from ctypes import byref, c_int, c_long, c_uint32, c_uint64
from functools import cache

ENOTSUPP = 524  # the kernel's own "not supported", which libc has no name for
BPFFS_MAGIC = 0xCAFE4A11
_MEMBARRIER_NUMBER = {"x86_64": 324, "aarch64": 283, "riscv64": 283, "s390x": 356, "ppc64le": 365}


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


def prctl(option: int, *arguments: int) -> int:
    """prctl(2). Raises OSError."""
    words = [c_long(each) for each in (*arguments, 0, 0, 0, 0)[:4]]
    result: int = libc().prctl(c_int(option), *words)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), "prctl")
    return result


def set_capabilities(mask: int) -> None:
    """capset(2): this thread may do that, by a bit for each capability, and programs that it starts
    get nothing from it. Raises OSError."""
    header = (c_uint32 * 2)(0x20080522, 0)  # _LINUX_CAPABILITY_VERSION_3
    low, high = mask & 0xFFFFFFFF, mask >> 32
    sets = (c_uint32 * 6)(low, low, 0, high, high, 0)  # effective, permitted, inheritable
    if libc().capset(byref(header), byref(sets)):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), "capset")


def filesystem_magic(path: str) -> int:
    """`statfs.f_type` of the file system that holds `path`. Raises OSError."""
    result = (c_uint64 * 32)()
    if libc().statfs(os.fsencode(path), byref(result)):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), path)
    return int(result[0]) & 0xFFFFFFFF
