"""Creates sockets that listen: Unix sockets and TCP."""

from __future__ import annotations

import logging
import os
import re
import socket
from errno import EACCES, EADDRINUSE, EADDRNOTAVAIL, ENOENT, EPERM
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from ...lang.text.diagnostics import Diagnostic
from . import agent_errors as errors
from .errors import refused

_ADDRESS = re.compile(r"(?:\[([0-9a-fA-F:.%]+)\]|([^:\s/]+)):(\d{1,5})")
_BACKLOG = 1024
#: IP_FREEBIND, IPV6_FREEBIND (linux/in.h, linux/in6.h).
_FREEBIND = {socket.AF_INET: (socket.IPPROTO_IP, 15), socket.AF_INET6: (socket.IPPROTO_IPV6, 78)}
_log = logging.getLogger("heliod")


def listen_locally(address: str) -> list[socket.socket]:
    """At `unix:PATH`, or at a port of the loopback interface. Raises `Refused`."""
    need_local_address(address)
    if address.startswith("unix:"):
        # whoever may come to its directory may use it
        return [listen_unix(Path(address.removeprefix("unix:")), 0o111)]
    made = listen(address)
    for each in made:
        if not ip_address(each.getsockname()[0]).is_loopback:
            for other in made:
                other.close()
            raise refused(_not_local(address))
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
        raise refused(_cannot_listen(f"unix:{path}", error)) from None
    finally:
        os.umask(before)
    return made


def remove_stale(path: Path) -> None:
    """Remove a socket at which nobody listens any more. Raises `Refused` if somebody does."""
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            if path.is_socket():  # another file refuses, too
                path.unlink(missing_ok=True)
        except OSError:
            return
        else:
            raise refused(_address_taken(f"unix:{path}", "another process listens there"))


def need_local_address(address: str) -> None:
    """Raises `Refused` where it is neither of the form `unix:PATH` nor `HOST:PORT`."""
    if address == "unix:" or not address.startswith("unix:"):
        need_address(address)


def need_address(address: str) -> re.Match[str]:
    """Raises `Refused` where it is not of the form `HOST:PORT`."""
    found = _ADDRESS.fullmatch(address)
    if found is None or not 0 < int(found[3]) < 1 << 16:
        raise refused(errors.bad_address(address))
    return found


def _server(family: socket.AddressFamily, at: Any) -> socket.socket:
    """Also listens at an address that the host does not have yet: it may come later, and pipelines
    do not wait for it. Raises OSError."""
    made = socket.socket(family, socket.SOCK_STREAM)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, int(at[0] != "::"))
        try:
            made.bind(at)
        except OSError as error:
            if error.errno != EADDRNOTAVAIL:
                raise
            made.setsockopt(*_FREEBIND[family], 1)
            made.bind(at)
            _log.warning("no interface has the address %s: nobody reaches us there", at[0])
        made.listen(_BACKLOG)
    except BaseException:
        made.close()
        raise
    return made


def listen(address: str) -> list[socket.socket]:
    """At `HOST:PORT` or `[IPV6]:PORT`; where a name has several addresses, at each of them. `[::]`
    takes IPv4, too. Raises `Refused`."""
    found = need_address(address)
    host, made = found[1] or found[2], list[socket.socket]()
    try:
        for family, _, _, _, at in socket.getaddrinfo(
            host, int(found[3]), type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        ):
            made.append(_server(family, at))
    except OSError as error:
        for each in made:
            each.close()
        raise refused(_cannot_listen(address, error)) from None
    return made


# ---- errors ---------------------------------------------------------------------------------


def _address_taken(address: str, why: str) -> Diagnostic:
    return Diagnostic("H0767", f"cannot listen at `{address}`: {why}", (),
                      "another agent may be running: `helioctl list` asks it")  # fmt: skip


def _cannot_listen(address: str, error: OSError) -> Diagnostic:
    why = (error.strerror or str(error)).lower()
    help_ = {
        EADDRINUSE: "another agent may be running: `helioctl list` asks it",
        EACCES: "run `heliod` as a user who may: of the directory, or of ports below 1024",
        EPERM: "run `heliod` as a user who may: of the directory, or of ports below 1024",
        ENOENT: "make its directory",
    }.get(error.errno or 0, "say an address of this host")
    return Diagnostic("H0767", f"cannot listen at `{address}`: {why}", (), help_)


def _not_local(address: str) -> Diagnostic:
    return Diagnostic("H0769", f"`{address}` is not an address of the loopback interface", (),
                      "127.0.0.1:PORT, [::1]:PORT, or unix:PATH: who asks there shows no "
                      "certificate")  # fmt: skip
