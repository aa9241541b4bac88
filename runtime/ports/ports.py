"""Writes a loaded pipeline's ports into its maps: what programs need of each interface and the
host."""

from __future__ import annotations

import os
import struct
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from ...lang.contract.manifest.manifest import HASH_FACTOR, QUEUES, AttachPoint
from ...lang.contract.world.environment import Limit
from ..kernel.grace import online_cpus_grace
from ..kernel.maps import Map
from ..kernel.netlink import Address, Link, Netlink

DEFAULT_VERDICTS = {"drop": 1, "pass": 2}  # enum xdp_action
_PORT = struct.Struct("<IHH6sBB4sI16s")
_NEXT_HOP = struct.Struct("<IHH6s6sB3x")
_KEYS = {4: struct.Struct("<I4s"), 16: struct.Struct("<I4x16s")}  # by bytes of an address
_NAMES = {4: "", 16: "6"}  # what the maps' names end with
_NO_MAC = bytes(6)
_BUDGET = struct.Struct("<QQQ")
_AGES = 1 << 62  # ns
_WAITING = 2048  # packets that may wait for a CPU
_EMPTY = bytes(_PORT.size)
_NOT_LOCAL = 8  # which word of `control` is the first


@dataclass(frozen=True)
class Port:
    """A port instance. `role` is its number in the manifest; `mtu` of the network layer; `address`
    IPv4 and `address6` IPv6, 0 without; `vlan` the tag that frames leave with, 0 without.
    `neighbours_of`: the interface on which the kernel keeps its neighbours (the VLAN interface,
    where there is one). `bare`: its packets have no link header."""

    number: int
    name: str
    role: int
    interface: str
    ifindex: int
    mtu: int
    mac: bytes
    address: int
    address6: int
    vlan: int
    neighbours_of: int
    at: AttachPoint = "xdp"
    bare: bool = False


@dataclass(frozen=True)
class PortConfig:
    """A port as configured. `at`: where it is attached."""

    number: int
    name: str
    role: int
    interface: str
    vlan: int
    at: AttachPoint = "xdp"

    def record(self) -> dict[str, Any]:
        """What makes it again. Releases before knew of XDP only, and read what others write."""
        found = asdict(self)
        if self.at == "xdp":
            del found["at"]
        return found


def find_ports(
    configs: Iterable[PortConfig], links: Iterable[Link], addresses: Iterable[Address]
) -> list[Port]:
    """The ports as their interfaces are now, without those whose interface is missing."""
    links = list(links)
    by_name = {link.name: link for link in links}
    first: dict[tuple[int, int], int] = {}
    for each in addresses:
        if not each.link or len(each.address) == 4:
            number = int.from_bytes(each.address, "big")
            first.setdefault((each.index, len(each.address)), number)
    found = []
    for port in configs:
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
                link.mac if len(link.mac) == 6 else _NO_MAC, first.get((layer3.index, 4), 0),
                first.get((layer3.index, 16), 0), port.vlan, layer3.index, port.at,
                not link.ethernet,
            )
        )  # fmt: skip
    return found


def local_addresses(addresses: Iterable[Address]) -> set[bytes]:
    """What `is local` means: the host's addresses and its directed broadcast addresses."""
    found: set[bytes] = set()
    for each in addresses:
        found |= {each.address, each.broadcast}
    return {address for address in found if any(address)}


def next_hop_bytes(port: Port, mac: bytes | None) -> bytes:
    """`struct next_hop` by a port, to a neighbour's MAC address if it is known."""
    to, own = (mac, port.mac) if mac is not None else (_NO_MAC, _NO_MAC)
    return _NEXT_HOP.pack(port.number, port.mtu, port.vlan, to, own, mac is not None)


