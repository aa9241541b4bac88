"""A driver's own statistics of an interface: those that `ethtool -S` shows."""

from __future__ import annotations

import fcntl
import socket
import struct
from array import array

_SIOCETHTOOL = 0x8946
_GSTRINGS, _GSTATS, _GSSET_INFO, _STATS = 0x1B, 0x1D, 0x37, 1  # linux/ethtool.h
_NAME = 32  # ETH_GSTRING_LEN


def statistics(interface: str) -> dict[str, int]:
    """By the driver's names for them; empty where it has none, or there is no such interface."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as endpoint:

        def ask(head: bytes, space: int) -> bytes:
            data = array("B", head + bytes(space))
            name = interface.encode()[:15].ljust(16, b"\0")
            request = struct.pack("=16sQ", name, data.buffer_info()[0]).ljust(40, b"\0")
            fcntl.ioctl(endpoint, _SIOCETHTOOL, request)
            return data.tobytes()

        try:
            mask, count = struct.unpack_from(
                "=QI", ask(struct.pack("=IIQ", _GSSET_INFO, 0, 1 << _STATS), 4), 8
            )
            if not mask or not count:
                return {}
            head = struct.pack("=III", _GSTRINGS, _STATS, count)
            names = ask(head, _NAME * count)[len(head) :]
            head = struct.pack("=II", _GSTATS, count)
            values = struct.unpack_from(f"={count}Q", ask(head, 8 * count), len(head))
        except OSError:
            return {}
    words = (names[at : at + _NAME] for at in range(0, _NAME * count, _NAME))
    spelled = (word.split(b"\0")[0].decode(errors="replace") for word in words)
    return dict(zip(spelled, values, strict=True))
