"""What the kernel knows of interfaces, addresses, routes and neighbours, over plain netlink.

Standard library only, since a command must start at once. All of the caller's network namespace.
Constants are those of linux/rtnetlink.h, if_link.h, neighbour.h, netdev.h.
"""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple, Self

_HEADER = struct.Struct("=IHHII")
REQUEST, ACK, DUMP, CREATE, REPLACE, EXCL = 1, 4, 0x300, 0x400, 0x100, 0x200
_NEWNEIGH, _GETLINK, _GETADDR, _GETROUTE, _GETNEIGH = 28, 18, 22, 26, 30
_NTF_USE = 1
_SCOPE_LINK = 253
_LINK_NETNSID, _TARGET_NETNSID = 37, 46
_NATIVE = (1, 4)  # XDP_ATTACHED_DRV, XDP_ATTACHED_MULTI
_ETHERNET = (1, 772)  # ARPHRD_ETHER, ARPHRD_LOOPBACK
#: Of which bpf_redirect knows that they have no link header (dev_is_mac_header_xmit): ARPHRD_PPP,
#: RAWIP, TUNNEL, TUNNEL6, SIT, IPGRE, IP6GRE, NONE, VOID.
_BARE = (512, 519, 768, 769, 776, 778, 823, 0xFFFE, 0xFFFF)
_FAMILIES = {4: socket.AF_INET, 16: socket.AF_INET6}  # by bytes of an address
_USABLE = 0x02 | 0x04 | 0x08 | 0x10 | 0x40 | 0x80  # reachable stale delay probe noarp permanent
_CONFIGURED = 0x40 | 0x80  # noarp permanent
XDP_REDIRECTED = 4  # NETDEV_XDP_ACT_NDO_XMIT: the driver sends frames that programs redirect


class Counts(NamedTuple):
    """What the kernel counted of an interface: the first fields of `struct rtnl_link_stats64`."""

    rx_packets: int = 0
    tx_packets: int = 0
    rx_bytes: int = 0
    tx_bytes: int = 0
    rx_errors: int = 0
    tx_errors: int = 0
    rx_dropped: int = 0
    tx_dropped: int = 0
    multicast: int = 0
    collisions: int = 0
    rx_length_errors: int = 0
    rx_over_errors: int = 0
    rx_crc_errors: int = 0
    rx_frame_errors: int = 0
    rx_fifo_errors: int = 0
    rx_missed_errors: int = 0


_COUNTS = struct.Struct("=16Q")
_NOTHING = Counts()


@dataclass(frozen=True)
class Link:
    """An interface. `below`: of a VLAN interface, the one under it, and its tag. `program`: the id
    of an attached XDP program, 0 without; `native`: it runs in the driver. `other`: of a veth, the
    index of its other end, and `other_in` the id of that one's network namespace (None: our own).
    `carrier`: the kernel's IFF_LOWER_UP, never there while it is down. `ethernet`: its packets have
    Ethernet headers, as the loopback's have; `strips`: they have no link header, and the kernel
    takes it off what programs send there.
    """

    index: int
    name: str
    kind: str
    mtu: int
    mac: bytes
    below: int
    vlan: int
    program: int
    counts: Counts = _NOTHING
    up: bool = True
    native: bool = False
    other: int = 0
    other_in: int | None = None
    carrier: bool = True
    ethernet: bool = True
    strips: bool = False


@dataclass(frozen=True)
class Address:
    """An address of the host, 4 or 16 bytes; `broadcast` empty where its prefix has none.
    `link`: good on its own link only (RFC 4291 section 2.5.6)."""

    index: int
    address: bytes
    broadcast: bytes = b""
    link: bool = False


