"""What the runtime header's functions for checksums and hashes do (RFC 1071, RFC 1624)."""

from __future__ import annotations

from ....lang.contract.rules.spread import jhash2
from ...interpret.header_view import ones_sum
from .header import MAX_OFFSET, OF_IPV6, UDP, UDP_CHECKSUM, Host, known
from .memory import Fault, Pointer, ones, swapped


def checksum_of(sum_: int) -> int:
    """The checksum that a sum of words comes to."""
    sum_ = (sum_ & 0xFFFFFFFF) + (sum_ >> 32)
    sum_ = (sum_ & 0xFFFF) + (sum_ >> 16 & 0xFFFF) + (sum_ >> 32)
    sum_ = (sum_ & 0xFFFF) + (sum_ >> 16)
    return ~sum_ & 0xFFFF


def update(checksum: int, old: int, new: int) -> int:
    """The checksum after a word went from `old` to `new`."""
    return checksum_of((~checksum & 0xFFFF) + (~old & 0xFFFF) + new)


@known
def fold(_: Host, sum_: int) -> int:
    return checksum_of(sum_)


@known
def folded(_: Host, sum_: int) -> int:
    return ~checksum_of(sum_) & 0xFFFF


@known
def checksum_follow(_: Host, field: Pointer, change: int) -> int:
    old = ~field.load(16) & 0xFFFF
    new = checksum_of(old + change)
    field.store(16, new)
    return old + new


@known
def udp_checksum_follow(_: Host, field: Pointer, change: int) -> int:
    was = field.load(16)
    if not was:  # there is none
        return 0
    old = ~was & 0xFFFF
    new = checksum_of(old + change) or 0xFFFF
    field.store(16, new)
    return old + new


@known
def follow(host: Host, _: int, at: int, field: int, change: int) -> int:
    p = host.frame.at(at + (field & 0xFF), 2) if 0 < at <= MAX_OFFSET else None
    if p is None:
        return 0
    way = udp_checksum_follow if field & UDP_CHECKSUM else checksum_follow
    return way(host, p, change)


@known
def seal(host: Host, _: int, pseudo: int, at: int, length: int, field: int) -> int:
    frame, protocol, routed = host.frame, pseudo >> 16 & 0xFF, pseudo >> 24
    covered = frame.at(at, length)
    if covered is None:
        raise Fault(f"a checksum over {length} bytes at {at} of {frame.length}")
    sum_ = swapped(ones_sum(covered.read(length)), 16)
    if pseudo & 0xFFFF:
        six = bool(pseudo & OF_IPV6)
        ip = frame.at(pseudo & MAX_OFFSET, 40 if six else 20)
        if ip is None:
            return 0
        protocol = protocol or ip.load(8, 6 if six else 9)
        first, last = (8, 40) if six else (12, 20)
        sum_ += sum(ip.load(32, i) for i in range(first, last, 4))
        sum_ += swapped(length, 32) if six else swapped(length, 16)
        if six and routed:
            sum_ += _other_destination(host, ip, (pseudo & MAX_OFFSET) + routed * 8)
        sum_ += swapped(protocol, 16)
    checksum = checksum_of(sum_)
    if not checksum and protocol == UDP:
        checksum = 0xFFFF
    place = frame.at(field, 2)
    if place is None:
        return 0
    place.store(16, checksum)
    return 1


def _other_destination(host: Host, ip: Pointer, at: int) -> int:
    """By how much the sum changes where the first segment is the last destination."""
    routing = host.frame.at(at, 24)
    if routing is None or not routing.load(8, 3) or routing.load(8, 1) < 2:
        return 0
    words = range(0, 16, 4)
    return sum((~ip.load(32, 24 + i) & ones(32)) + routing.load(32, 8 + i) for i in words)


@known
def jhash_words(_: Host, words: Pointer, count: int) -> int:
    return jhash2([words.load(32, i * 4) for i in range(count)])
