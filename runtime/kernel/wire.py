"""What goes between a process and the one that opens an object for it (apart.py): JSON, and
descriptors. Nothing of it can make the receiver run anything."""

from __future__ import annotations

import json
import os
import socket
import struct
from collections.abc import Sequence
from typing import Any

_LENGTHS = struct.Struct("<II")
_LONGEST = 1 << 30
#: Descriptors that the kernel passes in one go.
_AT_A_TIME = 200


def send(to: socket.socket, said: Any, descriptors: Sequence[int] = ()) -> None:
    octets = json.dumps(said).encode()
    to.sendall(_LENGTHS.pack(len(octets), len(descriptors)) + octets)
    for first in range(0, len(descriptors), _AT_A_TIME):
        socket.send_fds(to, [b"d"], list(descriptors[first : first + _AT_A_TIME]))


def receive(from_: socket.socket) -> tuple[Any, list[int]]:
    """What was said, and descriptors, which are the receiver's to close. Raises EOFError where the
    other is gone, and ValueError where it has lost its mind."""
    length, count = _LENGTHS.unpack(_exactly(from_, _LENGTHS.size))
    if length > _LONGEST:
        raise ValueError
    said, descriptors = json.loads(_exactly(from_, length)), list[int]()
    try:
        while len(descriptors) < count:
            octet, some, _, _ = socket.recv_fds(from_, 1, _AT_A_TIME)
            if not octet:
                raise EOFError
            if not some:
                raise ValueError
            descriptors += some
    except BaseException:
        for descriptor in descriptors:
            os.close(descriptor)
        raise
    return said, descriptors


def _exactly(from_: socket.socket, count: int) -> bytes:
    parts = []
    while count:
        part = from_.recv(min(count, 1 << 20))
        if not part:
            raise EOFError
        parts.append(part)
        count -= len(part)
    return b"".join(parts)