class Netlink:
    """A route socket of the namespace in which it was made."""

    def __init__(self) -> None:
        self._socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, 0)
        self._socket.bind((0, 0))
        self._number = 0

    def close(self) -> None:
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ---- questions --------------------------------------------------------------------------

    def links(self) -> list[Link]:
        body = struct.pack("=BxHiII", 0, 0, 0, 0, 0)
        return [_link(b) for b in self._dump(_GETLINK, body)]

    def other_end(self, veth: Link) -> Link | None:
        """Of a veth pair; None where we may not look into its network namespace."""
        body = struct.pack("=BxHiII", 0, 0, veth.other, 0, 0)
        if veth.other_in is not None:
            body += attribute(_TARGET_NETNSID, struct.pack("=i", veth.other_in))
        with suppress(OSError):
            for answer in self._ask(_GETLINK, REQUEST, body):
                return _link(answer)
        return None

    def addresses(self) -> list[Address]:
        """Of both families, each interface's in the kernel's order."""
        found = []
        for family in _FAMILIES.values():
            for body in self._dump(_GETADDR, struct.pack("=BBBBI", family, 0, 0, 0, 0)):
                _, length, _, scope, index = struct.unpack_from("=BBBBI", body)
                given = dict(attributes(body[8:]))
                own = given.get(2, given.get(1))
                if own is not None:
                    broadcast = _broadcast(own, length, given.get(4))
                    found.append(Address(index, own, broadcast, scope == _SCOPE_LINK))
        return found

    def neighbours(self) -> dict[tuple[int, bytes], bytes]:
        """MAC addresses by interface and address (4 or 16 bytes), of neighbours that can be sent
        to."""
        found = {}
        for family in _FAMILIES.values():
            body = struct.pack("=BxxxiHBB", family, 0, 0, 0, 0)
            for answer in self._dump(_GETNEIGH, body):
                _, index, state, _, _ = struct.unpack_from("=BxxxiHBB", answer)
                given = dict(attributes(answer[12:]))
                mac = given.get(2, b"")
                if state & _USABLE and len(mac) == 6 and 1 in given:
                    found[index, given[1]] = mac
        return found

    def next_hop(self, index: int, address: bytes) -> bytes | None:
        """The neighbour through which an address is reached by an interface: its gateway, or the
        address itself; None without a route."""
        family, bits = _FAMILIES[len(address)], len(address) * 8
        body = struct.pack("=BBBBBBBBI", family, bits, 0, 0, 0, 0, 0, 0, 0)
        body += attribute(1, address) + attribute(4, struct.pack("=I", index))
        with suppress(OSError):
            for answer in self._ask(_GETROUTE, REQUEST, body):
                given = dict(attributes(answer[12:]))
                if given.get(4) != struct.pack("=I", index):
                    return None
                return given.get(5, address)
        return None

    def route(self, address: bytes) -> int | None:
        """The interface by which the host sends to an address (4 or 16 bytes); None without one."""
        family, bits = _FAMILIES[len(address)], len(address) * 8
        body = struct.pack("=BBBBBBBBI", family, bits, 0, 0, 0, 0, 0, 0, 0)
        with suppress(OSError):
            for answer in self._ask(_GETROUTE, REQUEST, body + attribute(1, address)):
                index = dict(attributes(answer[12:])).get(4)
                return struct.unpack("=I", index)[0] if index is not None else None
        return None

    def probe(self, index: int, address: bytes) -> None:
        """Let the kernel find out a neighbour's MAC address; does not wait for it.

        Since Linux 5.16 NTF_USE makes a permanent entry a dynamic one, so such an entry is left
        alone. A missing one is only created: one that somebody else has added stays."""
        with suppress(OSError):
            state = self._neighbour_state(index, address)
            if state is None or not state & _CONFIGURED:
                flags = REQUEST | ACK | CREATE | (EXCL if state is None else REPLACE)
                list(self._ask(_NEWNEIGH, flags, _neighbour(index, address, _NTF_USE)))

    def _neighbour_state(self, index: int, address: bytes) -> int | None:
        """NUD_* of an entry; None where there is none."""
        with suppress(FileNotFoundError):
            for answer in self._ask(_GETNEIGH, REQUEST, _neighbour(index, address)):
                state: int = struct.unpack_from("=BxxxiHBB", answer)[2]
                return state
        return None

    # ---- the protocol -----------------------------------------------------------------------

    def _dump(self, kind: int, body: bytes) -> Iterator[bytes]:
        return self._ask(kind, REQUEST | DUMP, body)

    def _ask(self, kind: int, flags: int, body: bytes) -> Iterator[bytes]:
        self._number += 1
        number = self._number
        size = _HEADER.size + len(body)
        self._socket.send(_HEADER.pack(size, kind, flags, number, 0) + body)
        while True:
            for answer, sent, payload in self._receive():
                if sent != number:
                    continue
                if answer == 3:  # NLMSG_DONE
                    return
                if answer == 2:  # NLMSG_ERROR
                    code = struct.unpack_from("=i", payload)[0]
                    if code:
                        raise OSError(-code, os.strerror(-code))
                    return
                yield payload
                if not flags & (DUMP | ACK):
                    return

    def _receive(self) -> list[tuple[int, int, bytes]]:
        data, found, at = self._socket.recv(1 << 18), [], 0
        while at + _HEADER.size <= len(data):
            size, kind, _, number, _ = _HEADER.unpack_from(data, at)
            found.append((kind, number, data[at + _HEADER.size : at + size]))
            at += (size + 3) & ~3
        return found


