"""Messages between isolated_loader.py and isolated_worker.py: JSON and descriptors. No message can
make the receiver run code."""

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


def send(to: socket.socket, message: Any, descriptors: Sequence[int] = ()) -> None:
    content = json.dumps(message).encode()
    to.sendall(_LENGTHS.pack(len(content), len(descriptors)) + content)
    for first in range(0, len(descriptors), _AT_A_TIME):
        socket.send_fds(to, [b"d"], list(descriptors[first : first + _AT_A_TIME]))


def receive(from_: socket.socket) -> tuple[Any, list[int]]:
    """A message, and descriptors, which the receiver closes. Raises EOFError where the peer is gone
    and ValueError where the message is malformed."""
    length, count = _LENGTHS.unpack(_exactly(from_, _LENGTHS.size))
    if length > _LONGEST:
        raise ValueError
    message, descriptors = json.loads(_exactly(from_, length)), list[int]()
    try:
        while len(descriptors) < count:
            marker, some, _, _ = socket.recv_fds(from_, 1, _AT_A_TIME)
            if not marker:
                raise EOFError
            if not some:
                raise ValueError
            descriptors += some
    except BaseException:
        for descriptor in descriptors:
            os.close(descriptor)
        raise
    return message, descriptors


def _exactly(from_: socket.socket, count: int) -> bytes:
    parts = []
    while count:
        part = from_.recv(min(count, 1 << 20))
        if not part:
            raise EOFError
        parts.append(part)
        count -= len(part)
    return b"".join(parts)
