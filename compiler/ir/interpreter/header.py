"""What the functions of the runtime header do (templates/helio.bpf.h, and those of the template of
programs), each by its name there. Numbers are as memory has them: addresses in network order are
not numbers of the host's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from ....lang.contract.base.domain_names import LONGEST, bytes_of_name, compared, compared_plain
from ....lang.contract.world.environment import Environment, Port
from ....lang.contract.world.moment import Moment
from .expressions import CONSTANTS, Packet
from .layout import PORT_SIZE
from .memory import NotInterpreted, Pointer, Region, Value, ones, signed, swapped

ABSENT, OF_IPV6, UDP_CHECKSUM = (CONSTANTS[name] for name in ("ABSENT", "OF_IPV6", "UDP_CHECKSUM"))
MAX_OFFSET, MAX_PUT = 0x7FFF, 0x1FFF
UDP = 17
ETHERNET = 14


class Host(Packet, Protocol):
    """What is around a packet."""

    environment: Environment
    arrival: Port
    moment: Moment
    decode_probe: Region
    bare: tuple[str, ...]  # roles whose ports have no link header

    def take_answer(self) -> bool: ...
    def redirect(self, port: int, event: int) -> int: ...
    def steer(self, queue: int, event: int) -> int: ...
    def begin_copy(self) -> None: ...
    def send_copy(self, port: int, sent: int, failed: int, most: int = 0) -> None: ...
    def end_copy(self) -> None: ...
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
def pushed_at(_: Host, begin: Pointer, at: int) -> Value:
    return begin + (at & MAX_PUT)


@known
def header_at(host: Host, _: int, at: int, size: int) -> Value:
    if at == ABSENT:
        return 0
    return host.frame.at(at & MAX_OFFSET, size) or 0


@known
def there_at(host: Host, _: int, at: int) -> Value:
    return host.frame.data + (at & MAX_OFFSET)


@known
def limit_of(host: Host, _: int) -> Value:
    return host.frame.end


@known
def name_bytes(host: Host, _: int, name: Pointer) -> Value:
    at = name.at - host.frame.data.at
    return bytes_of_name(host.frame.content[at : at + LONGEST])


@known
def name_key(host: Host, _: int, scratch: Value, name: Pointer, size: int) -> Value:
    length = name_bytes(host, _, name)
    assert isinstance(length, int)
    return _keep_name(host, compared(name.read(length), size))


@known
def text_key(host: Host, _: int, scratch: Value, text: Pointer, length: int, size: int) -> Value:
    return _keep_name(host, compared_plain(text.read(length), size))


def _keep_name(host: Host, number: int) -> Value:
    host.room("name", 256).put(number.to_bytes(256, "big"))
    return 0


@known
def frame_length(host: Host, _: int) -> Value:
    return host.frame.length


@known
def packet_time(host: Host, _: Value) -> Value:
    return host.moment.time("boot")


@known
def utc_time(host: Host, _: Value) -> Value:
    return host.moment.time("utc")


@known
def ntp_time(host: Host, _: Value) -> Value:
    return host.moment.time("ntp")


@known
def ptp_time(host: Host, _: Value) -> Value:
    return host.moment.time("ptp")


@known
def clock_error(host: Host, _: Value) -> Value:
    return host.moment.error


@known
def random_below(host: Host, scratch: Value, place: int, bound: int) -> Value:
    return host.moment.drawn(bound)


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
def smaller_of(_: Host, a: int, b: int) -> Value:
    return min(a, b)


@known
def larger_of(_: Host, a: int, b: int) -> Value:
    return max(a, b)


@known
def add_limited(_: Host, a: int, b: int) -> Value:
    return min(a + b, ones(64))


@known
def subtract_limited(_: Host, a: int, b: int) -> Value:
    return max(a - b, 0)


@known
def times(_: Host, a: int, b: int) -> Value:
    return (a & ones(32)) * (b & ones(32))


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


# At tc: a packet here is no GSO, and its MAC header is written as it is at XDP.


@known
def move_head(host: Host, context: int, by: int) -> Value:
    return bpf_xdp_adjust_head(host, context, by)


@known
def move_end(host: Host, context: int, by: int) -> Value:
    return bpf_xdp_adjust_tail(host, context, by)


@known
def set_front(host: Host, _: int, begins: int, front: int, stays: int, flags: int) -> Value:
    more = begins + stays - host.frame.length if stays else 0
    return int(host.frame.moved(end=more) and host.frame.moved(start=begins - front))


@known
def move_copied_head(host: Host, context: int, by: int) -> Value:
    return move_head(host, context, by)


@known
def set_copied_front(
    host: Host, context: int, begins: int, front: int, stays: int, flags: int
) -> Value:
    return set_front(host, context, begins, front, stays, flags)


@known
def begin_copy(host: Host, _: int) -> Value:
    host.begin_copy()
    return 1


@known
def end_copy(host: Host, _: int) -> Value:
    host.end_copy()
    return 1


@known
def end_mirror(host: Host, _: int) -> Value:
    """What a port's tag added is taken out again."""
    return 1


@known
def send_copy(host: Host, _: int, port: int, tag: int, sent: int, failed: int) -> Value:
    host.send_copy(port, sent, failed)
    return _untagged(host, tag)


def _untagged(host: Host, tag: int) -> Value:
    """The port's tag is taken out again."""
    if tag:
        data = host.frame.data
        macs = data.read(12)
        (data + 4).put(macs)
        host.frame.moved(start=4)
    return CONSTANTS["XDP_DROP"]


@known
def send_part(
    host: Host, context: int, port: int, tag: int, most: int, sent: int, failed: int
) -> Value:
    """The port's tag, which is in the frame here, is not counted."""
    host.send_copy(port, sent, failed, most + (4 if tag else 0))
    return _untagged(host, tag)


@known
def segment_extent(_: Host, context: int, at: int, extent: int, link: int) -> Value:
    return extent


@known
def bpf_map_lookup_elem(host: Host, table: str, key: Pointer) -> Value:
    if table == "decode_probe":
        return Pointer(host.decode_probe)
    if table != "ports":
        raise NotInterpreted(f"bpf_map_lookup_elem of {table}")
    number = key.load(32)
    if number >= 64:
        return 0
    port = host.environment.port(number)
    data = _port(port, port.role in host.bare) if port else bytes(PORT_SIZE)
    return Pointer(Region("port", bytearray(data)))


_ROLE = 14  # where `struct port` has it


@known
def is_bare(_: Host, port: Pointer) -> Value:
    return port.load(8, _ROLE)


def _port(port: Port, bare: bool) -> bytes:
    """Its role is 1 where its packets have no link header, else 0."""

    def little(number: int, size: int) -> bytes:
        return number.to_bytes(size, "little")

    head = little(port.ifindex, 4) + little(port.mtu, 2) + little(port.vlan, 2) + port.mac
    head += bytes((bare, 1))
    address = port.address.to_bytes(4, "big")
    data = head + address + little(port.ifindex, 4)
    return data + port.address6.to_bytes(16, "big")


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


@known
def trace_parsed(_: Host, ctx: int) -> Value:
    return 0
