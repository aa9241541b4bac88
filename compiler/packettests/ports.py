"""The surroundings of packet tests: `ports`, `local`, `neighbours`, `default`."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from typing import Literal

import yaml

from ..interpreter.environment import Environment, Port
from ..layout import MAX_PORTS
from ..model import Pipeline
from . import faults as faults
from .yaml_text import Entry, Yaml

KEYS = ("ports", "local", "neighbours", "default")
_PORT = ("role", "number", "ifindex", "mtu", "mac", "address", "vlan")


class Surroundings:
    """What a file says, overlaid by what a case says."""

    def __init__(self, text: Yaml, pipeline: Pipeline) -> None:
        self._yaml = text
        self._roles = pipeline.roles
        self._ports: dict[str, Port] = {}
        self._local: frozenset[int] = frozenset()
        self._neighbours: dict[tuple[str, int], bytes] = {}
        self._default: Literal["pass", "drop"] | None = None

    def with_entries(self, entries: Mapping[str, Entry]) -> Surroundings:
        """These surroundings with what a mapping says added or replaced."""
        new = copy(self)
        if "ports" in entries:
            new._ports = new._with_ports(entries["ports"].value)
        if "local" in entries:
            addresses = (
                self._yaml.address(n, "ip4") for n in self._yaml.flat(entries["local"].value)
            )
            new._local = frozenset(a for a in addresses if a is not None)
        if "neighbours" in entries:
            new._neighbours = new._with_neighbours(entries["neighbours"].value)
        if "default" in entries:
            word = self._yaml.one_of(entries["default"].value, ("pass", "drop"), "default")
            new._default = "drop" if word == "drop" else "pass"
        return new

    def environment(self) -> Environment:
        own = {p.address for p in self._ports.values() if p.address}
        numbers = {name: port.number for name, port in self._ports.items()}
        known = {(numbers[n], a): mac for (n, a), mac in self._neighbours.items() if n in numbers}
        ports = tuple(self._ports.values())
        return Environment(ports, self._local | own, known, self._default)

    def _with_ports(self, node: yaml.Node) -> dict[str, Port]:
        ports = dict(self._ports)
        for name, entry in self._yaml.mapping(node, "`ports`").items():
            fields = self._yaml.mapping(entry.value, "a port", _PORT)
            if name not in ports and "role" not in fields:
                where = self._yaml.span(entry.key)
                self._yaml.found.add(faults.missing_key(where, "role", f"the port `{name}`"))
            port = self._port(name, fields, ports.get(name), len(ports) + 1)
            ports[name] = port
            same = [p.name for p in ports.values() if p.number == port.number and p.name != name]
            if same:
                where = self._yaml.span(entry.key)
                wanted = f"a number of its own: {same[0]} has it"
                self._yaml.found.add(faults.bad_value(where, str(port.number), wanted))
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
        own = number("number", before.number if before else next_, MAX_PORTS - 1, 1)
        mac = before.mac if before else bytes((2, 0, 0, 0, 0, own))
        if "mac" in fields:
            mac = (self._yaml.address(fields["mac"].value, "mac") or 0).to_bytes(6, "big")
        address = before.address if before else 0
        if "address" in fields:
            address = self._yaml.address(fields["address"].value, "ip4") or 0
        return Port(
            own,
            name,
            role,
            number("ifindex", before.ifindex if before else 100 + own, (1 << 31) - 1, 1),
            number("mtu", before.mtu if before else 1500, 65535, 68),
            mac,
            address,
            number("vlan", before.vlan if before else 0, 4094),
        )

    def _with_neighbours(self, node: yaml.Node) -> dict[tuple[str, int], bytes]:
        """`{WAN1: {192.0.2.2: 02:00:00:00:00:02}}`"""
        neighbours = dict(self._neighbours)
        for name, entry in self._yaml.mapping(node, "`neighbours`", self._ports).items():
            for key, value in self._yaml.mapping(entry.value, f"the port `{name}`").values():
                address = self._yaml.address(key, "ip4")
                mac = self._yaml.address(value, "mac")
                if address is not None and mac is not None:
                    neighbours[name, address] = mac.to_bytes(6, "big")
        return neighbours
