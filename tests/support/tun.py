"""A tun device: a network interface without a link header, whose other end is a file."""

from __future__ import annotations

import fcntl
import os
import select
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic

from lab import PATIENCE, Namespace

_TUNSETIFF = 0x400454CA
_TUN, _NO_PACKET_INFORMATION = 1, 0x1000  # IFF_TUN, IFF_NO_PI


class Tun:
    """What is written comes in by the device; what leaves by it can be read."""

    def __init__(self, file: int) -> None:
        self._file = file

    def send(self, packet: bytes) -> None:
        os.write(self._file, packet)

    def expect(self, matches: Callable[[bytes], bool], seconds: float = PATIENCE) -> bytes:
        """The first such packet that leaves."""
        end = monotonic() + seconds
        while select.select([self._file], [], [], max(0, end - monotonic()))[0]:
            packet = os.read(self._file, 65536)
            if matches(packet):
                return packet
        raise AssertionError("no such packet")


@contextmanager
def tun(room: Namespace, device: str, *addresses: str) -> Iterator[Tun]:
    """Up, with these addresses."""

    def opened() -> int:
        file = os.open("/dev/net/tun", os.O_RDWR)
        flags = _TUN | _NO_PACKET_INFORMATION
        fcntl.ioctl(file, _TUNSETIFF, struct.pack("16sH22x", device.encode(), flags))
        return file

    file = room.inside_thread(opened)
    try:
        room.ip("link", "set", device, "up")
        room.address(device, *addresses)
        yield Tun(file)
    finally:
        os.close(file)