def xdp_features(index: int) -> int | None:
    """NETDEV_XDP_ACT_* of an interface (netdev family, Linux 6.3); None where nobody can tell."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, 16) as generic:
        generic.bind((0, 0))
        found = _generic(generic, 0x10, 3, attribute(2, b"netdev\0"))
        if found is None or 1 not in found:
            return None
        family = struct.unpack("=H", found[1])[0]
        device = _generic(generic, family, 1, attribute(1, struct.pack("=I", index)))
    if device is None or 3 not in device:
        return None
    return int.from_bytes(device[3][:8], "little")


def _generic(
    generic: socket.socket, family: int, command: int, body: bytes
) -> dict[int, bytes] | None:
    size = _HEADER.size + 4 + len(body)
    head = _HEADER.pack(size, family, REQUEST, command, 0) + struct.pack("=BBH", command, 1, 0)
    generic.send(head + body)
    data = generic.recv(1 << 16)
    _, kind, _, _, _ = _HEADER.unpack_from(data)
    return None if kind == 2 else dict(attributes(data[_HEADER.size + 4 :]))


def _neighbour(index: int, address: bytes, flags: int = 0) -> bytes:
    """`struct ndmsg` and NDA_DST."""
    family = _FAMILIES[len(address)]
    return struct.pack("=BxxxiHBB", family, index, 0, flags, 0) + attribute(1, address)


def attribute(kind: int, value: bytes) -> bytes:
    size = 4 + len(value)
    return struct.pack("=HH", size, kind) + value + bytes(-size % 4)


def attributes(data: bytes) -> Iterator[tuple[int, bytes]]:
    at = 0
    while at + 4 <= len(data):
        size, kind = struct.unpack_from("=HH", data, at)
        if size < 4:
            return
        yield kind & 0x3FFF, data[at + 4 : at + size]
        at += (size + 3) & ~3


def _link(body: bytes) -> Link:
    _, type_, index, flags, _ = struct.unpack_from("=BxHiII", body)
    given = dict(attributes(body[16:]))
    about = dict(attributes(given.get(18, b"")))
    kind = about.get(1, b"").rstrip(b"\0").decode()
    inner = dict(attributes(about.get(2, b""))) if kind == "vlan" else {}
    xdp = dict(attributes(given.get(43, b"")))
    lower, other_in = int.from_bytes(given.get(5, b""), "little"), given.get(_LINK_NETNSID)
    return Link(
        index,
        given.get(3, b"").rstrip(b"\0").decode(errors="replace"),
        kind,
        int.from_bytes(given.get(4, b""), "little"),
        given.get(1, b""),
        lower if kind == "vlan" else 0,
        int.from_bytes(inner.get(1, b""), "little"),
        int.from_bytes(xdp.get(4, b""), "little"),
        Counts(*_COUNTS.unpack_from(given[23])) if 23 in given else _NOTHING,
        bool(flags & 1),
        int.from_bytes(xdp.get(2, b""), "little") in _NATIVE,
        lower if kind == "veth" else 0,
        struct.unpack("=i", other_in)[0] if other_in is not None else None,
        bool(flags & 1 << 16),
        type_ in _ETHERNET,
        type_ in _BARE,
    )


def _broadcast(address: bytes, length: int, given: bytes | None) -> bytes:
    """Of an IPv4 prefix; there are none in IPv6."""
    if given is not None or len(address) != 4 or length >= 31:
        return given or b""
    hosts = (1 << (32 - length)) - 1
    return (int.from_bytes(address, "big") | hosts).to_bytes(4, "big")
