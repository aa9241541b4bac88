"""Connects to servers: a Unix socket, or TCP with mutual TLS or without."""

from __future__ import annotations

import os
import re
import socket
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from struct import pack
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import ssl

_UNIX = "unix:"
_TCP = re.compile(r"(?:\[([0-9a-fA-F:.%]+)\]|([^:\s/\[\]]+)):(\d{1,5})")
#: A server that is gone without a word is known to be after _GONE seconds, also where nothing is
#: sent; then the kernel asks it every _ASK seconds.
_GONE, _ASK = 20, 5
_TCP_OPTIONS = (
    (socket.TCP_NODELAY, 1), (socket.TCP_USER_TIMEOUT, _GONE * 1000),
    (socket.TCP_KEEPIDLE, _GONE - 2 * _ASK), (socket.TCP_KEEPINTVL, _ASK),
)  # fmt: skip
#: Connects within a number of seconds. Raises OSError.
Connect = Callable[[float], socket.socket]


class Tls(NamedTuple):
    """What the client shows, and whom it trusts: certificates and a key in PEM. `server_name`: what
    the server's certificate must say; if empty, what the address does."""

    authority: bytes
    certificate: bytes
    key: bytes
    server_name: str


def connector(address: str, tls: Tls | None) -> tuple[Connect, str]:
    """To `unix:PATH`, `HOST:PORT` or `[IPV6]:PORT`; and what HTTP calls its authority. Raises
    ValueError where it is no such address, OSError (ssl.SSLError is one) where TLS cannot be."""
    if address.startswith(_UNIX):
        name = "localhost"
        plain = partial(_unix, address.removeprefix(_UNIX))
        authority = name
    else:
        found = _TCP.fullmatch(address)
        if found is None or not 0 < int(found[3]) < 1 << 16:
            raise ValueError(address)
        name, authority = found[1] or found[2], address
        plain = partial(_tcp, (name, int(found[3])))
    if tls is None:
        return plain, authority
    return partial(_secure, plain, _context(tls), tls.server_name or name), authority


def _unix(path: str, seconds: float) -> socket.socket:
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        # A blocking connect waits for a place in a full backlog; another one fails with EAGAIN.
        limit = pack("@ll", int(seconds), int(seconds % 1 * 1e6))  # struct timeval
        made.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, limit)
        made.connect(path)
    except BlockingIOError:
        made.close()
        raise TimeoutError from None
    except BaseException:
        made.close()
        raise
    return made


def _tcp(at: tuple[str, int], seconds: float) -> socket.socket:
    made = _connected(at, seconds)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in _TCP_OPTIONS:
        made.setsockopt(socket.IPPROTO_TCP, option, value)
    return made


def _connected(at: tuple[str, int], seconds: float) -> socket.socket:
    """By the first of the host's addresses that answers; each has its share of the time."""
    until, why = time.monotonic() + seconds, OSError("it has no address")
    found = socket.getaddrinfo(*at, type=socket.SOCK_STREAM)
    for left, (family, *_, address) in zip(range(len(found), 0, -1), found, strict=True):
        try:
            return _reach(family, address, max(0.001, (until - time.monotonic()) / left))
        except OSError as error:
            why = error
    raise why


def _reach(family: int, address: Any, seconds: float) -> socket.socket:
    made = socket.socket(family, socket.SOCK_STREAM)
    try:
        made.settimeout(seconds)
        made.connect(address)
    except BaseException:
        made.close()
        raise
    return made


def _secure(connect: Connect, context: ssl.SSLContext, name: str, seconds: float) -> socket.socket:
    until = time.monotonic() + seconds
    plain = connect(seconds)
    try:
        made = context.wrap_socket(plain, server_hostname=name, do_handshake_on_connect=False)
    except BaseException:
        plain.close()
        raise
    try:
        made.settimeout(max(0.001, until - time.monotonic()))
        made.do_handshake()
        if made.selected_alpn_protocol() != "h2":
            raise ConnectionError("it does not speak HTTP/2")
    except BaseException:
        made.close()
        raise
    return made


def _context(tls: Tls) -> ssl.SSLContext:
    import ssl  # none by a Unix socket

    made = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    made.minimum_version = ssl.TLSVersion.TLSv1_2
    # A server's own certificate may be trusted, whoever issued it.
    made.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    made.load_verify_locations(cadata=tls.authority.decode("ascii", "replace"))
    made.set_alpn_protocols(["h2"])
    with ExitStack() as owned:
        files = [_file(data, owned) for data in (tls.certificate, tls.key)]
        made.load_cert_chain(*files)
    return made


def _file(data: bytes, owned: ExitStack) -> str:
    """OpenSSL reads them from files alone: one in memory."""
    made = os.memfd_create("helio", os.MFD_CLOEXEC)
    owned.callback(os.close, made)
    os.write(made, data)
    return f"/proc/self/fd/{made}"
