"""The surroundings of packet tests: `ports`, `local`, `neighbours`, `default`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import copy
from typing import Literal

import yaml

from ...lang.contract.rules.yaml_text import Yaml, bad_value, missing_key
from ...lang.contract.world.environment import Environment, Port
from ...lang.text.literals import AddressKind
from ...lang.text.yaml_reader import Entry
from ..model import Pipeline
from ..tables.layout import MAX_PORTS

KEYS = ("ports", "local", "neighbours", "default")
Address = tuple[AddressKind, int]
_PORT = ("role", "number", "ifindex", "mtu", "mac", "address", "address6", "vlan")


class Surroundings:
    """What a file says, overlaid by what a case says."""

    def __init__(self, text: Yaml, pipeline: Pipeline, ports: Iterable[Port] = ()) -> None:
        self._yaml = text
        self._roles, self._bare = pipeline.roles, pipeline.bare
        self._ports = {port.name: port for port in ports}
        self._local: frozenset[Address] = frozenset()
        self._neighbours: dict[tuple[str, Address], bytes] = {}
        self._default: Literal["pass", "drop"] | None = None

    def with_entries(self, entries: Mapping[str, Entry]) -> Surroundings:
        """These surroundings with what a mapping says added or replaced."""
        new = copy(self)
        if "ports" in entries:
            new._ports = new._with_ports(entries["ports"].value)
        if "local" in entries:
            addresses = (self._yaml.ip(n) for n in self._yaml.flat(entries["local"].value))
            new._local = frozenset(a for a in addresses if a is not None)
        if "neighbours" in entries:
            new._neighbours = new._with_neighbours(entries["neighbours"].value)
        if "default" in entries:
            word = self._yaml.one_of(entries["default"].value, ("pass", "drop"), "default")
            new._default = "drop" if word == "drop" else "pass"
        return new

    def environment(self) -> Environment:
        ports = tuple(self._ports.values())
        return Environment(
            ports,
            self._local_of("ip4") | {p.address for p in ports if p.address},
            self._neighbours_of("ip4"),
            self._default,
            self._local_of("ip6") | {p.address6 for p in ports if p.address6},
            self._neighbours_of("ip6"),
        )

    def _local_of(self, kind: AddressKind) -> frozenset[int]:
        return frozenset(number for its, number in self._local if its == kind)

    def _neighbours_of(self, kind: AddressKind) -> dict[tuple[int, int], bytes]:
        numbers = {name: port.number for name, port in self._ports.items()}
        return {
            (numbers[port], number): mac
            for (port, (its, number)), mac in self._neighbours.items()
            if its == kind and port in numbers
        }

    def _with_ports(self, node: yaml.Node) -> dict[str, Port]:
        ports = dict(self._ports)
        for name, entry in self._yaml.mapping(node, "`ports`").items():
            fields = self._yaml.mapping(entry.value, "a port", _PORT)
            if name not in ports and "role" not in fields:
                where = self._yaml.span(entry.key)
                self._yaml.found.add(missing_key(where, "role", f"the port `{name}`"))
            port = self._port(name, fields, ports.get(name), len(ports) + 1)
            ports[name] = port
            same = [p.name for p in ports.values() if p.number == port.number and p.name != name]
            if same:
                where = self._yaml.span(entry.key)
                expected = f"a number of its own: {same[0]} has it"
                self._yaml.found.add(bad_value(where, str(port.number), expected))
        return ports

    def _port(
        self, name: str, fields: Mapping[str, Entry], before: Port | None, next_: int
    ) -> Port:
        """A port with its defaults, or changed."""

        def number(key: str, otherwise: int, most: int, least: int = 0) -> int:
            value = self._yaml.number(fields[key].value, most, least) if key in fields else None
            return otherwise if value is None else value

        role = before.role if before else self._roles[0]
        if "role" in fields:
            role = self._yaml.one_of(fields["role"].value, self._roles, "port role") or role
        if "vlan" in fields and role in self._bare:
            where = self._yaml.span(fields["vlan"].value)
            self._yaml.found.add(bad_value(where, "vlan", f"no tag: `{role}` is `link ip`"))
        own = number("number", before.number if before else next_, MAX_PORTS - 1, 1)
        mac = before.mac if before else bytes((2, 0, 0, 0, 0, own))
        if "mac" in fields:
            mac = (self._yaml.address(fields["mac"].value, "mac") or 0).to_bytes(6, "big")
        address, address6 = (before.address, before.address6) if before else (0, 0)
        if "address" in fields:
            address = self._yaml.address(fields["address"].value, "ip4") or 0
        if "address6" in fields:
            address6 = self._yaml.address(fields["address6"].value, "ip6") or 0
        return Port(
            own,
            name,
            role,
            number("ifindex", before.ifindex if before else 100 + own, (1 << 31) - 1, 1),
            number("mtu", before.mtu if before else 1500, 65535, 68),
            mac,
            address,
            number("vlan", before.vlan if before else 0, 4094),
            address6,
        )

    def _with_neighbours(self, node: yaml.Node) -> dict[tuple[str, Address], bytes]:
        """`{WAN1: {192.0.2.2: 02:00:00:00:00:02}}`; addresses of both families"""
        neighbours = dict(self._neighbours)
        for name, entry in self._yaml.mapping(node, "`neighbours`", self._ports).items():
            for key, value in self._yaml.mapping(entry.value, f"the port `{name}`").values():
                address = self._yaml.ip(key)
                mac = self._yaml.address(value, "mac")
                if address is not None and mac is not None:
                    neighbours[name, address] = mac.to_bytes(6, "big")
        return neighbours
