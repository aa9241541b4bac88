"""Sockets that listen by TCP."""

from __future__ import annotations

import re
import socket

from .agent import faults
from .faults import refused

_ADDRESS = re.compile(r"(?:\[([0-9a-fA-F:.%]+)\]|([^:\s/]+)):(\d{1,5})")
_BACKLOG = 1024


def listen(address: str) -> list[socket.socket]:
    """At `HOST:PORT` or `[IPV6]:PORT`; where a name has several addresses, at each of them. `[::]`
    takes IPv4, too. Raises `Refused`."""
    if (found := _ADDRESS.fullmatch(address)) is None:
        raise refused(faults.bad_address(address))
    host, made = found[1] or found[2], list[socket.socket]()
    try:
        for family, _, _, _, at in socket.getaddrinfo(
            host, int(found[3]), type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        ):
            both = family == socket.AF_INET6 and at[0] == "::"
            made.append(
                socket.create_server(at, family=family, backlog=_BACKLOG, dualstack_ipv6=both)
            )
    except (OSError, OverflowError) as error:
        for each in made:
            each.close()
        why = (getattr(error, "strerror", "") or str(error)).lower()
        raise refused(faults.address_taken(address, why)) from None
    return made
