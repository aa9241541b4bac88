"""What rules a service takes on this node: a pure function of Kubernetes' objects.

    SERVICE    one an address and port; named by what it matches, as `10.96.0.10:80/TCP`
    POOL       one a port of a service, `default/web:http`; another one where a policy is `Local`,
               `default/web:http@local`
    BACKEND    one an endpoint's port, `10.244.1.2:8080~` and the beginning of its pod's UID;
               services that have the same endpoint share it

Of a service without endpoints the SERVICE has no POOL: its packets are rejected; where a policy
is `Local` and all endpoints are elsewhere, they are dropped.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from . import endpoints
from .endpoints import Backend
from .objects import Node, Service, ServicePort, Slice, family_of
from .wanted import Key, Rule, Values, of_family

_PROTOCOLS = ("TCP", "UDP")
_NAME = 63  # bytes that a rule's name has at most
_FAMILIES = (4, 6)


@dataclass(frozen=True)
class Settings:
    """`network`: the port towards other nodes. `pod_port`: the port of a pod's address, None where
    it has none. `first_port`, `ports`: of NODE, for connections that get its address."""

    node: str
    network: str
    pod_port: Callable[[str], str | None] = lambda address: None
    first_port: int = 61000
    ports: int = 4096


class Note(NamedTuple):
    """Something of a service that cannot be: its code (`errors/`), and which part of it."""

    code: str
    about: str


@dataclass
class Part:
    """The rules of one service. `astray`: whether an endpoint here has no port yet."""

    rules: dict[Key, Rule] = field(default_factory=dict)
    notes: list[Note] = field(default_factory=list)
    astray: bool = False

    def add(self, rule: Rule) -> None:
        self.rules[rule.key] = rule


NOTHING = Part()


def plan_service(
    service: Service, slices: Sequence[Slice], node: Node, settings: Settings
) -> Part:  # fmt: skip
    """Its rules on this node. `slices`: those of the service."""
    part = Part()
    for port in service.ports:
        if port.protocol not in _PROTOCOLS:
            part.notes.append(Note("H0887", f"{service.key}: port {port.number}/{port.protocol}"))
            continue
        for family in _FAMILIES:
            _PortPlan(part, service, port, family, node, settings).make(slices)
    if service.ranges and service.balanced:
        part.notes.append(Note("H0888", str(service.key)))
    return part


def plan_node(node: Node, settings: Settings) -> dict[Key, Rule]:
    """The address of this node that connections go on with to other nodes."""
    found = {}
    for family in _FAMILIES:
        own = next((a for a in node.addresses if family_of(a) == family), None)
        if own is not None:
            values = (_address(own), ("first_port", str(settings.first_port)),
                      ("ports", str(settings.ports)))  # fmt: skip
            rule = Rule(of_family("NODE", family), _short(node.name), (), values)
            found[rule.key] = rule
    return found


class _PortPlan:
    """A port of a service, of one family."""

    def __init__(
        self, part: Part, service: Service, port: ServicePort, family: int, node: Node,
        settings: Settings,
    ) -> None:  # fmt: skip
        self.part, self.service, self.port, self.family = part, service, port, family
        self.node, self.settings = node, settings
        self.served = False  # by an endpoint, wherever it is

    def make(self, slices: Iterable[Slice]) -> None:
        cluster, outside = list(self._mine(self.service.cluster)), list(self._outside())
        if not cluster:
            return  # it is of the other family alone
        found = self._reachable(endpoints.backends(slices, self.family, self.port))
        self.served = bool(endpoints.anywhere(found, self.node))
        local, internal_local = self.service.external_local, self.service.internal_local
        ways = {internal_local} | ({False, local} if outside else set())
        pools = {way: self._pool(found, way) for way in ways}
        for address in cluster:
            self._service(address, self.port.number, pools[internal_local])
        for address, number in outside:
            if local:
                # Who is inside reaches all endpoints, as if the load balancer brought it back.
                self._service(address, number, pools[True], "OUTSIDE")
                self._service(address, number, pools[False], "INSIDE")
            else:
                self._service(address, number, pools[False])
        self._backends(found)

    def _outside(self) -> Iterator[tuple[str, int]]:
        """Its addresses for clients outside."""
        service = self.service
        balanced = () if service.ranges else service.balanced
        for address in self._mine((*service.external, *balanced)):
            yield address, self.port.number
        if self.port.node_port:
            for address in self._mine(self.node.addresses):
                yield address, self.port.node_port

    def _mine(self, addresses: Iterable[str]) -> Iterator[str]:
        return (a for a in addresses if family_of(a) == self.family)

    def _reachable(self, found: Mapping[str, Backend]) -> dict[str, Backend]:
        """Without those here that have no port."""
        reached = {name: b for name, b in found.items() if self._port_of(b) is not None}
        self.part.astray |= len(reached) < len(found)
        return reached

    def _port_of(self, backend: Backend) -> str | None:
        endpoint = backend.endpoint
        if endpoint.node != self.node.name or endpoint.address in self.node.addresses:
            return self.settings.network
        return self.settings.pod_port(endpoint.address)

    def _pool(self, found: Mapping[str, Backend], local: bool) -> str:
        """Make the pool of a policy; "" where it has no member."""
        choose = endpoints.here if local else endpoints.anywhere
        chosen = choose(found, self.node)
        if not chosen:
            return ""
        if len(chosen) > endpoints.MOST:
            what = f"{self.service.key}: {len(chosen):,} endpoints"
            self.part.notes.append(Note("H0889", what))
        label = self.port.name or str(self.port.number)
        name = _short(f"{self.service.key}:{label}{'@local' if local else ''}")
        members = tuple(endpoints.few(chosen, self.node))
        self.part.add(Rule(of_family("POOL", self.family), name, (), (), members))
        return name

    def _service(self, address: str, number: int, pool: str, origin: str = "") -> None:
        protocol, slice_ = self.port.protocol, self.service.slice
        host = f"[{address}]" if self.family == 6 else address
        name = f"{host}:{number}/{protocol}" + (f"/{origin.lower()}" if origin else "")
        match: Values = (_address(address), ("port", str(number)), ("protocol", protocol))
        if origin:
            match = (*match, ("origin", origin))
        values = (
            ("affinity", str(self.service.affinity)), ("slice", str(slice_)),
            ("unserved", "DROP" if self.served else "REJECT"),
        )  # fmt: skip
        refers = (pool,) if pool else ()
        self.part.add(Rule(of_family("SERVICE", self.family), name, match, values, refers))

    def _backends(self, found: Mapping[str, Backend]) -> None:
        """All, so that connections go on to those that take no new ones."""
        pools = (r for r in self.part.rules.values() if r.kind.startswith("POOL"))
        taking = {name for rule in pools for name in rule.refers}
        for name, backend in found.items():
            at_home = backend.endpoint.node == self.node.name
            values = (
                _address(backend.endpoint.address), ("port", str(backend.port)),
                ("place", "HERE" if at_home else "ELSEWHERE"),
                ("phase", "READY" if name in taking else "ENDING"),
                ("interface", str(self._port_of(backend))),
            )  # fmt: skip
            self.part.add(Rule(of_family("BACKEND", self.family), name, (), values))


def _address(address: str) -> tuple[str, str]:
    return ("address" if family_of(address) == 4 else "address6"), address


def _short(name: str) -> str:
    """A name that a rule can have: of a longer one the beginning, and a hash."""
    if len(name.encode()) <= _NAME:
        return name
    return f"{name[:46]}~{hashlib.sha256(name.encode()).hexdigest()[:16]}"
