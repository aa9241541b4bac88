"""Test packets of a Session-Sender (RFC 8762 section 4.2.1, RFC 8972 section 3), from the IP header
on. A packet is made once; the sequence number, the time and the checksum are put into it as it
leaves."""

from __future__ import annotations

import os
import struct
from ipaddress import ip_address

from .parameters import BASE, TLV, Parameters
from .times import error_estimate, now

UDP, ROUTING, IPV4, IPV6 = 17, 43, 4, 41
_SRH = 4  # routing type (RFC 8754 section 2)
_HOPS = 255
_UDP = struct.Struct("!HHHH")
_VARIABLE = struct.Struct("!IQ")
_CHECKSUM = struct.Struct("!H")
#: The TLV of extra padding (RFC 8972 section 4.1), with the flag U: unrecognized.
_UNRECOGNIZED, _PADDING = 0x80, 1


class TestPacket:
    """`destination`: whom it is sent to: the reflector, or the first segment. `version` of the
    outermost header."""

    __test__ = False  # pytest: it is none of yours

    def __init__(self, about: Parameters, clock_error: int | None) -> None:
        """`clock_error`: in ns, None where nothing synchronises the clock."""
        self._clock = about.clock
        error = error_estimate(clock_error, about.clock)
        payload = bytes(12) + struct.pack("!HH", error, about.ssid) + bytes(28)
        payload += _padding(about.length - BASE)
        head = _UDP.pack(about.source_port, about.port, _UDP.size + len(payload), 0)
        ends = ip_address(about.source).packed + ip_address(about.reflector).packed
        pseudo = ends + struct.pack("!II", _UDP.size + len(payload), UDP)
        self._sum = _sum(pseudo + head + payload)  # all but what changes
        front, self.destination = _in_front(about, _UDP.size + len(payload))
        self.version = 6 if ":" in self.destination else 4
        self._at = len(front)
        self._packet = bytearray(front + head + payload)

    def at_this_moment(self, number: int) -> bytearray:
        """As it is to leave, by the clock as it is now. The next call changes it."""
        packet, at = self._packet, self._at
        sequence = number & 0xFFFFFFFF
        time = now(self._clock)
        total = (
            self._sum
            + (sequence >> 16)
            + (sequence & 0xFFFF)
            + (time >> 48)
            + (time >> 32 & 0xFFFF)
            + (time >> 16 & 0xFFFF)
            + (time & 0xFFFF)
        )
        while total >> 16:
            total = (total & 0xFFFF) + (total >> 16)
        _VARIABLE.pack_into(packet, at + _UDP.size, sequence, time)
        _CHECKSUM.pack_into(packet, at + 6, ~total & 0xFFFF or 0xFFFF)  # RFC 768: 0 is none
        return packet


def _padding(count: int) -> bytes:
    if not count:
        return b""
    return struct.pack("!BBH", _UNRECOGNIZED, _PADDING, count - TLV) + os.urandom(count - TLV)


def _in_front(about: Parameters, size: int) -> tuple[bytes, str]:
    """The headers in front of UDP's, which has `size` bytes, and whom they lead to first."""
    sids, source, reflector = list(about.sids), about.source, about.reflector
    if about.way == "OWN_SRH":
        path = [*sids, reflector]
        srh = _routing(UDP, path, len(path) - 1)
        return _ipv6(about, source, path[0], ROUTING, len(srh) + size) + srh, path[0]
    if about.version == 4:
        inner, follows = _ipv4(about, size), IPV4
    else:
        inner, follows = _ipv6(about, source, reflector, UDP, size), IPV6
    if about.way == "ADDRESS":
        return inner, reflector
    listed = sids if about.way == "H_ENCAPS" else sids[1:]  # RFC 8986 section 5.1, 5.2
    srh = _routing(follows, listed, len(sids) - 1) if listed else b""
    first = ROUTING if srh else follows
    outer = _ipv6(about, about.outer, sids[0], first, len(srh) + len(inner) + size)
    return outer + srh + inner, sids[0]


def _ipv4(about: Parameters, size: int) -> bytes:
    ends = ip_address(about.source).packed, ip_address(about.reflector).packed
    parts = [0x45, about.dscp << 2, 20 + size, 0, 0x4000, _HOPS, UDP, 0, *ends]
    layout = struct.Struct("!BBHHHBBH4s4s")
    parts[7] = ~_sum(layout.pack(*parts)) & 0xFFFF
    return layout.pack(*parts)


def _ipv6(about: Parameters, source: str, to: str, follows: int, size: int) -> bytes:
    """`size`: bytes behind it."""
    ends = ip_address(source).packed + ip_address(to).packed
    return struct.pack("!IHBB", 6 << 28 | about.dscp << 22, size, follows, _HOPS) + ends


def _routing(follows: int, path: list[str], left: int) -> bytes:
    head = struct.pack("!BBBBBBH", follows, 2 * len(path), _SRH, left, len(path) - 1, 0, 0)
    return head + b"".join(ip_address(each).packed for each in reversed(path))


def _sum(data: bytes) -> int:
    """Of 16-bit words, folded (RFC 1071); the last odd byte is followed by a 0."""
    data += bytes(len(data) % 2)
    total: int = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total