def write_ports(maps: Mapping[str, Map], ports: Iterable[Port], egress: int = 0) -> None:
    """Fill `ports`, `port_numbers`, `port_slots` and `egress`; no other ports are left there. With
    `egress`, that interface is the way out of every port."""
    table = maps["ports"].mmap()
    by_number = {port.number: port for port in ports}
    stride = maps["ports"].spec.stride
    for number in range(maps["ports"].spec.max_entries):
        port = by_number.get(number)
        table[number * stride : number * stride + _PORT.size] = (
            _port_bytes(port) if port else _EMPTY
        )
        if port is not None:
            way_out = (egress or port.ifindex).to_bytes(4, "little")
            maps["egress"].update(number.to_bytes(4, "little"), way_out)
    desired = {
        p.ifindex.to_bytes(4, "little"): n.to_bytes(4, "little") for n, p in by_number.items()
    }
    sync_map(maps["port_numbers"], desired)
    write_port_slots(maps, {port.ifindex: number for number, port in by_number.items()})


def write_port_slots(maps: Mapping[str, Map], numbers: Mapping[int, int]) -> None:
    """Fill `port_slots` from port numbers by ifindex; a bundle of an earlier release has none."""
    if "port_slots" not in maps:
        return
    with maps["port_slots"].mmap().cast("Q") as slots:
        desired = {index % len(slots): index | number << 32 for index, number in numbers.items()}
        for at in range(len(slots)):
            slots[at] = desired.get(at, 0)


def _port_bytes(port: Port) -> bytes:
    return _PORT.pack(
        port.ifindex, port.mtu, port.vlan, port.mac, port.role, 1,
        port.address.to_bytes(4, "big"), port.neighbours_of, port.address6.to_bytes(16, "big"),
    )  # fmt: skip


def write_queues(maps: Mapping[str, Map]) -> None:
    """Let each receive queue stand for a CPU, in turn; in pipelines that steer packets."""
    if "queues" not in maps:
        return
    cpus = sorted(os.sched_getaffinity(0))
    most = maps["cpus"].spec.max_entries
    usable = [cpu for cpu in cpus if cpu < most]
    for cpu in usable:
        maps["cpus"].update(cpu.to_bytes(4, "little"), _WAITING.to_bytes(4, "little"))
    for queue in range(QUEUES if usable else 0):
        cpu = usable[queue % len(usable)]
        maps["queues"].update(queue.to_bytes(4, "little"), cpu.to_bytes(4, "little"))


def write_icmp_limit(maps: Mapping[str, Map], limit: Limit | None) -> None:
    """How many ICMP errors there may be; None: any number. In pipelines that send some. Where
    nobody calls it there is the limit of lang/contract/manifest/manifest.py."""
    if "icmp_budget" not in maps:
        return
    interval, ahead = 1, _AGES
    if limit is not None:
        interval, ahead = limit.interval, limit.interval * (limit.burst - 1)
    maps["icmp_budget"].update(bytes(4), _BUDGET.pack(interval, ahead, 0))


def write_local(maps: Mapping[str, Map], addresses: Collection[bytes]) -> None:
    """Fill `local` and `local6`, and the words of `control` that say which addresses are surely in
    neither; bundles of earlier releases have none."""
    control = maps["control"]
    not_local = _not_local(addresses) if control.spec.value_size > 8 * _NOT_LOCAL else []
    with control.mmap().cast("Q") as words:
        for at, word in enumerate(not_local, _NOT_LOCAL):
            words[at] &= word  # before an address is added
        for size, suffix in _NAMES.items():
            sync_map(maps[f"local{suffix}"], {a: b"\1" for a in addresses if len(a) == size})
        for at, word in enumerate(not_local, _NOT_LOCAL):
            words[at] = word


def _not_local(addresses: Iterable[bytes]) -> list[int]:
    """A bit for each hash that none of the addresses has: see `is_not_local` in helio.bpf.h."""
    words = [(1 << 64) - 1] * 64
    for address in addresses:
        low, high = (int.from_bytes(half, "little") for half in (address[:8], address[8:]))
        hashed = (low ^ high) * HASH_FACTOR % (1 << 64) >> 52
        words[hashed >> 6] &= ~(1 << (hashed & 63))
    return words


