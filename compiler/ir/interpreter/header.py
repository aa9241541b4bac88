"""What the functions of the runtime header do (templates/helio.bpf.h, and those of the template of
programs), each by its name there. Numbers are as memory has them: addresses in network order are
not numbers of the host's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from ....lang.contract.rules.spread import jhash2
from ....lang.contract.world.environment import Environment, Port
from ...interpret.octets import ones_sum
from .expressions import CONSTANTS, Packet
from .layout import PORT_SIZE
from .memory import Fault, NotInterpreted, Pointer, Region, Value, ones, signed, swapped
from .tables import next_hop

ABSENT, OF_IPV6, UDP_CHECKSUM = (CONSTANTS[name] for name in ("ABSENT", "OF_IPV6", "UDP_CHECKSUM"))
MAX_OFFSET = 0x7FFF
UDP = 17
LEAST_MSS_OPTION, SYN = 4, 0x02
MOST_OPTIONS = 40


class Host(Packet, Protocol):
    """What is around a packet."""

    environment: Environment
    arrival: Port
    told: Region

    def take_answer(self) -> bool: ...
    def redirect(self, port: int, event: int) -> int: ...
    def steer(self, queue: int, event: int) -> int: ...
    def default_verdict(self) -> int: ...
    def default_action(self) -> int: ...


FUNCTIONS: dict[str, Callable[..., Value]] = {}
Function = TypeVar("Function", bound=Callable[..., Value])


def known(function: Function) -> Function:
    """One that programs call by its name."""
    FUNCTIONS[function.__name__] = function
    return function


def call(host: Host, function: str, arguments: list[Any]) -> Value:
    """Raises `NotInterpreted`."""
    if function not in FUNCTIONS:
        raise NotInterpreted(function)
    return FUNCTIONS[function](host, *arguments)


# ---- places ---------------------------------------------------------------------------------


@known
def packet_at(_: Host, data: Pointer, at: int) -> Value:
    return data + (at & MAX_OFFSET)


@known
def header_at(host: Host, _: int, at: int, size: int) -> Value:
    if at == ABSENT:
        return 0
    return host.frame.at(at & MAX_OFFSET, size) or 0


@known
def limit_of(host: Host, _: int) -> Value:
    return host.frame.end


@known
def frame_length(host: Host, _: int) -> Value:
    return host.frame.length


@known
def moved(_: Host, at: int, by: int) -> Value:
    return at if at == ABSENT else at + by


@known
def leading(_: Host, at: int, link: int) -> Value:
    return at if at < link else ABSENT


@known
def forgotten(_: Host, scratch: Value, at: int) -> Value:
    return at & MAX_OFFSET


@known
def opaque(_: Host, value: int) -> Value:
    return value


@known
def epoch_now(_: Host) -> Value:
    return 1


@known
def bpf_xdp_adjust_head(host: Host, _: int, by: int) -> Value:
    return 0 if host.frame.moved(start=signed(by)) else ones(32)


@known
def bpf_xdp_adjust_tail(host: Host, _: int, by: int) -> Value:
    return 0 if host.frame.moved(end=signed(by)) else ones(32)


@known
def move_begin(host: Host, _: int, by: int, tag: int) -> Value:
    room = 4 if tag else 0
    if not host.frame.moved(start=signed(by) - room):
        return 0
    return int(not room or host.frame.moved(start=room))


@known
def bpf_map_lookup_elem(host: Host, table: str, key: Pointer) -> Value:
    if table == "told":
        return Pointer(host.told)
    if table != "ports":
        raise NotInterpreted(f"bpf_map_lookup_elem of {table}")
    number = key.load(32)
    if number >= 64:
        return 0
    port = host.environment.port(number)
    return Pointer(Region("port", bytearray(_port(port) if port else bytes(PORT_SIZE))))


def _port(port: Port) -> bytes:
    def little(number: int, size: int) -> bytes:
        return number.to_bytes(size, "little")

    head = little(port.ifindex, 4) + little(port.mtu, 2) + little(port.vlan, 2) + port.mac
    address = port.address.to_bytes(4, "big")
    octets = head + b"\x00\x01" + address + little(port.ifindex, 4)
    return octets + port.address6.to_bytes(16, "big")


# ---- checksums ------------------------------------------------------------------------------


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


# ---- addresses ------------------------------------------------------------------------------


@known
def is_local(host: Host, address: int) -> int:
    return int(host.environment.is_local(swapped(address, 32)))


@known
def is_local6(host: Host, address: int) -> int:
    return int(host.environment.is_local(swapped(address, 128), "ip6"))


@known
def is_confined(_: Host, ip: Pointer) -> int:
    source, target = ip.read(20)[12:16], ip.read(20)[16:20]
    own = any(a[0] == 127 or a[:2] == b"\xa9\xfe" for a in (source, target))
    return int(own or target[:3] == b"\xe0\x00\x00" or target == b"\xff" * 4)


@known
def is_confined6(_: Host, ip: Pointer) -> int:
    source, target = ip.read(40)[8:24], ip.read(40)[24:40]
    group = target[0] == 0xFF and target[1] & 15 <= 2
    return int(group or is_confined_address(source) or is_confined_address(target))


def is_confined_address(address: bytes) -> bool:
    """fe80::/10, :: or ::1."""
    number = int.from_bytes(address, "big")
    return number >> 118 == 0xFE80 >> 6 or number <= 1


@known
def arrival_port(host: Host, _: int) -> int:
    return host.arrival.number


@known
def arrival_address(host: Host, _: int) -> int:
    return swapped(host.arrival.address, 32)


@known
def arrival_address6(host: Host, _: int) -> int:
    return swapped(host.arrival.address6, 128)


# ---- the way out ----------------------------------------------------------------------------


@known
def next_hop_of(host: Host, _: int, port: int, address: int, room: Pointer) -> Value:
    return _hop(host, port, swapped(address, 32), "ip4")


@known
def next_hop_of6(host: Host, _: int, port: int, address: int, room: Pointer) -> Value:
    return _hop(host, port, swapped(address, 128), "ip6")


def _hop(host: Host, port: int, address: int, kind: str) -> Value:
    """Out of the neighbour table; there is no FIB."""
    found = next_hop(host.environment, port, address, kind)
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
    octets = frame.read(12)
    frame.put(octets[6:] + octets[:6])
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


@known
def trace_parsed(_: Host, ctx: int) -> Value:
    return 0
