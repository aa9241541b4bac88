"""Sockets that listen."""

from __future__ import annotations

import os
import re
import socket
from ipaddress import ip_address
from pathlib import Path

from .agent import faults
from .faults import refused

_ADDRESS = re.compile(r"(?:\[([0-9a-fA-F:.%]+)\]|([^:\s/]+)):(\d{1,5})")
_BACKLOG = 1024


def listen_locally(address: str) -> list[socket.socket]:
    """At `unix:PATH`, or at a port of the loopback interface. Raises `Refused`."""
    if address.startswith("unix:"):
        # whoever may come to its directory may use it
        return [listen_unix(Path(address.removeprefix("unix:")), 0o111)]
    made = listen(address)
    for each in made:
        if not ip_address(each.getsockname()[0]).is_loopback:
            for other in made:
                other.close()
            raise refused(faults.not_local(address))
    return made


def listen_unix(path: Path, mask: int) -> socket.socket:
    """`mask`: permissions that the socket does not get. Raises `Refused`."""
    remove_stale(path)
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(mask)
    try:
        made.bind(str(path))
        made.listen(_BACKLOG)
    except OSError as error:
        made.close()
        raise refused(faults.address_taken(f"unix:{path}", why(error))) from None
    finally:
        os.umask(before)
    return made


def remove_stale(path: Path) -> None:
    """Remove a socket at which nobody listens any more. Raises `Refused` if somebody does."""
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            path.unlink(missing_ok=True)
        except OSError:
            return
        else:
            raise refused(faults.address_taken(f"unix:{path}", "another process listens there"))


def need_address(address: str) -> re.Match[str]:
    """Raises `Refused` where it is not of the form `HOST:PORT`."""
    if (found := _ADDRESS.fullmatch(address)) is None:
        raise refused(faults.bad_address(address))
    return found


def why(error: OSError | OverflowError) -> str:
    return (getattr(error, "strerror", "") or str(error)).lower()


def listen(address: str) -> list[socket.socket]:
    """At `HOST:PORT` or `[IPV6]:PORT`; where a name has several addresses, at each of them. `[::]`
    takes IPv4, too. Raises `Refused`."""
    found = need_address(address)
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
        raise refused(faults.address_taken(address, why(error))) from None
    return made
