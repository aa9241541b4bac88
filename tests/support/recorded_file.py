"""A file whose writes and syncs go to a log before they are answered, by FUSE (linux/fuse.h).

python tests/support/recorded_file.py FILE LOG SIZE
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
import sys
from collections.abc import Callable
from pathlib import Path

SECTOR = 512
#: In the log: where it is written, or `SYNCED`, and how many bytes follow.
ENTRY = struct.Struct("<QI")
SYNCED = (1 << 64) - 1

_GETATTR, _OPEN, _READ, _WRITE, _STATFS, _RELEASE, _FSYNC, _FLUSH, _INIT = (
    3,
    14,
    15,
    16,
    17,
    18,
    20,
    25,
    26,
)
_FORGET, _DESTROY, _INTERRUPT = 2, 38, 36
_IN, _OUT = struct.Struct("<IIQQIIIHH"), struct.Struct("<IiQ")
_INIT_OUT, _OPEN_OUT = struct.Struct("<IIIIHHIIHHII6I"), struct.Struct("<QIi")
_ATTR_OUT, _READ_IN = struct.Struct("<QII6Q10I"), struct.Struct("<QQIIQII")
_ASYNC_READ, _BIG_WRITES, _DIRECT = 1, 1 << 5, 1
_LARGEST = 128 << 10
_ROOT = 0o100600  # the mount's root is a file


def serve(file: Path, log: Path, size: int) -> None:
    """Until it is unmounted. Says when it is there."""
    descriptor = os.open("/dev/fuse", os.O_RDWR)
    libc = ctypes.CDLL(None, use_errno=True)
    options = f"fd={descriptor},rootmode={_ROOT:o},user_id=0,group_id=0".encode()
    if libc.mount(b"helio-disk", os.fsencode(file), b"fuse.helio-disk", 0, options):
        raise OSError(ctypes.get_errno(), "mount")
    sys.stdout.write("served\n")
    sys.stdout.flush()
    content = bytearray(size)
    with log.open("ab", buffering=0) as to:
        while True:
            try:
                request = os.read(descriptor, _LARGEST + 4096)
            except OSError as error:
                if error.errno == errno.ENODEV:  # it is unmounted
                    return
                raise
            _, kind, unique, *_ = _IN.unpack_from(request)
            if kind in (_FORGET, _INTERRUPT):
                continue
            failed, answer = _answer(kind, request[_IN.size :], content, to.write)
            os.write(descriptor, _OUT.pack(_OUT.size + len(answer), -failed, unique) + answer)
            if kind == _DESTROY:
                return


def _answer(
    kind: int, asked: bytes, content: bytearray, record: Callable[[bytes], object]
) -> tuple[int, bytes]:
    if kind == _INIT:
        flags = _ASYNC_READ | _BIG_WRITES
        return 0, _INIT_OUT.pack(7, 31, 0, flags, 16, 12, _LARGEST, 1, 0, 0, 0, 0, *[0] * 6)
    if kind == _GETATTR:
        size, blocks = len(content), len(content) // SECTOR
        return 0, _ATTR_OUT.pack(
            0, 0, 0, 1, size, blocks, 0, 0, 0, 0, 0, 0, _ROOT, 1, 0, 0, 0, 4096, 0
        )
    if kind == _OPEN:
        return 0, _OPEN_OUT.pack(0, _DIRECT, 0)
    if kind in (_READ, _WRITE):
        _, at, size, *_ = _READ_IN.unpack_from(asked)
        if kind == _READ:
            return 0, bytes(content[at : at + size])
        written = asked[_READ_IN.size : _READ_IN.size + size]
        content[at : at + size] = written
        record(ENTRY.pack(at, size) + written)
        return 0, struct.pack("<II", size, 0)
    if kind == _FSYNC:
        record(ENTRY.pack(SYNCED, 0))
    return (0 if kind in (_RELEASE, _FSYNC, _FLUSH, _DESTROY) else errno.ENOSYS), b""


if __name__ == "__main__":
    serve(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))
