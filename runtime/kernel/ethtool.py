"""What a driver says of an interface (ioctl SIOCETHTOOL, linux/ethtool.h)."""

from __future__ import annotations

import fcntl
import socket
import struct
from array import array
from typing import NamedTuple

_SIOCETHTOOL = 0x8946
_GSTRINGS, _GSTATS, _GFLAGS, _GSSET_INFO, _STATS = 0x1B, 0x1D, 0x25, 0x37, 1
_NAME = 32  # ETH_GSTRING_LEN
_TXVLAN, _RXVLAN = 1 << 7, 1 << 8  # enum ethtool_flags


class VlanOffload(NamedTuple):
    """Whether VLAN tags stand beside frames that are `received`, or that are `sent`."""

    received: bool
    sent: bool


def statistics(interface: str) -> dict[str, int]:
    """The driver's own statistics, as `ethtool -S` shows them, by its names for them; empty where
    it has none, or there is no such interface."""
    try:
        mask, count = struct.unpack_from(
            "=QI", _ask(interface, struct.pack("=IIQ", _GSSET_INFO, 0, 1 << _STATS), 4), 8
        )
        if not mask or not count:
            return {}
        head = struct.pack("=III", _GSTRINGS, _STATS, count)
        names = _ask(interface, head, _NAME * count)[len(head) :]
        head = struct.pack("=II", _GSTATS, count)
        values = struct.unpack_from(f"={count}Q", _ask(interface, head, 8 * count), len(head))
    except OSError:
        return {}
    words = (names[at : at + _NAME] for at in range(0, _NAME * count, _NAME))
    spelled = (word.split(b"\0")[0].decode(errors="replace") for word in words)
    return dict(zip(spelled, values, strict=True))


def vlan_offload(interface: str) -> VlanOffload:
    """`rx-vlan-offload` and `tx-vlan-offload` of `ethtool -k`; off where nobody says."""
    try:
        (flags,) = struct.unpack_from("=I", _ask(interface, struct.pack("=I", _GFLAGS), 4), 4)
    except OSError:
        flags = 0
    return VlanOffload(bool(flags & _RXVLAN), bool(flags & _TXVLAN))


def _ask(interface: str, head: bytes, space: int) -> bytes:
    """A command, with `space` bytes for the answer behind it. Raises OSError."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as endpoint:
        data = array("B", head + bytes(space))
        name = interface.encode()[:15].ljust(16, b"\0")
        request = struct.pack("=16sQ", name, data.buffer_info()[0]).ljust(40, b"\0")
        fcntl.ioctl(endpoint, _SIOCETHTOOL, request)
        return data.tobytes()
