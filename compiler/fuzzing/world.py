"""Surroundings in which packets meet rules: few ports, few addresses, each of them met often."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv6Address
from itertools import count
from typing import Any

from ...lang.contract.world.environment import Environment, Port
from ..model import (
    Among,
    Attribute,
    Compare,
    Const,
    Element,
    Field,
    MatchNumber,
    Own,
    Packet,
    Pipeline,
    Test,
)
from ..model.walk import walk

#: Of what one rule gives and another is looked up by: so that they meet; fits any width.
FEW = (0, 1)
_HOSTS4 = ["10.1.0.10", "10.2.0.5", "10.2.3.4", "192.0.2.2", "198.51.100.2"]
_ODD4 = ["224.0.0.5", "255.255.255.255", "0.0.0.0", "127.0.0.1"]
_HOSTS6 = ["2001:db8::1", "2001:db8::2", "2001:db8:1::5", "fd00::1"]
_ODD6 = ["ff02::1", "::", "fe80::1", "::1"]
_MACS = ["020000000a0a", "020000000b0b", "ffffffffffff", "01005e000005", "333300000001"]

#: Names that rules and packets have in common: some below others, some of which the last bytes are
#: those of others.
NAMES = ("ads.example.org", "example.org", "a.ads.example.org", "xads.example.org", "org", "")


@dataclass(frozen=True)
class World:
    """`values`: those that fields and rules have in common, by kind and width. `strategies`: what
    was made of them by now; Hypothesis looks through each new one before it draws."""

    environment: Environment
    pool: dict[str, tuple[int, ...]]
    numbers: tuple[int, ...]  # what the pipeline itself names
    near: dict[tuple[str, str], tuple[int, ...]]  # by header and field, or "" and element
    bare: frozenset[int] = frozenset()  # ports whose packets have no link header
    strategies: dict[tuple[str, str], Any] = field(default_factory=dict, compare=False, repr=False)

    def values(self, kind: str, width: int) -> tuple[int, ...]:
        """Values of that kind that are met often; of numbers also the ends of their range."""
        if kind == "name":
            texts = (text.encode() for text in NAMES)
            return tuple(int.from_bytes(t, "big") for t in texts if len(t) * 8 <= width)
        if kind in self.pool:
            return self.pool[kind]
        most = (1 << width) - 1
        ends = {0, 1, most, most - 1, 1 << max(width - 1, 0)}
        return tuple(sorted({v for v in (*ends, *self.numbers) if 0 <= v <= most}))

    def there(self, kind: str) -> tuple[int, ...]:
        """Addresses of neighbours: packets towards them are sent."""
        known = self.environment.neighbours6 if kind == "ip6" else self.environment.neighbours
        return tuple(sorted({host for _, host in known}))

    def of(self, header: str, field: Field | Element) -> tuple[int, ...]:
        """Values that the pipeline compares that field with, and their neighbours; of an element
        of rules (`header` is empty), too."""
        most = (1 << field.width) - 1
        return tuple(v for v in self.near.get((header, field.name), ()) if 0 <= v <= most)


def world_of(pipeline: Pipeline) -> World:
    """Two ports of each role, the second one tagged and of a smaller MTU."""
    ports = tuple(_ports(pipeline))
    own = tuple(port.address for port in ports)
    hosts = [int(IPv4Address(text)) for text in _HOSTS4]
    hosts6 = [int(IPv6Address(text)) for text in _HOSTS6]
    own6 = tuple(port.address6 for port in ports)
    local = frozenset({*own, own[0] | 0xFF})
    macs = (*(int.from_bytes(port.mac, "big") for port in ports), *(int(m, 16) for m in _MACS))
    pool = {
        "ip4": (*hosts * 3, *own, *(int(IPv4Address(text)) for text in _ODD4)),
        "ip6": (*hosts6 * 3, *own6, *(int(IPv6Address(text)) for text in _ODD6)),
        "mac": macs,
    }
    numbers = {part.value for part in walk(pipeline) if isinstance(part, Const)}
    numbers |= {value for element in pipeline.elements for _, value in element.symbols}
    near = {key: tuple(sorted(found)) for key, found in _near(pipeline).items()}
    environment = Environment(
        ports,
        local,
        _neighbours(ports, hosts),
        local6=frozenset(own6),
        neighbours6=_neighbours(ports, hosts6),
    )
    bare = frozenset(port.number for port in ports if port.role in pipeline.bare)
    return World(environment, pool, tuple(sorted(numbers)), near, bare)


def _neighbours(ports: tuple[Port, ...], hosts: list[int]) -> dict[tuple[int, int], bytes]:
    """All hosts but one are there, on every port."""
    return {
        (port.number, host): bytes((2, 0, 0, 0, port.number, i))
        for port in ports
        for i, host in enumerate(hosts[:-1])
    }


def _ports(pipeline: Pipeline) -> Iterator[Port]:
    numbers = count(1)
    for role in pipeline.roles:
        for mtu, vlan in ((1500, 0), (1400, 200)):
            n = next(numbers)
            mac, address = bytes((2, 0, 0, 0, 0, n)), 10 << 24 | n << 8 | 1
            address6 = int(IPv6Address(f"2001:db8:{n}::1"))
            tag = 0 if role in pipeline.bare else vlan
            yield Port(n, f"{role.upper()}{n}", role, 100 + n, mtu, mac, address, tag, address6)


def _near(pipeline: Pipeline) -> dict[tuple[str, str], set[int]]:
    found: dict[tuple[str, str], set[int]] = {}
    headers = {node.name: node.header for node in pipeline.graph.nodes}

    def note(header: str, field: str, *values: int) -> None:
        around = {v + by for v in values for by in (-1, 0, 1)}
        found.setdefault((header, field), set()).update(around)

    for edge in pipeline.graph.edges:
        for test in edge.tests:
            if isinstance(test, Test):
                ends = (end for ends in test.ranges for end in ends)
                note(headers[edge.source].name, test.field, *ends)
    for header in headers.values():
        for part in walk(header):
            match part:
                case Compare(_, Own(field), Const(value)):
                    note(header.name, field, value)
                case Among(Own(field), ranges):
                    note(header.name, field, *(end for ends in ranges for end in ends))
    given = {element.name for rule in pipeline.rules for element in rule.gives}
    for rule in pipeline.rules:
        for match in rule.match:  # values that other rules give: few, so that they meet
            joined = match.element.kind == "uint" and match.element.name in given
            if joined and isinstance(match.operand, Packet):
                note(headers[match.operand.node].name, match.operand.field, *FEW)
    for part in walk(pipeline.stages):
        match part:
            case Compare(_, Packet(node, field), Const(value)):
                note(headers[node].name, field, value)
            case Among(Packet(node, field), ranges):
                note(headers[node].name, field, *(end for ends in ranges for end in ends))
            case Among(Attribute(_, _, element), ranges):
                note("", element, *(end for ends in ranges for end in ends))
            case MatchNumber(Packet(node, field), arms):
                every = (ends for ranges, _ in arms for ends in ranges)
                note(headers[node].name, field, *(end for ends in every for end in ends))
            case Compare(_, Attribute(_, _, element), Const(value)):
                note("", element, value)
    return found
