"""Sends probes, ICMP echoes (RFC 792) within GRE (RFC 2784, 2890), and receives the answers.

A probe leaves as the overlay's packets do: between its ends, by its port, with its key. Any peer
decapsulates it, and its kernel answers, through the tunnel or beside it, as its routes have it. The
data path decapsulates what comes through a known overlay for the host itself, so that answers on
either way come to one ICMP socket.
"""

from __future__ import annotations

import os
import secrets
import socket
import struct
import time
from collections.abc import Iterator
from dataclasses import dataclass
from errno import EAGAIN, EINTR
from hashlib import blake2b

_IPV4 = struct.Struct("!BBHHHBBH4s4s")
_GRE, _GRE_KEYED, _KEY_PRESENT, _IPV4_IN_GRE = 4, 8, 0x2000, 0x0800
_ICMP = struct.Struct("!BBHHH")
# Ours: an authentication code of the rest, which overlay, number, when sent (ns).
_CODE, _ASKED = 8, struct.Struct("!IQQ")
_ECHO_REPLY, _ECHO = 0, 8
_CS6 = 0xC0  # internetwork control (RFC 2474): probes are not what queues are full of
_TTL = 64
_IP_PKTINFO, _SOL_RAW, _ICMP_FILTER, _SO_TIMESTAMPNS = 8, 255, 1, 35
_PKTINFO = struct.Struct("=i4s4s")
_TIMESPEC = struct.Struct("=qq")


@dataclass(frozen=True)
class Path:
    """Where an overlay's probes go. Addresses are 4 bytes each; `key`: None without one."""

    ifindex: int
    local: bytes
    remote: bytes
    key: int | None
    source: bytes
    target: bytes


@dataclass(frozen=True)
class Answer:
    """`delay` in seconds."""

    which: int
    number: int
    delay: float


class Echoes:
    """Two sockets of the network namespace in which it was made. Raises OSError."""

    def __init__(self) -> None:
        kind = socket.SOCK_RAW | socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK
        self._out = socket.socket(socket.AF_INET, kind, socket.IPPROTO_RAW)
        try:
            self._in = socket.socket(socket.AF_INET, kind, socket.IPPROTO_ICMP)
        except OSError:
            self._out.close()
            raise
        only = struct.pack("=I", 0xFFFFFFFF ^ 1 << _ECHO_REPLY)
        self._in.setsockopt(_SOL_RAW, _ICMP_FILTER, only)
        self._in.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
        # Nobody else can know it, so that an answer is one to a probe of ours: to this one, for who
        # sees those of one overlay must not answer those of others.
        self._key = secrets.token_bytes(16)
        self._id = os.getpid() & 0xFFFF
        # What the kernel keeps for us at most: a packet counts as 512 bytes and more.
        self._most = self._in.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF) // 512 + 1

    def fileno(self) -> int:
        """Readable when there may be answers."""
        return self._in.fileno()

    def close(self) -> None:
        self._out.close()
        self._in.close()

    def send(self, path: Path, which: int, number: int) -> None:
        """Send a probe of the overlay that the caller calls `which`. Raises OSError."""
        asked = _ASKED.pack(which, number, time.monotonic_ns())
        data = packet(path, self._id, number & 0xFFFF, self._code(asked) + asked)
        info = _PKTINFO.pack(path.ifindex, path.local, bytes(4))
        to = socket.inet_ntoa(path.remote), 0
        self._out.sendmsg([data], [(socket.IPPROTO_IP, _IP_PKTINFO, info)], 0, to)

    def _code(self, asked: bytes) -> bytes:
        return blake2b(asked, digest_size=_CODE, key=self._key).digest()

    def answers(self) -> Iterator[Answer]:
        """Those that have come by now; does not wait, nor for the end of a flood."""
        for _ in range(self._most):
            try:
                data, about, _, _ = self._in.recvmsg(2048, 64)
            except OSError as error:
                if error.errno in (EAGAIN, EINTR):
                    return
                raise
            if found := self._read(data, about):
                yield found

    def _read(self, data: bytes, about: list[tuple[int, int, bytes]]) -> Answer | None:
        at = (data[0] & 15) * 4 + _ICMP.size if data else 0
        if len(data) < at + _CODE + _ASKED.size:
            return None
        asked = data[at + _CODE : at + _CODE + _ASKED.size]
        if not secrets.compare_digest(data[at : at + _CODE], self._code(asked)):
            return None
        which, number, sent = _ASKED.unpack(asked)
        came = time.monotonic_ns()
        for level, kind, value in about:
            if (level, kind) == (socket.SOL_SOCKET, _SO_TIMESTAMPNS):
                seconds, nanoseconds = _TIMESPEC.unpack_from(value)
                here = time.time_ns() - seconds * 1_000_000_000 - nanoseconds
                if 0 <= here <= came - sent:  # else the clock was set in between
                    came -= here
        return Answer(which, number, max(0, came - sent) / 1e9)


def packet(path: Path, id_: int, sequence: int, payload: bytes) -> bytes:
    """A probe from its outer IPv4 header on; the kernel fills in that one's length, id and sum."""
    head = _ICMP.pack(_ECHO, 0, 0, id_, sequence)
    head = _ICMP.pack(_ECHO, 0, _sum(head + payload), id_, sequence)
    inner = _ip(socket.IPPROTO_ICMP, path.source, path.target, head + payload)
    gre = struct.pack("!HH", 0, _IPV4_IN_GRE)
    if path.key is not None:
        gre = struct.pack("!HHI", _KEY_PRESENT, _IPV4_IN_GRE, path.key)
    return _ip(socket.IPPROTO_GRE, path.local, path.remote, gre + inner)


def _ip(protocol: int, source: bytes, target: bytes, content: bytes) -> bytes:
    size = _IPV4.size + len(content)
    parts = [0x45, _CS6, size, 0, 0, _TTL, protocol, 0, source, target]
    parts[7] = _sum(_IPV4.pack(*parts))
    return _IPV4.pack(*parts) + content


def _sum(data: bytes) -> int:
    """The Internet checksum (RFC 1071)."""
    data += bytes(len(data) % 2)
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return int(~total & 0xFFFF)
