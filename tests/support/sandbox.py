"""Run a program as a unit for systemd would have it run, where there is no systemd.

sandbox.py CALLS PROGRAM… as `words` puts it: in a mount namespace where all is read-only but one
directory, /run and bpffs; with no memory that is both written and executed, where the kernel knows
of that; killed by any system call but CALLS, which are numbers with commas (none: by none).
"""

from __future__ import annotations

import ctypes
import os
import platform
import re
import struct
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

_NUMBERS = Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h")
_KILL, _ALLOW = 0x80000000, 0x7FFF0000  # SECCOMP_RET_*
_MDWE, _NO_NEW_PRIVS, _SECCOMP, _BY_FILTER = 65, 38, 22, 2
_READ_ONLY = """
for each in "$1" /run /sys/fs/bpf; do mount --bind "$each" "$each" || exit 99; done
mount -o remount,ro,bind / && ! touch /etc/written 2>/dev/null && shift && exec "$@"
"""


def calls_of(needed: Sequence[str], analyze: str) -> list[int]:
    """The numbers of a SystemCallFilter's calls; none where they are unknown."""
    if platform.machine() != "x86_64":
        return []
    said = subprocess.run([analyze, "syscall-filter", "--no-pager"], capture_output=True,
                          text=True, check=True).stdout  # fmt: skip
    sets: dict[str, list[str]] = {}
    for line in re.sub(r"\x1b\[[0-9;]*m", "", said).splitlines():
        if line[:1] in "@#":
            members = sets.setdefault(line.strip(), [])
        elif line.strip() and not line.strip().startswith("#"):
            members.append(line.strip())

    def names(of: Sequence[str]) -> Iterator[str]:
        for name in of:
            if name[0] == "@":
                yield from names(sets[name])
            else:
                yield name

    numbers = dict(re.findall(r"#define __NR_(\w+) (\d+)", _NUMBERS.read_text()))
    return sorted({int(numbers[name]) for name in names(needed) if name in numbers})


def words(directory: Path, calls: Sequence[int]) -> list[str]:
    """What to put in front of a program."""
    mine = [sys.executable, __file__, ",".join(map(str, calls))]
    return ["unshare", "-m", "sh", "-c", _READ_ONLY, "sh", str(directory), *mine]


def _confine(calls: Sequence[int]) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    version = tuple(map(int, re.findall(r"\d+", os.uname().release)[:2]))
    if version >= (6, 3) and libc.prctl(_MDWE, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "PR_SET_MDWE")
    if calls:
        # struct sock_filter: load the call's number, then a comparison and a return for each
        code = struct.pack("=HBBI", 0x20, 0, 0, 0)
        for number in calls:
            code += struct.pack("=HBBI", 0x15, 0, 1, number) + struct.pack("=HBBI", 6, 0, 0, _ALLOW)
        code += struct.pack("=HBBI", 6, 0, 0, _KILL)
        memory = ctypes.create_string_buffer(code)
        program = struct.pack("HxxxxxxP", len(code) // 8, ctypes.addressof(memory))
        libc.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0)
        if libc.prctl(_SECCOMP, _BY_FILTER, ctypes.c_char_p(program), 0, 0):
            raise OSError(ctypes.get_errno(), "PR_SET_SECCOMP")


if __name__ == "__main__":
    _confine([int(each) for each in sys.argv[1].split(",") if each])
    os.execv(sys.argv[2], sys.argv[2:])
