"""What the runtime header's functions for ICMP errors do: who is answered, and what is written."""

from __future__ import annotations

from ....lang.contract.world.environment import is_broadcast, is_multicast
from ...interpret.header_view import checksum
from .checksums import seal
from .header import MAX_OFFSET, OF_IPV6, Host, is_confined_address, known
from .memory import Pointer, swapped

ICMP, ICMP6 = 1, 58
ERRORS = (3, 4, 5, 11, 12)
ICMP6_TOO_BIG, ICMP6_REDIRECT, MIN_MTU6 = 2, 137, 1280
FRAGMENT, AUTHENTICATION, SKIPPED = 44, 51, (0, 43, 60)
MOST_EXTENSIONS = 8


@known
def may_answer(host: Host, _: int, ip: Pointer) -> int:
    frame = host.frame.at(0, 14)
    if frame is None or frame.load(8) & 1:
        return 0
    header = ip.read(20)
    source, target = (int.from_bytes(header[at : at + 4], "big") for at in (12, 16))
    network, size = source >> 24, (header[0] & 15) * 4
    if network in (0, 127) or network >= 224 or host.environment.is_local(source):
        return 0
    if is_multicast(target) or is_broadcast(target):
        return 0
    if int.from_bytes(header[6:8], "big") & 0x1FFF:
        return 0
    icmp = ip + size
    if header[9] != ICMP or int.from_bytes(header[2:4], "big") <= size:
        return 1
    if icmp.at + 1 > host.frame.end.at:
        return 1
    return int(icmp.load(8) not in ERRORS)


@known
def quote(_: Host, ip: Pointer) -> int:
    header, extent = (ip.load(8) & 15) * 4, swapped(ip.load(16, 2), 16)
    return min(extent, header + 8)


@known
def quote_upper(host: Host, _: int, ip: Pointer) -> int:
    return quote(host, ip)


@known
def put_icmp(host: Host, _: int, at: int, to: int, quoted: int, type_code: int, mtu: int) -> int:
    """From the address of the port that the packet came in by, in front of the quoted bytes, with
    which the frame ends."""
    ip = host.frame.at(at & MAX_OFFSET, 28)
    if ip is None:
        return 0
    addresses = host.arrival.address.to_bytes(4, "big") + to.to_bytes(4, "little")
    head = b"\x45\xc0" + (28 + quoted).to_bytes(2, "big") + b"\x00\x00\x40\x00\x40\x01"
    sum_ = checksum(head + b"\0\0" + addresses).to_bytes(2, "big")
    icmp = type_code.to_bytes(2, "big"), (mtu & 0xFFFF).to_bytes(4, "big")
    behind = (ip + 28).read(host.frame.end.at - ip.at - 28)
    about = checksum(icmp[0] + b"\0\0" + icmp[1] + behind).to_bytes(2, "big")
    ip.put(head + sum_ + addresses + icmp[0] + about + icmp[1])
    return 1


@known
def may_answer6(host: Host, _: int, ip: Pointer, at: int, type_code: int) -> int:
    frame = host.frame.at(0, 14)
    if frame is None or frame.load(8) & 1:
        return 0
    header = ip.read(40)
    source, target = header[8:24], header[24:40]
    if target[0] == 0xFF and type_code >> 8 != ICMP6_TOO_BIG:
        return 0
    if host.environment.is_local(int.from_bytes(source, "big"), "ip6"):
        return 0
    return int(not is_confined_address(source) and not _carries_error(host, at))


def _carries_error(host: Host, at: int) -> bool:
    """Whether the packet whose IPv6 header starts there carries an ICMPv6 error or a redirect."""
    ip = host.frame.at(at, 40)
    if ip is None:
        return False
    next_, end = ip.load(8, 6), at + 40 + swapped(ip.load(16, 4), 16)
    at += 40
    for _ in range(MOST_EXTENSIONS):
        if next_ == ICMP6:
            break
        extension = host.frame.at(at, 8)
        if extension is None:
            return False
        if next_ == FRAGMENT:
            if extension.load(16, 2) & swapped(0xFFF8, 16):
                return False
            size = 8
        elif next_ == AUTHENTICATION:
            size = (extension.load(8, 1) + 2) * 4
        elif next_ in SKIPPED:
            size = (extension.load(8, 1) + 1) * 8
        else:
            return False
        next_, at = extension.load(8), at + size
    p = host.frame.at(at, 1)
    if next_ != ICMP6 or at >= end or p is None:
        return False
    return p.load(8) < 128 or p.load(8) == ICMP6_REDIRECT


@known
def quote6(_: Host, ip: Pointer) -> int:
    return min(40 + swapped(ip.load(16, 4), 16), MIN_MTU6 - 48)


@known
def put_icmp6(host: Host, _: int, at: int, to: int, quoted: int, type_code: int, mtu: int) -> int:
    ip = host.frame.at(at & MAX_OFFSET, 48)
    if ip is None:
        return 0
    if type_code >> 8 == ICMP6_TOO_BIG:
        mtu = max(mtu, MIN_MTU6)
    head = b"\x60\x00\x00\x00" + (8 + quoted).to_bytes(2, "big") + bytes((ICMP6, 64))
    addresses = host.arrival.address6.to_bytes(16, "big") + to.to_bytes(16, "little")
    ip.put(head + addresses + type_code.to_bytes(2, "big") + b"\0\0" + mtu.to_bytes(4, "big"))
    return seal(host, 0, at | OF_IPV6 | ICMP6 << 16, at + 40, 8 + quoted, at + 42)
