"""What the runtime header's functions for packets that go on do: next hops, headers in place,
verdicts."""

from __future__ import annotations

from .checksums import update
from .header import MAX_OFFSET, Host, known
from .memory import Pointer, Region, Value, swapped
from .tables import next_hop

LEAST_MSS_OPTION, SYN = 4, 0x02
MOST_OPTIONS = 40


@known
def next_hop_of(host: Host, _: int, port: int, address: int, room: Pointer) -> Value:
    return _hop(host, port, swapped(address, 32), "ip4")


@known
def next_hop_of6(host: Host, _: int, port: int, address: int, room: Pointer) -> Value:
    return _hop(host, port, swapped(address, 128), "ip6")


@known
def kept_next_hop(
    host: Host, _: int, kept: Pointer, port: int, address: int, room: Pointer, own: Pointer
) -> Value:
    return _kept_hop(kept, own, _hop(host, port, swapped(address, 32), "ip4"))


@known
def kept_next_hop6(
    host: Host, _: int, kept: Pointer, port: int, address: int, room: Pointer, own: Pointer
) -> Value:
    return _kept_hop(kept, own, _hop(host, port, swapped(address, 128), "ip6"))


NEXT_HOP, RESOLVED = 24, 20  # bytes of `struct next_hop`, and where its member starts


def _kept_hop(kept: Pointer, own: Pointer, known_now: Value) -> Value:
    found = kept if kept.load(8, RESOLVED) else known_now
    if not isinstance(found, Pointer):
        return 0
    own.put(found.read(NEXT_HOP))
    return own


def _hop(host: Host, port: int, address: int, kind: str) -> Value:
    """Out of the neighbour table; there is no FIB."""
    found = next_hop(host.environment, port, address, kind, host.bare)
    return 0 if found is None else Pointer(Region("next hop", bytearray(found)))


@known
def put_macs(_: Host, frame: Pointer, hop: Pointer) -> Value:
    frame.put((hop + 8).read(12))
    return 0


@known
def insert_vlan(host: Host, _: int, tag: int) -> Value:
    if not host.frame.moved(start=-4):
        return 0
    data = host.frame.data
    data.put((data + 4).read(12) + b"\x81\x00" + tag.to_bytes(2, "big"))
    return 1


@known
def swap_macs(_: Host, frame: Pointer) -> Value:
    macs = frame.read(12)
    frame.put(macs[6:] + macs[:6])
    return 0


@known
def redirect(host: Host, _: int, port: int, event: int) -> Value:
    return host.redirect(port, event)


@known
def steer(host: Host, _: int, state: int, queue: int, event: int) -> Value:
    return host.steer(queue, event)


@known
def default_verdict(host: Host) -> Value:
    return host.default_verdict()


@known
def default_action(host: Host) -> Value:
    return host.default_action()


@known
def take_answer(host: Host) -> Value:
    return int(host.take_answer())


# ---- headers in place -----------------------------------------------------------------------


@known
def decrement_ttl(_: Host, ip: Pointer) -> Value:
    checksum = ip.load(16, 10) + swapped(0x0100, 16)
    ip.store(8, ip.load(8, 8) - 1, 8)
    ip.store(16, checksum + (checksum >= 0xFFFF), 10)
    return 0


@known
def decrement_hop_limit(_: Host, ip: Pointer) -> Value:
    ip.store(8, ip.load(8, 7) - 1, 7)
    return 0


@known
def set_ecn(_: Host, ip: Pointer, ecn: int) -> Value:
    old = ip.load(16)
    new = (old & ~swapped(3, 16)) | swapped(ecn, 16)
    ip.store(16, new)
    ip.store(16, update(ip.load(16, 10), old, new), 10)
    return 0


@known
def set_ecn6(_: Host, ip: Pointer, ecn: int) -> Value:
    ip.store(8, (ip.load(8, 1) & 0xCF) | ecn << 4, 1)
    return 0


@known
def clamp_mss(host: Host, _: int, tcp: int, most: int) -> Value:
    header = host.frame.at(tcp & MAX_OFFSET, 20)
    if header is None or not header.load(8, 13) & SYN:
        return 0
    size, at = (header.load(8, 12) >> 4) * 4, 20
    for _ in range(MOST_OPTIONS):
        option = host.frame.at(tcp + at, 2)
        if at + 2 > size or option is None or not option.load(8):
            break
        kind, length = option.load(8), option.load(8, 1)
        if kind == 1:
            at += 1
            continue
        if (kind, length) == (2, LEAST_MSS_OPTION):
            _lower_mss(host, header, tcp, at, size, most)
            break
        if length < 2:
            break
        at += length
    return 0


def _lower_mss(host: Host, header: Pointer, tcp: int, at: int, size: int, most: int) -> None:
    option = host.frame.at(tcp + at, LEAST_MSS_OPTION)
    if at + LEAST_MSS_OPTION > size or option is None:
        return
    old = swapped(option.load(16, 2), 16)
    if old <= most:
        return
    option.store(16, swapped(most, 16), 2)
    words = (old, most) if at & 1 else (swapped(old, 16), swapped(most, 16))
    header.store(16, update(header.load(16, 16), *words), 16)