def write_neighbours(
    maps: Mapping[str, Map], ports: Iterable[Port], known: Mapping[tuple[int, bytes], bytes]
) -> None:
    """Fill `neighbours` and `neighbours6` from MAC addresses by port number and address."""
    by_number = {port.number: port for port in ports}
    for size, suffix in _NAMES.items():
        sync_map(
            maps[f"neighbours{suffix}"],
            {
                _KEYS[size].pack(number, address): next_hop_bytes(by_number[number], mac)
                for (number, address), mac in known.items()
                if number in by_number and len(address) == size
            },
        )


def sync_map(into: Map, desired: Mapping[bytes, bytes]) -> None:
    """Make a HASH hold exactly this, with as few writes as possible. A value that differs is
    deleted and inserted, since replacing one hides other keys for a moment."""
    found = dict(into.items())
    stale = [key for key, value in found.items() if desired.get(key) != value]
    for key in stale:
        into.delete(key)
    if stale:
        # The kernel hands a deleted element's memory out at once, read by a packet or not.
        online_cpus_grace()
    for key, value in desired.items():
        if found.get(key) != value:
            into.update(key, value)


class NextHopCache:
    """Next hops out of the kernel's routes and neighbour table, remembered until `refresh`.
    `complete`: all that rules have are among those that were given."""

    def __init__(self, netlink: Netlink, ports: Iterable[Port]) -> None:
        self._netlink = netlink
        self._routes: dict[tuple[int, bytes], bytes | None] = {}
        self._given: dict[tuple[int, bytes], bytes] = {}
        self.ports = {port.number: port for port in ports}
        self._known: Mapping[tuple[int, bytes], bytes] = netlink.neighbours()
        self.complete = False

    def refresh(
        self, ports: Iterable[Port], neighbours: Mapping[tuple[int, bytes], bytes],
        routes: Mapping[tuple[int, bytes], bytes | None],
    ) -> frozenset[bytes] | None:  # fmt: skip
        """What the kernel says now; routes that are not among these are asked for. Returns those
        next hops that were given, and are others now; None where rules may have more than those."""
        self.ports = {port.number: port for port in ports}
        self._routes, self._known = dict(routes), neighbours
        given, self._given = self._given, {}
        stale = frozenset(was for desired, was in given.items() if self.next_hop(*desired) != was)
        complete, self.complete = self.complete, False  # until rules have been brought up to date
        return stale if complete else None

    def asked(self) -> list[tuple[int, bytes]]:
        """Ports and addresses that next hops were given for. From any thread."""
        return list(self._given)

    def gateways(self) -> list[tuple[int, bytes]]:
        """The neighbours that next hops lead to, by interface and address. From any thread."""
        routes = list(self._routes.items())
        return list({(index, via) for (index, _), via in routes if via is not None})

    def by_port(self) -> dict[tuple[int, bytes], bytes]:
        """Every neighbour by port number and address."""
        ports: dict[int, list[int]] = {}
        for port in self.ports.values():
            ports.setdefault(port.neighbours_of, []).append(port.number)
        return {
            (number, address): mac
            for (index, address), mac in self._known.items()
            for number in ports.get(index, ())
        }

    def next_hop(self, port: int, address: bytes) -> bytes:
        """Resolved where the neighbour is known; otherwise the kernel is made to look for it."""
        found = self._given[port, address] = self._resolve(port, address)
        return found

    def _resolve(self, port: int, address: bytes) -> bytes:
        found = self.ports.get(port)
        if found is None:
            return bytes(_NEXT_HOP.size)
        if found.bare:  # whoever is at its other end
            return next_hop_bytes(found, _NO_MAC)
        index = found.neighbours_of
        if (index, address) not in self._routes:
            self._routes[index, address] = self._netlink.next_hop(index, address)
        via = self._routes[index, address]
        mac = self._known.get((index, via)) if via is not None else None
        if mac is None and via is not None:
            self._netlink.probe(index, via)
        return next_hop_bytes(found, mac)


def all_configured(configs: Iterable[PortConfig], ports: Iterable[Port]) -> tuple[Port, ...]:
    """All configured ports; those whose interface is missing have the ifindex 0."""
    here = {port.number: port for port in ports}
    return tuple(
        here.get(w.number)
        or Port(w.number, w.name, w.role, w.interface, 0, 0, b"", 0, 0, w.vlan, 0, w.at)
        for w in configs
    )
