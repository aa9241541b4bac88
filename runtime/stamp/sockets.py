"""Raw sockets that send whole packets, IPv4 and IPv6.

Not UDP sockets with a routing header (IPV6_RTHDR, type 4): the kernel takes one only where it was
built with seg6, a bound port below 1024 takes a capability that the agent has not, a process of the
host may have the port, and what is left of the answers would gather there.
"""

from __future__ import annotations

import socket
from ipaddress import ip_address

from .packets import TestPacket

_ANY_PORT = 9  # discard: of a socket that only asks for a route


class Sockets:
    """Of the network namespace in which they are opened, one for each version of IP."""

    def __init__(self) -> None:
        self._by_version: dict[int, socket.socket] = {}

    def open(self, version: int) -> socket.socket:
        """Raises OSError."""
        found = self._by_version.get(version)
        if found is None:
            family = socket.AF_INET if version == 4 else socket.AF_INET6
            kind = socket.SOCK_RAW | socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK
            found = socket.socket(family, kind, socket.IPPROTO_RAW)
            found = self._by_version.setdefault(version, found)
        return found

    def send(self, packet: TestPacket, number: int) -> None:
        """It leaves with the time of this moment. Raises OSError."""
        sock, to = self.open(packet.version), (packet.destination, 0)
        sock.sendto(packet.at_this_moment(number), to)

    def close(self) -> None:
        for each in self._by_version.values():
            each.close()


def source_for(destination: str) -> str:
    """The address of this host from which a packet there is sent. Raises OSError."""
    version = ip_address(destination).version
    family = socket.AF_INET if version == 4 else socket.AF_INET6
    with socket.socket(family, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as probe:
        probe.connect((destination, _ANY_PORT))
        return str(probe.getsockname()[0])
