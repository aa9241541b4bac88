"""Ports of a loaded pipeline: what the data path knows of each interface and of the host."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from .grace import online_cpus_grace
from .maps import Map
from .netlink import Address, Link, Netlink

_PORT = struct.Struct("<IHH6sBBII")
_NEXT_HOP = struct.Struct("<IHH6s6sB3x")
_KEY = struct.Struct("<I4s")
_NO_MAC = bytes(6)
_EMPTY = bytes(_PORT.size)


@dataclass(frozen=True)
class Port:
    """A port instance. `role` is its number in the manifest; `mtu` of the network layer; `address`
    IPv4, 0 without; `vlan` the tag that frames leave with, 0 without. `neighbours_of`: the
    interface on which the kernel keeps its neighbours (the VLAN interface, where there is one)."""

    number: int
    name: str
    role: int
    interface: str
    ifindex: int
    mtu: int
    mac: bytes
    address: int
    vlan: int
    neighbours_of: int


@dataclass(frozen=True)
class Wanted:
    """A port as configured."""

    number: int
    name: str
    role: int
    interface: str
    vlan: int


def find_ports(
    wanted: Iterable[Wanted], links: Iterable[Link], addresses: Iterable[Address]
) -> list[Port]:
    """The ports as their interfaces are now; those whose interface is gone are left out."""
    links = list(links)
    by_name = {link.name: link for link in links}
    first: dict[int, int] = {}
    for address in addresses:
        first.setdefault(address.index, address.address)
    found = []
    for port in wanted:
        link = by_name.get(port.interface)
        if link is None:
            continue
        above = [x for x in links if x.below == link.index] if port.vlan else []
        tagged = [x for x in above if x.vlan == port.vlan]
        layer3 = tagged[0] if tagged else link
        mtu = min(layer3.mtu, link.mtu)
        found.append(
            Port(
                port.number, port.name, port.role, port.interface, link.index, min(mtu, 0xFFFF),
                link.mac if len(link.mac) == 6 else _NO_MAC, first.get(layer3.index, 0),
                port.vlan, layer3.index,
            )
        )  # fmt: skip
    return found


def local_addresses(addresses: Iterable[Address]) -> set[int]:
    """What `is local` means: the host's addresses and its directed broadcast addresses."""
    found: set[int] = set()
    for address in addresses:
        found |= {address.address, address.broadcast}
    return found - {0}


def next_hop_octets(port: Port, mac: bytes | None) -> bytes:
    """`struct next_hop` by a port, to a neighbour's MAC address if it is known."""
    to, own = (mac, port.mac) if mac is not None else (_NO_MAC, _NO_MAC)
    return _NEXT_HOP.pack(port.number, port.mtu, port.vlan, to, own, mac is not None)


def write_ports(maps: Mapping[str, Map], ports: Iterable[Port], egress: int = 0) -> None:
    """Fill `ports`, `port_numbers` and `egress`; what is no port any more is taken out. With
    `egress`, that interface is the way out of every port."""
    table = maps["ports"].mmap()
    by_number = {port.number: port for port in ports}
    stride = maps["ports"].spec.stride
    for number in range(maps["ports"].spec.max_entries):
        port = by_number.get(number)
        table[number * stride : number * stride + _PORT.size] = _octets(port) if port else _EMPTY
        if port is not None:
            way_out = (egress or port.ifindex).to_bytes(4, "little")
            maps["egress"].update(number.to_bytes(4, "little"), way_out)
    wanted = {
        p.ifindex.to_bytes(4, "little"): n.to_bytes(4, "little") for n, p in by_number.items()
    }
    put(maps["port_numbers"], wanted)


def _octets(port: Port) -> bytes:
    address = port.address.to_bytes(4, "big")
    return _PORT.pack(
        port.ifindex, port.mtu, port.vlan, port.mac, port.role, 1,
        int.from_bytes(address, "little"), port.neighbours_of,
    )  # fmt: skip


def write_local(maps: Mapping[str, Map], addresses: Iterable[int]) -> None:
    put(maps["local"], {address.to_bytes(4, "big"): b"\1" for address in addresses})


def write_neighbours(
    maps: Mapping[str, Map], ports: Iterable[Port], known: Mapping[tuple[int, int], bytes]
) -> None:
    """Fill `neighbours` from MAC addresses by port number and address."""
    by_number = {port.number: port for port in ports}
    put(
        maps["neighbours"],
        {
            _KEY.pack(number, address.to_bytes(4, "big")): next_hop_octets(by_number[number], mac)
            for (number, address), mac in known.items()
            if number in by_number
        },
    )


def put(into: Map, wanted: Mapping[bytes, bytes]) -> None:
    """Make a HASH hold exactly this; what is right already is left alone. A value that differs is
    deleted and inserted: replacing one hides other keys for a moment."""
    found = dict(into.items())
    stale = [key for key, value in found.items() if wanted.get(key) != value]
    for key in stale:
        into.delete(key)
    if stale:
        # The kernel hands a deleted element's memory out at once, read by a packet or not.
        online_cpus_grace()
    for key, value in wanted.items():
        if found.get(key) != value:
            into.update(key, value)


class Neighbourhood:
    """Next hops out of the kernel's routes and neighbour table, remembered until `refresh`."""

    def __init__(self, netlink: Netlink, ports: Iterable[Port]) -> None:
        self._netlink = netlink
        self._routes: dict[tuple[int, int], int | None] = {}
        self._known: dict[tuple[int, int], bytes] = {}
        self.ports: dict[int, Port] = {}
        self.refresh(ports)

    def refresh(self, ports: Iterable[Port]) -> None:
        """Ask the kernel anew."""
        self.ports = {port.number: port for port in ports}
        self._routes.clear()
        self._known = self._netlink.neighbours()

    def by_port(self) -> dict[tuple[int, int], bytes]:
        """Every neighbour by port number and address."""
        ports: dict[int, list[int]] = {}
        for port in self.ports.values():
            ports.setdefault(port.neighbours_of, []).append(port.number)
        return {
            (number, address): mac
            for (index, address), mac in self._known.items()
            for number in ports.get(index, ())
        }

    def next_hop(self, port: int, address: int) -> bytes:
        """Resolved where the neighbour is known; otherwise the kernel is made to look for it."""
        found = self.ports.get(port)
        if found is None:
            return bytes(_NEXT_HOP.size)
        index = found.neighbours_of
        if (index, address) not in self._routes:
            self._routes[index, address] = self._netlink.next_hop(index, address)
        via = self._routes[index, address]
        mac = self._known.get((index, via)) if via is not None else None
        if mac is None and via is not None:
            self._netlink.probe(index, via)
        return next_hop_octets(found, mac)
