"""Reports by netlink that interfaces, addresses, routes or neighbours changed.

The kernel sends a message for each change; only its topic is used, and the caller reads the current
state. So a storm of changes costs one query, and where the kernel dropped messages (ENOBUFS)
everything counts as changed.

Constants are those of linux/rtnetlink.h and netlink.h.
"""

from __future__ import annotations

import os
import select
import socket
import struct
from contextlib import suppress
from errno import EAGAIN, EINTR, ENOBUFS
from typing import Literal

Topic = Literal["links", "addresses", "routes", "neighbours"]
EVERYTHING: frozenset[Topic] = frozenset(("links", "addresses", "routes", "neighbours"))

_HEADER = struct.Struct("=IHHII")
_SOL_NETLINK, _ADD_MEMBERSHIP = 270, 1
# RTNLGRP_*: link, neighbours, addresses, routes and rules of both families, next hops.
_GROUPS = (1, 3, 5, 9, 7, 11, 8, 19, 32)
# RTM_NEW*, and DEL* behind it.
_TOPICS: dict[int, Topic] = {
    16: "links", 20: "addresses", 24: "routes", 28: "neighbours", 32: "routes", 104: "routes",
}  # fmt: skip
#: Bytes of messages that may be queued (the kernel doubles it); more are dropped.
_BUFFER = 1 << 20
_MOST = 4096  # datagrams in one go: then the state is read, whatever else comes


class Monitor:
    """Watches the network namespace in which it was created."""

    def __init__(self, buffer: int = _BUFFER, also: tuple[int, ...] = ()) -> None:
        """`also`: other descriptors that end waiting once they are readable."""
        flags = socket.SOCK_RAW | socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK
        self._socket = socket.socket(socket.AF_NETLINK, flags, socket.NETLINK_ROUTE)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        self._socket.bind((0, 0))
        for group in _GROUPS:
            self._socket.setsockopt(_SOL_NETLINK, _ADD_MEMBERSHIP, group)
        self._woken = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._poll = select.poll()
        for descriptor in (self._socket.fileno(), self._woken, *also):
            self._poll.register(descriptor, select.POLLIN)

    def close(self) -> None:
        self._socket.close()
        os.close(self._woken)

    def wake(self) -> None:
        """Let `wait` return; from any thread."""
        os.eventfd_write(self._woken, 1)

    def wait(self, seconds: float) -> None:
        """Until something changed, `wake` was called, or the time has passed."""
        self._poll.poll(max(0.0, seconds) * 1000)

    def changed(self) -> frozenset[Topic]:
        """The topics that changed since the last call; does not wait."""
        found: set[Topic] = set()
        with suppress(BlockingIOError):
            os.eventfd_read(self._woken)
        for _ in range(_MOST):
            try:
                found |= _topics(self._socket.recv(1 << 16))
            except OSError as error:
                if error.errno == EAGAIN:
                    return frozenset(found)
                if error.errno not in (ENOBUFS, EINTR):
                    raise
                if error.errno == ENOBUFS:
                    found |= EVERYTHING
        return EVERYTHING


def _topics(data: bytes) -> set[Topic]:
    found, at = set[Topic](), 0
    while at + _HEADER.size <= len(data):
        size, kind, _, _, _ = _HEADER.unpack_from(data, at)
        if topic := _TOPICS.get(kind & ~1):
            found.add(topic)
        at += max(_HEADER.size, (size + 3) & ~3)
    return found
